package runtime

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy"
)

// legacyClient is a client of an earlier revision on a pair of streams. The test writes its answers.
type legacyClient struct {
	t    *testing.T
	in   io.WriteCloser
	said chan map[string]any // what the server says
}

// connectLegacyClient connects a client with these capabilities until the test ends. The test must run in a bubble.
func connectLegacyClient(t *testing.T, h *Host, capabilities string) *legacyClient {
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	c := &legacyClient{t, in, make(chan map[string]any, 100)}
	go func() {
		mcp.New(h, mcp.Options{Legacy: legacy.New(legacy.Options{})}).For("").Serve(t.Context(), fromClient, toClient)
		toClient.Close()
	}()
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var m map[string]any
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
				t.Error(err)
			}
			c.said <- m
		}
		close(c.said)
	}()
	c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":%s,"clientInfo":{"name":"t","version":"1"}}}`, capabilities)
	<-c.said
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

// close closes the connection, and waits until the server has noticed.
func (c *legacyClient) close() {
	c.in.Close()
	for range c.said {
	}
}

func (c *legacyClient) send(format string, args ...any) { fmt.Fprintf(c.in, format+"\n", args...) }

func (c *legacyClient) call(tool string) {
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"_meta":{"progressToken":"p"}}}`, tool)
}

func (c *legacyClient) answer(to map[string]any, result string) {
	c.send(`{"jsonrpc":"2.0","id":%q,"result":%s}`, to["id"], result)
}

// waitForQuestions waits for the next n questions, and returns them by their messages.
func (c *legacyClient) waitForQuestions(n int) map[string]map[string]any {
	c.t.Helper()
	out := map[string]map[string]any{}
	for range n {
		m := <-c.said
		params, _ := m["params"].(map[string]any)
		if m["method"] != "elicitation/create" {
			c.t.Fatalf("got %v", m)
		}
		first, _, _ := strings.Cut(params["message"].(string), "\n")
		out[first] = m
	}
	return out
}

// resultText returns the result of the call.
func (c *legacyClient) resultText() string {
	c.t.Helper()
	m := <-c.said
	r, _ := m["result"].(map[string]any)
	if r == nil {
		c.t.Fatalf("got %v", m)
	}
	return r["content"].([]any)[0].(map[string]any)["text"].(string)
}

const two = `
timeout = "1s"
step "before" {
  fake { do = "count" }
}
step "s" {
  ask "name" {
    timeout = "2m"
    elicit {
      message = "Who?"
      fields  = object({ name = string })
    }
  }
  ask "page" {
    elicit {
      message = "Look."
      url     = "https://x.example/"
    }
  }
}
step "after" {
  fake { do = "count" }
}
text = "${step.s.name.content.name} ${step.s.page.action} ${step.after.value}"
`

func TestALegacyClientIsAskedWhileTheCallWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		w.addCounter()
		h := newHost(t, tool("t", two), w.use)
		c := connectLegacyClient(t, h, `{"elicitation":{"form":{},"url":{}}}`)
		defer c.close()
		c.call("t")
		q := c.waitForQuestions(2)
		if p := q["Look."]["params"].(map[string]any); p["mode"] != "url" || p["elicitationId"] == nil {
			t.Errorf("got %v", p)
		}
		time.Sleep(time.Minute) // the timeout of the tool does not count it
		c.answer(q["Look."], `{"action":"accept"}`)
		c.answer(q["Who?"], accept)
		if got := c.resultText(); got != "Ada accept 2" {
			t.Errorf("got %s", got)
		}
	})
}

func TestALegacyClientIsAskedThreeTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		count := w.addCounter()
		h := newHost(t, tool("t", two), w.use)
		c := connectLegacyClient(t, h, `{"elicitation":{"form":{},"url":{}}}`)
		defer c.close()
		c.call("t")
		q := c.waitForQuestions(2)
		c.answer(q["Look."], `{"action":"accept"}`)
		for range 2 {
			c.answer(q["Who?"], `{"action":"accept","content":{"name":7}}`)
			q = c.waitForQuestions(1)
			if text := q["Who?"]["params"].(map[string]any)["message"].(string); !strings.Contains(text, "must be a string") {
				t.Errorf("got %q", text)
			}
		}
		c.answer(q["Who?"], `{"action":"accept","content":{}}`)
		if got := c.resultText(); !strings.Contains(got, `"name" is not valid: name: is required`) || count() != 1 {
			t.Errorf("got %s", got)
		}
	})
}

func TestALegacyClientThatDoesNotAnswerEndsTheCall(t *testing.T) {
	for _, c := range []struct {
		claim  string
		happen func(c *legacyClient, q map[string]map[string]any)
		after  time.Duration
		want   string
	}{
		{"the time for an answer passes", func(c *legacyClient, q map[string]map[string]any) {}, 2 * time.Minute, `did not answer the question "name" within 2m`},
		{"the client refuses", func(c *legacyClient, q map[string]map[string]any) {
			c.send(`{"jsonrpc":"2.0","id":%q,"error":{"code":-1,"message":"User rejected it"}}`, q["Look."]["id"])
		}, 0, `rejected the question "page": User rejected it`},
		{"the user declines", func(c *legacyClient, q map[string]map[string]any) {
			c.answer(q["Look."], `{"action":"accept"}`)
			c.answer(q["Who?"], `{"action":"decline"}`)
		}, 0, "declined to answer"},
	} {
		t.Run(c.claim, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFakeBackend()
				count := w.addCounter()
				h := newHost(t, tool("t", two), w.use)
				client := connectLegacyClient(t, h, `{"elicitation":{"form":{},"url":{}}}`)
				defer client.close()
				began := time.Now()
				client.call("t")
				q := client.waitForQuestions(2)
				c.happen(client, q)
				m := <-client.said
				for m["method"] == "notifications/cancelled" { // of the questions that nobody has to answer any more
					m = <-client.said
				}
				if got := fmt.Sprint(m["result"]); !strings.Contains(got, c.want) || !strings.Contains(got, "isError:true") || count() != 1 {
					t.Errorf("got %v", m)
				}
				if took := time.Since(began); took != c.after {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

func TestACallThatWaitsForALegacyClientOutlivesAReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		w.addCounter()
		h := newHost(t, tool("t", two), w.use)
		c := connectLegacyClient(t, h, `{"elicitation":{"form":{},"url":{}}}`)
		defer c.close()
		c.call("t")
		q := c.waitForQuestions(2)
		load(t, h, tool("t", `text = "new"`))
		time.Sleep(100 * time.Second) // much longer than the grace period
		if j := w.takeJournal(); slices.Contains(j, "undo count") {
			t.Error("what the call needs is closed")
		}
		c.answer(q["Look."], `{"action":"accept"}`)
		c.answer(q["Who?"], accept)
		if got := c.resultText(); got != "Ada accept 2" {
			t.Errorf("got %s", got)
		}
		synctest.Wait()
		if j := w.takeJournal(); !slices.Contains(j, "undo count") {
			t.Errorf("the old configuration is not undone: %q", j)
		}
	})
}

func TestACallThatWaitsForALegacyClientEndsWithTheServer(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeBackend()
			w.addCounter()
			h := newHost(t, tool("t", two), w.use)
			c := connectLegacyClient(t, h, `{"elicitation":{"form":{},"url":{}}}`)
			defer c.close()
			c.call("t")
			c.waitForQuestions(2)
			if replaced {
				load(t, h, tool("t", `text = "new"`))
			}
			h.Close()
			var said []string
			for m := range c.said {
				method, _ := m["method"].(string)
				said = append(said, method+fmt.Sprint(m["result"]))
				if m["id"] == 1.0 {
					break
				}
			}
			if got := strings.Join(said, "\n"); !strings.Contains(got, "the server was stopped") || strings.Count(got, "notifications/cancelled") != 2 {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestStepsTellTheClientWhatHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, `secret "token" { env = "TOKEN" }`+"\n"+tool("t", `
