package e2e_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"hatchel/internal/programtest"
)

// wireClient is a client of revision 2025-11-25 that chooses the process of each request. Its methods may be called
// from any goroutine.
type wireClient struct {
	url  string // of a process, without the path
	path string
	key  string // an API key; empty for none
	id   string // of the session
}

// at returns the client as it uses another process.
func (w *wireClient) at(r *replica) *wireClient {
	other := *w
	other.url = r.url
	return &other
}

// with returns the client with another session id.
func (w *wireClient) with(id string) *wireClient {
	other := *w
	other.id = id
	return &other
}

// open begins a session.
func (w *wireClient) open(t testing.TB) *wireClient {
	t.Helper()
	res, err := w.with("").send(http.MethodPost, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",`+
		`"capabilities":{"elicitation":{"form":{}},"sampling":{},"roots":{}},"clientInfo":{"name":"wire","version":"1"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	id := res.Header.Get("Mcp-Session-Id")
	if res.StatusCode != http.StatusOK || id == "" {
		t.Fatalf("%s: %s", res.Status, body)
	}
	return w.with(id)
}

// send makes a request; headers come in pairs.
func (w *wireClient) send(method, body string, headers ...string) (*http.Response, error) {
	r, err := http.NewRequest(method, w.url+w.path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if w.key != "" {
		r.Header.Set("Authorization", "Bearer "+w.key)
	}
	if w.id != "" {
		r.Header["Mcp-Session-Id"] = []string{w.id}
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return http.DefaultClient.Do(r)
}

// status makes a request and returns the status of the response and its body; 0 if there was no response.
func (w *wireClient) status(method, body string, headers ...string) (int, string) {
	res, err := w.send(method, body, headers...)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	if res.Header.Get("Content-Type") == "text/event-stream" {
		return res.StatusCode, ""
	}
	text, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(text)
}

// ping returns the status of a request in the session.
func (w *wireClient) ping() int {
	status, _ := w.status(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	return status
}

// events is an event stream that is read in the background.
type events struct {
	all  chan wireEvent // closed at the end
	last string         // the id of the last event that was taken
}

// wireEvent is a message of an event stream.
type wireEvent struct {
	id, data string
	message  struct {
		ID     json.RawMessage
		Method string
		Params struct{ Message string }
		Result struct {
			Content []struct{ Text string }
		}
		Error struct{ Message string }
	}
}

// stream makes a request whose response is an event stream.
func (w *wireClient) stream(method, body string, headers ...string) (*events, error) {
	res, err := w.send(method, body, headers...)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return nil, fmt.Errorf("%s %s: %s", method, res.Status, text)
	}
	return readEvents(res), nil
}

// readEvents reads the events of a response.
func readEvents(res *http.Response) *events {
	e := &events{all: make(chan wireEvent, 100)}
	go func() {
		defer close(e.all)
		defer res.Body.Close()
		var event wireEvent
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				event.id = value
			case "data":
				event.data = value
				json.Unmarshal([]byte(value), &event.message)
			case "":
				if event.id != "" || event.data != "" {
					e.all <- event
				}
				event = wireEvent{}
			}
		}
	}()
	return e
}

// next returns the next message. It reports false at the end of the stream.
func (e *events) next() (event wireEvent, ok bool) {
	for {
		select {
		case event, ok = <-e.all:
			if !ok {
				return event, false
			}
			e.last = event.id
			if event.data != "" && event.data != "data:" {
				return event, true
			}
		case <-time.After(programtest.Timeout):
			return event, false
		}
	}
}

// callBodyOf returns a call as a request.
func callBodyOf(tool, n string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":%q,"arguments":{"n":%q}}}`, n, tool, n)
}

// ask makes a call whose first message is a question, which it returns.
func (w *wireClient) ask(t testing.TB, n string) (stream *events, question wireEvent) {
	t.Helper()
	stream, err := w.stream(http.MethodPost, callBodyOf("held", n))
	if err != nil {
		t.Fatal(err)
	}
	question, ok := stream.next()
	if !ok || question.message.Method != "elicitation/create" {
		t.Fatalf("the user is not asked: %+v", question)
	}
	return stream, question
}

