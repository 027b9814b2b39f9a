package e2e_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/adapters/mcp/client/mcptest"
	"hatchel/adapters/mcp/definition/definitiontest"
	"hatchel/internal/sampletest"
)

// talkMode makes the test binary the server of newTalkServer, over its standard input and output. The word after it is
// "asks" or "silent".
const talkMode = "mcp-talk"

const talkDefinition = `{"name":"talk","inputSchema":{"type":"object","properties":{"n":{"type":"string"}}}}`

func serveTalk(word string) {
	s := newTalkServer(mcptest.Legacy, word == "asks", word == "asks")
	s.ServeStdio(context.Background(), os.Stdin, os.Stdout)
}

// newTalkServer returns an MCP server whose tool has a random word for each call, which is in its progress, its log
// message, its question and its result. A hostile one answers earlier calls once more in between, and reports progress
// of them.
func newTalkServer(era mcptest.Era, asks, hostile bool) *mcptest.Server {
	const maxHostile = 15 // calls, because a session ends after 100 messages that belong to nothing
	s := &mcptest.Server{Era: era, Stateful: era == mcptest.Legacy}
	s.SetTools(talkDefinition)
	var mu sync.Mutex
	var seen []string // ids of calls
	s.Handle("talk", func(c *mcptest.Call) (any, error) {
		word := c.State
		if word == "" {
			word = rand.Text()
		}
		token := string(c.Meta["progressToken"]) // the id of the call
		mu.Lock()
		foreign := append([]string{`1`, `"1"`, `"p"`, `null`}, seen...)
		hostile := hostile && len(seen) < maxHostile
		seen = append(seen, token)
		mu.Unlock()
		if hostile {
			for _, id := range foreign[max(0, len(foreign)-5):] {
				c.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"foreign"}]}}`, id))
				c.Notify("notifications/progress", map[string]any{
					"progressToken": json.RawMessage(id), "progress": 9, "message": "foreign",
				})
			}
		}
		time.Sleep(time.Duration(mathrand.N(10)) * time.Millisecond) // so that answers come in another order
		c.Progress(1, 2, word)
		c.Log("error", word)
		if !asks {
			return mcptest.Text("%s ", word), nil
		}
		question, answer := mcptest.Form("Who is "+word, "name"), c.Responses["who"]
		if c.Modern && answer == nil {
			return mcptest.Required(word, map[string]mcptest.Question{"who": question}), nil
		}
		if !c.Modern {
			var err error
			if answer, err = c.Ask(question); err != nil {
				return nil, err
			}
		}
		var given struct{ Content struct{ Name string } }
		if err := json.Unmarshal(answer, &given); err != nil {
			return nil, err
		}
		return mcptest.Text("%s %s", word, given.Content.Name), nil
	})
	return s
}

// talkServer is a process in front of MCP servers with the tool talk, over HTTP and as programs.
type talkServer struct {
	t *testing.T
	*replica
	tools map[string]bool // whether they ask
}

func startTalks(t *testing.T, callers []int) *talkServer {
	t.Helper()
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &talkServer{t: t, tools: map[string]bool{}}
	var config strings.Builder
	config.WriteString("auth {\n")
	for _, i := range callers {
		fmt.Fprintf(&config, "api_key %q { sha256 = \"%x\" }\n", callerName(i), sha256.Sum256([]byte(apiKeyOf(callerName(i)))))
	}
	config.WriteString("}\n")
	add := func(name string, asks, logs bool, arguments string) {
		s.tools[name] = asks
		if asks {
			arguments += "\n  asks = [\"elicitation\"]"
		}
		forward := ""
		if logs {
			forward = `forward_logs = "error"`
		}
		fmt.Fprintf(&config, `
connection "mcp" %[1]q {
  %[2]s
  definitions = "talk.tools.json"
}
tool %[1]q {
  description = "Talk."
  timeout     = "5m"
  mcp %[1]q {
    call = "talk"
    %[3]s
  }
}
`, name, arguments, forward)
	}
	url := func(era mcptest.Era) string { return fmt.Sprintf("url = %q", newTalkServer(era, true, true).Start(t)) }
	add("legacy", true, true, url(mcptest.Legacy))
	add("modern", true, true, url(mcptest.Modern))
	add("single", true, true, url(mcptest.Legacy)+"\n  sessions = \"call\"")
	add("common", false, true, fmt.Sprintf("url = %q\n  sessions = \"shared\"", newTalkServer(mcptest.Legacy, false, true).Start(t)))
	program := func(word, sessions string) string {
		return fmt.Sprintf("command = [%[1]q, %[2]q, %[3]q]\n  sessions = %[4]q\n  sandbox { read = [%[1]q] }", file, talkMode, word, sessions)
	}
	add("program", true, true, program("asks", "caller"))
	add("program_single", true, true, program("asks", "call"))
	add("program_common", false, false, program("silent", "shared"))
	dir := t.TempDir()
	for name, text := range map[string]string{"tools.hcl": config.String(), "talk.tools.json": definitiontest.Text(t, talkDefinition)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.replica = startReplicaIn(t, dir, []string{"TMPDIR=" + t.TempDir()})
	return s
}

func callerName(i int) string { return fmt.Sprintf("caller%d", i) }

// talk is one call of a client. All clients use the same ids, tokens and arguments.
type talk struct {
	s              *talkServer
	caller, tool   string
	session        string // of a client up to 2025-11-25; empty for a newer one
	words          []string
	kinds          map[string]int // of messages that had a word
	question       string
	state, outcome string // of the result
}

// post sends a message and reads the messages of the answer.
func (k *talk) post(method, message string, hear func(m *talkMessage)) (*http.Response, error) {
	r, err := http.NewRequestWithContext(k.s.t.Context(), http.MethodPost, k.s.url+"/mcp", strings.NewReader(message))
	if err != nil {
		return nil, err
	}
	revision := "2026-07-28"
	if k.session != "" {
		revision = "2025-11-25"
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "X-Api-Key": apiKeyOf(k.caller),
		"Mcp-Protocol-Version": revision,
	} {
		r.Header.Set(name, value)
	}
	switch k.session {
	case "":
		r.Header.Set("Mcp-Method", method)
		r.Header.Set("Mcp-Name", k.tool)
	case newSession:
	default:
		r.Header.Set("Mcp-Session-Id", k.session)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	for lines := bufio.NewReader(res.Body); ; {
		line, err := lines.ReadString('\n')
		text := strings.TrimPrefix(line, "data: ")
		if strings.HasPrefix(text, "{") {
			m := &talkMessage{}
			if err := json.Unmarshal([]byte(text), m); err != nil {
				return nil, fmt.Errorf("%w: %s", err, text)
			}
			hear(m)
		}
		if err == io.EOF {
			return res, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// newSession is the session of a client that begins one.
const newSession = "new"

// talkMessage is a message that a client receives.
type talkMessage struct {
	ID     json.RawMessage
	Method string
	Params struct {
		ProgressToken       any
		Message, Data, Name string
	}
	Result struct {
		ResultType, RequestState string
		Content                  []struct{ Text string }
		InputRequests            map[string]struct{ Params struct{ Message string } }
	}
	Error *struct{ Message string }
}

// begin opens a session of a client up to 2025-11-25.
func (k *talk) begin() error {
	k.session = newSession
	const message = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`
	res, err := k.post("initialize", message, func(*talkMessage) {})
	if err != nil {
		return err
	}
	if k.session = res.Header.Get("Mcp-Session-Id"); k.session == "" {
		return errors.New("there is no session")
	}
	_, err = k.post("notifications/initialized", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, func(*talkMessage) {})
	return err
}