step "begin" {
  log {
    message = "Begun ${base64decode("czNjcjN0LyJ0b2siZW4=")}"
  }
}
step "all" {
  each     = [1, 2, 3]
  parallel = 3
  log {
    level  = "warning"
    logger = "shop"
    data   = { n = each.value }
  }
}
step "quiet" {
  log {
    level   = "debug"
    message = "unheard"
  }
}
step "half" {
  progress {
    done    = 50
    total   = 100
    message = "Half way"
  }
}
step "nap" {
  wait { for = "50ms" }
}
step "never" {
  when = "false"
  fail { message = "never" }
}
text = "done"`))
		c := connectLegacyClient(t, h, `{}`)
		defer c.close()
		c.send(`{"jsonrpc":"2.0","id":9,"method":"logging/setLevel","params":{"level":"info"}}`)
		<-c.said
		began := time.Now()
		c.call("t")
		var said []string
		for m := range c.said {
			b, _ := json.Marshal(m["params"])
			if m["id"] != nil {
				b, _ = json.Marshal(m["result"])
			}
			said = append(said, string(b))
			if m["id"] != nil {
				break
			}
		}
		slices.Sort(said[1:4])
		want := []string{
			`{"data":"Begun (secret)","level":"info"}`,
			`{"data":{"n":1},"level":"warning","logger":"shop"}`,
			`{"data":{"n":2},"level":"warning","logger":"shop"}`,
			`{"data":{"n":3},"level":"warning","logger":"shop"}`,
			`{"message":"Half way","progress":50,"progressToken":"p","total":100}`,
			`{"content":[{"text":"done","type":"text"}]}`,
		}
		if !slices.Equal(said, want) {
			t.Errorf("got  %s\nwant %s", strings.Join(said, "\n"), strings.Join(want, "\n"))
		}
		if took := time.Since(began); took != 50*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}