// answerTo returns the body of an answer.
func answerTo(question wireEvent, name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":%q}}}`, question.message.ID, name)
}

// checkResult checks the last message of a stream.
func (e *events) checkResult(t testing.TB, want string) {
	t.Helper()
	got, ok := e.next()
	if !ok || len(got.message.Result.Content) != 1 || got.message.Result.Content[0].Text != want {
		t.Errorf("the call ends with %s, not with %q", got.data, want)
	}
}

// callers are two callers and a toolset.
func callers() string {
	text := "auth {\n"
	for _, name := range []string{"ann", "eve"} {
		sum := sha256.Sum256([]byte(apiKeyOf(name)))
		text += fmt.Sprintf("  api_key %q { sha256 = %q }\n", name, hex.EncodeToString(sum[:]))
	}
	return text + "}\ntoolset \"small\" {\n  tools = [\"echo\"]\n}\n"
}

const postgresState = "secret \"state\" { env = \"STATE\" }\nstate { postgres = secret.state }\n"

// A session id opens in every process, for whom and for what it was given. Every other id is not found.
func TestReplicasFindNoSessionOfOthers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, postgresState+callers(), emptySchema(t))
	other := newCluster(t, 1, postgresState+callers(), emptySchema(t))
	ann := (&wireClient{url: c.replicas[0].url, path: "/mcp", key: apiKeyOf("ann")}).open(t)
	second := ann.open(t)
	foreign := ann.at(other.replicas[0]).open(t)
	raw, err := base64.RawURLEncoding.DecodeString(ann.id)
	if err != nil {
		t.Fatalf("the id is not of the alphabet that headers and paths take: %q", ann.id)
	}
	eve, small := *ann, *ann
	eve.key, small.path = apiKeyOf("eve"), "/mcp/small"
	ids := map[string]*wireClient{
		"of another caller":            &eve,
		"of another toolset":           &small,
		"of another state":             ann.with(foreign.id),
		"that is truncated":            ann.with(ann.id[:len(ann.id)-1]),
		"with something after it":      ann.with(ann.id + "A"),
		"with padding":                 ann.with(ann.id + "="),
		"as standard base64":           ann.with("+" + strings.NewReplacer("-", "+", "_", "/").Replace(ann.id[1:])),
		"as hexadecimal":               ann.with(hex.EncodeToString(raw)),
		"in upper case":                ann.with(strings.ToUpper(ann.id)),
		"of two halves of two ids":     ann.with(ann.id[:len(ann.id)/2] + second.id[len(ann.id)/2:]),
		"with the nonce of another":    ann.with(second.id[:20] + ann.id[20:]),
		"twice":                        ann.with(ann.id + ann.id),
		"that was never given":         ann.with("6DFZSNSI5H3YAKFU6JIA5GJLIE"),
		"of one letter":                ann.with("A"),
		"of 7,000 letters":             ann.with(strings.Repeat("A", 7000)),
		"with letters that are no ids": ann.with("../" + ann.id + "%00"),
		"of another form":              ann.with(base64.RawURLEncoding.EncodeToString(append([]byte{raw[0] + 1}, raw[1:]...))),
	}
	for what, w := range ids {
		t.Run(what, func(t *testing.T) {
			for _, r := range c.replicas {
				for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
					if status, body := w.at(r).status(method, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); status != http.StatusNotFound {
						t.Errorf("%s is answered with %d %s", method, status, body)
					}
				}
			}
		})
	}
	t.Run("changed anywhere", func(t *testing.T) {
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		for at := range ann.id {
			changed := []byte(ann.id)
			changed[at] = alphabet[(strings.IndexByte(alphabet, changed[at])+1+rand.IntN(63))%64]
			if status := ann.with(string(changed)).at(c.replicas[at%3]).ping(); status != http.StatusNotFound {
				t.Errorf("with another letter at %d of %d: %d", at, len(ann.id), status)
			}
		}
	})
	for _, r := range c.replicas {
		if status := ann.at(r).ping(); status != http.StatusOK {
			t.Errorf("the session itself is answered with %d", status)
		}
	}
}

