package runtime

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/runtime/mcp"
)

// postLarge posts a modern call of the tool t with a list of numbers, which takes about 27 MiB when it is decoded.
func postLarge(t testing.TB, h http.Handler, capabilities, method, params string) *httptest.ResponseRecorder {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params +
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` +
		capabilities + `}}}`
	r := httptest.NewRequest("POST", "/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("MCP-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", method)
	if method == "tools/call" {
		r.Header.Set("Mcp-Name", "t")
	} else {
		r.Header.Set("Mcp-Name", regexp.MustCompile(`"taskId":"([^"]*)"`).FindStringSubmatch(params)[1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// A task takes the memory of its arguments until it ends or waits for its client, and again when it continues. Calls for
// which there is none are refused before they become one.
func TestATaskTakesTheMemoryOfItsArguments(t *testing.T) {
	for _, asks := range []bool{false, true} {
		t.Run(fmt.Sprintf("asks first %t", asks), func(t *testing.T) {
			w := newFakeBackend()
			release, ended := make(chan struct{}), make(chan struct{}, 100)
			w.do["works"] = func(ctx context.Context, _ *adapters.Call) (any, error) {
				<-release
				ended <- struct{}{}
				return "done", nil
			}
			ask := ""
			if asks {
				ask = "step \"ok\" {\n  ask \"yes\" {\n    elicit {\n      message = \"Go on?\"\n" +
					"      fields  = object({ yes = bool })\n    }\n  }\n}\n"
			}
			h := newHost(t, tool("t", "input \"x\" { type = list(number) }\n"+task1h+ask+
				"step \"works\" {\n  fake { do = \"works\" }\n}\ntext = \"done\""), w.use)
			server := mcp.New(h, mcp.Options{}).For("")
			arguments := `"name":"t","arguments":{"x":[` + strings.Repeat("1,", 3400<<9) + `1]}`
			id := regexp.MustCompile(`"taskId":"([0-9a-f]+)"`)
			begin := func() (task string, code int) {
				w := postLarge(t, server, following, "tools/call", arguments)
				if m := id.FindStringSubmatch(w.Body.String()); m != nil {
					task = m[1]
				} else if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
					t.Errorf("%d %s", w.Code, w.Body)
				}
				return task, w.Code
			}
			if asks {
				var tasks []string
				for len(tasks) < 2 { // they wait, and take nothing
					task, code := begin()
					if task == "" {
						t.Fatalf("a task was refused with %d while others wait for their client", code)
					}
					for getTask(t, h, task).Status != "input_required" {
					}
					tasks = append(tasks, task)
				}
				admitted := 0
				for _, task := range tasks {
					w := postLarge(t, server, following, "tasks/update", `"taskId":"`+task+
						`","inputResponses":{"`+firstQuestion(t, h, task)+`":{"action":"accept","content":{"yes":true}}}`)
					if w.Code == http.StatusOK {
						admitted++
					}
				}
				if admitted != 1 {
					t.Errorf("%d tasks continued at once", admitted)
				}
				close(release)
				return
			}
			first, _ := begin()
			if first == "" {
				t.Fatal("the first call did not become a task")
			}
			if task, code := begin(); task != "" {
				t.Errorf("two tasks take more than a caller may have: %d", code)
			}
			close(release)
			<-ended
			for getTask(t, h, first).Status != "completed" {
			}
			h.AwaitRetired()
			for again := 0; ; again++ { // the goroutine of the first task may be about to end
				if task, _ := begin(); task != "" {
					break
				}
				if again > 1000 {
					t.Fatal("the memory of a task that has ended is still taken")
				}
			}
		})
	}
}

func firstQuestion(t testing.TB, h *Host, task string) string {
	t.Helper()
	r := getTask(t, h, task)
	for key := range r.InputRequests {
		return key
	}
	t.Fatalf("%+v", r)
	return ""
}