// call calls the tool, with further members of params.
func (k *talk) call(further string, answer func(id string)) error {
	meta := `"progressToken":"p"`
	if k.session == "" {
		meta += `,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/logLevel":"error",` +
			`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}`
	}
	if k.kinds == nil {
		k.kinds = map[string]int{}
	}
	hear := func(kind, text string) {
		k.words = append(k.words, text)
		k.kinds[kind]++
	}
	const format = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{%s}%s}}`
	_, err := k.post("tools/call", fmt.Sprintf(format, k.tool, meta, further), func(m *talkMessage) {
		switch {
		case m.Error != nil:
			k.outcome = m.Error.Message
		case m.Method == "notifications/progress":
			hear("progress", m.Params.Message)
		case m.Method == "notifications/message":
			hear("log", m.Params.Data)
		case m.Method == "elicitation/create":
			hear("question", m.Params.Message[strings.LastIndex(m.Params.Message, " ")+1:])
			answer(string(m.ID))
		case m.Result.ResultType == "input_required":
			k.state = m.Result.RequestState
			for key, q := range m.Result.InputRequests {
				k.question = key
				hear("question", q.Params.Message[strings.LastIndex(q.Params.Message, " ")+1:])
			}
		case len(m.Result.Content) > 0:
			k.outcome = m.Result.Content[0].Text
		}
	})
	return err
}

// resume calls the tool again with the answer of a caller.
func (k *talk) resume(name string) error {
	const format = `,"requestState":%q,"inputResponses":{%q:{"action":"accept","content":{"name":%q}}}`
	return k.call(fmt.Sprintf(format, k.state, k.question, name), nil)
}

// TestCallersOfAnMCPServerAreKeptApart has 100 callers call at once, with equal arguments, ids and tokens. Meanwhile
// another caller answers their questions.
func TestCallersOfAnMCPServerAreKeptApart(t *testing.T) {
	t.Parallel()
	numbers := make([]int, 100)
	for i := range numbers {
		numbers[i] = i
	}
	callers := sampletest.Of(t, 20, numbers)
	s := startTalks(t, append([]int{-1}, callers...))
	intruder := &talk{s: s, caller: callerName(-1)}
	if err := intruder.begin(); err != nil {
		t.Fatal(err)
	}
	for tool, asks := range s.tools {
		t.Run(tool, func(t *testing.T) {
			var mu sync.Mutex
			var words []string
			slots := make(chan struct{}, 50) // fewer than calls may wait for their clients
			var all sync.WaitGroup
			for _, i := range callers {
				all.Go(func() {
					slots <- struct{}{}
					defer func() { <-slots }()
					k := &talk{s: s, caller: callerName(i), tool: tool}
					if err := k.run(i%2 == 0, intruder); err != nil {
						t.Errorf("%s: %v", k.caller, err)
						return
					}
					word, name, _ := strings.Cut(k.outcome, " ")
					if asks && name != k.caller {
						t.Errorf("%s got %q", k.caller, k.outcome)
					}
					if slices.ContainsFunc(k.words, func(w string) bool { return w != word }) {
						t.Errorf("%s got %q, and heard %q", k.caller, k.outcome, k.words)
					}
					if k.kinds["progress"] == 0 || k.kinds["log"] == 0 && tool != "program_common" || (k.kinds["question"] == 1) != asks {
						t.Errorf("%s heard %v", k.caller, k.kinds)
					}
					mu.Lock()
					defer mu.Unlock()
					words = append(words, word)
				})
			}
			all.Wait()
			slices.Sort(words)
			if n := len(slices.Compact(words)); n != len(callers) {
				t.Errorf("%d callers have %d results", len(callers), n)
			}
		})
	}
}

// run carries a call out as a client of either era does. A question is answered by another caller first.
func (k *talk) run(legacy bool, intruder *talk) error {
	if !legacy {
		err := k.call("", nil)
		if err == nil && k.state != "" {
			foreign := &talk{s: k.s, caller: intruder.caller, tool: k.tool, state: k.state, question: k.question}
			if err = foreign.resume("intruder"); err == nil && (len(foreign.words) > 0 || strings.Contains(foreign.outcome, "intruder")) {
				err = fmt.Errorf("another caller got %q", foreign.outcome)
			}
		}
		if err == nil && k.state != "" {
			err = k.resume(k.caller)
		}
		return err
	}
	if err := k.begin(); err != nil {
		return err
	}
	var answered error
	err := k.call("", func(id string) {
		const format = `{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":%q}}}`
		_, foreign := intruder.post("", fmt.Sprintf(format, id, "intruder"), func(*talkMessage) {})
		_, err := k.post("", fmt.Sprintf(format, id, k.caller), func(*talkMessage) {})
		answered = errors.Join(foreign, err)
	})
	return errors.Join(err, answered)
}