// What settles a question is the session that was asked, once.
func TestReplicasTakeAnAnswerOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, postgresState+callers(), emptySchema(t))
	ann := (&wireClient{url: c.replicas[0].url, path: "/mcp", key: apiKeyOf("ann")}).open(t)
	eve := (&wireClient{url: c.replicas[0].url, path: "/mcp", key: apiKeyOf("eve")}).open(t)
	sister := ann.open(t)
	n := nextNumber()
	stream, question := ann.ask(t, n)
	forged := question
	forged.message.ID = json.RawMessage(strings.Replace(string(question.message.ID), "ask-", "ask-X", 1))
	for what, attempt := range map[string]func(r *replica) (int, string){
		"another caller": func(r *replica) (int, string) {
			return eve.at(r).status(http.MethodPost, answerTo(question, "eve"))
		},
		"another session of the caller": func(r *replica) (int, string) {
			return sister.at(r).status(http.MethodPost, answerTo(question, "sister"))
		},
		"another id": func(r *replica) (int, string) {
			return ann.at(r).status(http.MethodPost, answerTo(forged, "forged"))
		},
	} {
		for _, r := range c.replicas {
			if status, body := attempt(r); status != http.StatusAccepted {
				t.Errorf("%s is answered with %d %s", what, status, body)
			}
		}
	}
	for i, r := range []*replica{c.replicas[1], c.replicas[2], c.replicas[0]} {
		if status, body := ann.at(r).status(http.MethodPost, answerTo(question, fmt.Sprint("answer", i))); status != http.StatusAccepted {
			t.Errorf("answer %d is answered with %d %s", i, status, body)
		}
	}
	// On a slow machine the first of them need not be the first to arrive.
	if got, ok := stream.next(); !ok || len(got.message.Result.Content) != 1 || !strings.HasPrefix(got.message.Result.Content[0].Text, "held answer") {
		t.Errorf("the call ends with %s", got.data)
	}
}

// Clients give up a connection on which nothing new comes: each event stream begins with an id that they return with.
func TestReplicasBeginEachStreamWithAnId(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	w := (&wireClient{url: c.replicas[0].url, path: "/mcp"}).open(t)
	seen := map[string]bool{}
	last := []string(nil)
	for i := range 9 {
		stream, err := w.at(c.replicas[i%3]).stream(http.MethodGet, "", last...)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case event := <-stream.all:
			if event.id == "" || seen[event.id] {
				t.Errorf("stream %d begins with the id %q", i, event.id)
			}
			seen[event.id] = true
			last = []string{"Last-Event-Id", event.id}
		case <-time.After(programtest.Timeout):
			t.Fatalf("stream %d begins with nothing", i)
		}
	}
}

// A session holds no tools: each process answers with those of its own files, and only for the toolsets that it has.
func TestReplicasAnswerWithTheirOwnFiles(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, postgresState+callers(), emptySchema(t))
	other := newCluster(t, 1, strings.Split(postgresState+callers(), "toolset")[0]+"tool \"extra\" {\n  description = \"Answer.\"\n  text = \"x\"\n}\n", c.database)
	for path, want := range map[string]int{"/mcp": http.StatusOK, "/mcp/small": http.StatusNotFound} {
		w := (&wireClient{url: c.replicas[0].url, path: path, key: apiKeyOf("ann")}).open(t)
		for r, extra := range map[*replica]bool{c.replicas[0]: false, other.replicas[0]: true} {
			status, body := w.at(r).status(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			switch {
			case !extra && status != http.StatusOK, extra && status != want:
				t.Errorf("%s is answered with %d %s", path, status, body)
			case status == http.StatusOK && strings.Contains(body, `"extra"`) != extra:
				t.Errorf("%s lists %s", path, body)
			}
		}
	}
}
