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
	"hatchel/internal/sampletest"
	"hatchel/runtime/edge/mcp"
)

// postLarge posts a modern call of the tool t with a list of maps, which takes more than 40 MiB when it is decoded.
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

// lacksMemory reports whether there was no memory for a request. The status of a request that takes longer than the
// interval of keep-alives was sent with the first of them, and its response is an event.
func lacksMemory(t testing.TB, w *httptest.ResponseRecorder) bool {
	t.Helper()
	if !strings.Contains(w.Body.String(), mcp.ErrNoMemory.Message) {
		return false
	}
	if w.Header().Get("Content-Type") != "text/event-stream" &&
		(w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "") {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	return true
}

// A task takes the memory of its arguments until it ends or waits for its client, and again when it continues. Calls for
// which there is none are refused before they become one.
func TestATaskTakesTheMemoryOfItsArguments(t *testing.T) {
	for _, asks := range sampletest.Of(t, 1, []bool{false, true}) {
		t.Run(fmt.Sprintf("asks first %t", asks), func(t *testing.T) {
			w := newFakeBackend()
			release := make(chan struct{})
			w.do["works"] = func(ctx context.Context, _ *adapters.Call) (any, error) {
				<-release
				return "done", nil
			}
			ask := ""
			if asks {
				ask = "step \"ok\" {\n  ask \"yes\" {\n    elicit {\n      message = \"Go on?\"\n" +
					"      fields  = object({ yes = bool })\n    }\n  }\n}\n"
			}
			h := newHost(t, tool("t", "input \"x\" { type = list(map(number)) }\n"+task1h+ask+
				"step \"works\" {\n  fake { do = \"works\" }\n}\ntext = \"done\""), w.use)
			server := mcp.New(h, mcp.Options{}).For("")
			arguments := `"name":"t","arguments":{"x":[` + strings.Repeat(`{"":1},`, 1<<17) + `{}]}`
			id := regexp.MustCompile(`"taskId":"([0-9a-f]+)"`)
			begin := func() (task string) {
				w := postLarge(t, server, following, "tools/call", arguments)
				if m := id.FindStringSubmatch(w.Body.String()); m != nil {
					task = m[1]
				} else if !lacksMemory(t, w) {
					t.Errorf("%d %s", w.Code, w.Body)
				}
				return task
			}
			awaitIdle := func() { // a task has its status before it gives its memory back
				if err := h.Operator().State.Tasks.Drain(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if asks {
				var tasks []string
				for len(tasks) < 2 { // they wait, and take nothing
					task := begin()
					if task == "" {
						t.Fatal("a task was refused while others wait for their client")
					}
					awaitIdle()
					if status := getTask(t, h, task).Status; status != "input_required" {
						t.Fatal(status)
					}
					tasks = append(tasks, task)
				}
				admitted := 0
				for _, task := range tasks {
					w := postLarge(t, server, following, "tasks/update", `"taskId":"`+task+
						`","inputResponses":{"`+firstQuestion(t, h, task)+`":{"action":"accept","content":{"yes":true}}}`)
					switch {
					case lacksMemory(t, w):
					case strings.Contains(w.Body.String(), `"result":`):
						admitted++
					default:
						t.Errorf("%d %s", w.Code, w.Body)
					}
				}
				if admitted != 1 {
					t.Errorf("%d tasks continued at once", admitted)
				}
				close(release)
				return
			}
			first := begin()
			if first == "" {
				t.Fatal("the first call did not become a task")
			}
			if begin() != "" {
				t.Error("two tasks take more than a caller may have")
			}
			close(release)
			awaitIdle()
			if status := getTask(t, h, first).Status; status != "completed" {
				t.Error(status)
			}
			if begin() == "" {
				t.Error("the memory of a task that has ended is still taken")
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