// TestCallsThatWaitForAnswersAreBounded leaves as many questions of an MCP server open as a caller and a connection may.
func TestCallsThatWaitForAnswersAreBounded(t *testing.T) {
	t.Parallel()
	callers := []int{0, 1, 2, 3, 4, 5, 6, 7, 8}
	s := startTalks(t, callers)
	ask := func(caller int) *talk {
		k := &talk{s: s, caller: callerName(caller), tool: "legacy"}
		if err := k.call("", nil); err != nil {
			t.Fatal(err)
		}
		return k
	}
	refused := func(k *talk, of string) {
		t.Helper()
		if want := "too many calls of one " + of + " wait for answers of their clients"; k.state != "" || !strings.Contains(k.outcome, want) {
			t.Errorf("%s got %q, want %s", k.caller, k.outcome, want)
		}
	}
	var open []*talk
	for _, caller := range callers[:8] {
		for range 8 {
			k := ask(caller)
			if k.state == "" {
				t.Fatalf("%s got %q", k.caller, k.outcome)
			}
			open = append(open, k)
		}
		refused(ask(caller), "caller")
	}
	refused(ask(8), "connection")
	for _, k := range open {
		if err := k.resume(k.caller); err != nil || k.outcome != k.words[0]+" "+k.caller {
			t.Errorf("%s got %q, %v", k.caller, k.outcome, err)
		}
	}
	if k := ask(8); k.state == "" {
		t.Errorf("after the answers: %q", k.outcome)
	}
}

// TestACallThatComesBackEnds has a tool call itself at its own server.
func TestACallThatComesBackEnds(t *testing.T) {
	t.Parallel()
	const block = "tool \"again\" {\n  description = \"Call again.\"\n  read_only = true\n  idempotent = true\n  open_world = false\n  %s\n}\n"
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(fmt.Sprintf(block, `text = "end"`))
	r := startReplica(t, dir, "")
	cmd := exec.Command("hatchel", "import", "mcp", "self", "--url", r.url+"/mcp", "--all", "-o", ".")
	cmd.Dir = t.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	pins, err := os.ReadFile(filepath.Join(cmd.Dir, "self.tools.json"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "self.tools.json"), pins, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	const connection = "connection \"mcp\" \"self\" {\n  url = \"%s/mcp\"\n  definitions = \"self.tools.json\"\n}\n"
	write(fmt.Sprintf(connection, r.url) + fmt.Sprintf(block, `mcp "self" { call = "again" }`))
	got := ""
	await(t, func() bool {
		got = callTool(t, r.url, "again").text()
		return got != "end"
	})
	if !strings.Contains(got, "the call has passed too many servers on its way") {
		t.Errorf("got %q", got)
	}
}
