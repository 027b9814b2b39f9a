package runtime

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const confirming = `
	input "n" { type = optional(integer, 1) }
	approval {
		by      = "caller"
		timeout = "2m"
		message = "Delete ${input.n}?"
	}
	step "do" {
		fake {
			do    = "count"
			value = "deletes ${input.n}"
		}
	}
	step "name" {
		ask "name" {
			elicit {
				message = "Who?"
				fields  = object({ name = string })
			}
			fallback = { name = "nobody" }
		}
	}
	text = "deleted ${input.n}"
`

func confirmation(action string, approve any) string {
	return fmt.Sprintf(`{"approval.caller":{"action":%q,"content":{"approve":%v}}}`, action, approve)
}

func TestTheUserOfTheClientAgreesOrNothingIsDone(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h, path := newAuditedHost(t, tool("t", confirming), w.use)
	first := modernRequest("t", `{"n":7}`, `{"elicitation":{}}`)
	r := mustCall(t, h, first)
	if r.keys() != "approval.caller" || count() != 0 {
		t.Fatalf("%+v", r)
	}
	asked := fmt.Sprint(r.InputRequests["approval.caller"].Params)
	for _, want := range []string{`Delete 7?`, `deletes 7`, `approve:map[`, `type:boolean`, `default:false`} {
		if !strings.Contains(asked, want) {
			t.Errorf("no %s in %s", want, asked)
		}
	}
	for _, no := range []string{confirmation("decline", false), confirmation("cancel", true), confirmation("accept", false), confirmation("accept", `"yes"`), `{"approval.caller":{"action":"accept"}}`, `{"approval.caller":1}`} {
		state := mustCall(t, h, first).RequestState
		if r := mustCall(t, h, retryRequest(first, state, no)); !r.IsError || !strings.Contains(r.text(), "not approved") || count() != 0 {
			t.Errorf("%s: %+v", no, r)
		}
	}
	// Who was not asked cannot agree, and what was agreed to is one call.
	if r := mustCall(t, h, retryRequest(first, "", confirmation("accept", true))); r.keys() != "approval.caller" {
		t.Errorf("it agrees to itself: %+v", r)
	}
	state := mustCall(t, h, first).RequestState
	other := modernRequest("t", `{"n":8}`, `{"elicitation":{}}`)
	if _, err := tryCall(t, h, retryRequest(other, state, confirmation("accept", true))); !isInvalidState(err) {
		t.Errorf("other arguments: %v", err)
	}
	r = mustCall(t, h, retryRequest(first, state, confirmation("accept", true)))
	if r.keys() != "name" || count() != 1 {
		t.Fatalf("%+v after %d", r, count())
	}
	if _, err := tryCall(t, h, retryRequest(first, state, confirmation("accept", true))); !isInvalidState(err) {
		t.Errorf("a second time: %v", err)
	}
	if r = mustCall(t, h, retryRequest(first, r.RequestState, `{"name":{"action":"accept","content":{"name":"Ada"}}}`)); r.text() != "deleted 7" || count() != 1 {
		t.Errorf("%+v", r)
	}
	agreements := 0
	for _, r := range readRecords(t, path) {
		if r.Approval != nil && r.Approval.By == "caller" && r.Approval.Rules[0] == "tool.t.approval" && (r.Event == "intent" || r.Outcome == "ok") {
			agreements++
		}
	}
	if agreements < 2 {
		t.Errorf("%d records say that the caller agreed", agreements)
	}
}

func TestWhoCannotBeAskedToAgreeIsRefused(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("t", confirming), w.use)
	if _, err := tryCall(t, h, modernRequest("t", `{}`, `{}`)); err == nil || !strings.Contains(err.Error(), "elicitation") {
		t.Errorf("got %v", err)
	}
	if _, err := tryCall(t, h, modernRequest("t", `{}`, `{"elicitation":{"url":{}}}`)); err == nil {
		t.Error("a form is shown to who knows pages only")
	}
	if got := callTool(t, h, "t", `{}`); !isRefused(got) || !strings.Contains(got, "elicitation") || count() != 0 {
		t.Error(got)
	}
}

func TestALegacyClientsUserAgrees(t *testing.T) {
	for _, answer := range []struct{ sent, want string }{
		{`{"action":"accept","content":{"approve":true}}`, "done"},
		{`{"action":"accept","content":{}}`, "not approved"},
		{`{"action":"decline"}`, "not approved"},
		{"", "did not answer"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeBackend()
			count := w.addCounter()
			h := newHost(t, tool("t", "timeout = \"1s\"\napproval {\n  by      = \"caller\"\n  timeout = \"2m\"\n}\nfake { do = \"count\" }\ntext = \"done\""), w.use)
			c := connectLegacyClient(t, h, `{"elicitation":{}}`)
			defer c.close()
			c.call("t")
			for _, q := range c.waitForQuestions(1) {
				time.Sleep(time.Minute)
				if answer.sent != "" {
					c.answer(q, answer.sent)
				}
			}
			if answer.sent == "" {
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				for m := range c.said { // the question is taken back before the answer comes
					if m["id"] != nil {
						if !strings.Contains(fmt.Sprint(m), answer.want) || count() != 0 {
							t.Errorf("got %v after %d", m, count())
						}
						return
					}
				}
			}
			if got := c.resultText(); !strings.Contains(got, answer.want) || (count() == 1) != (answer.want == "done") {
				t.Errorf("%s: got %s after %d", answer.sent, got, count())
			}
		})
	}
}

func TestAnOperatorIsAskedForWhatTheUserWants(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	path := filepath.Join(t.TempDir(), "state.db")
	h := newHost(t, tool("t", "approval { by = \"caller\" }\napproval {}\nfake { do = \"count\" }\ntext = \"done\""), w.use, storedIn(t, path))
	approver := newApprover(t, h)
	first := modernRequest("t", `{}`, following)
	r := mustCall(t, h, first)
	if r.keys() != "approval.caller" || len(approver.waitForPending(0)) != 0 {
		t.Fatalf("%+v", r)
	}
	r = mustCall(t, h, retryRequest(first, r.RequestState, confirmation("accept", true)))
	if r.ResultType != "task" {
		t.Fatalf("%+v", r)
	}
	approver.decide(approver.waitForPending(1)[0], true, "")
	waitFor(t, func() bool { return getTask(t, h, r.TaskID).Status == "completed" })
	if got := getTask(t, h, r.TaskID).Result.text(); got != "done" || count() != 1 {
		t.Errorf("%s after %d", got, count())
	}
}

func TestACallThatWaitsForAnOperatorIsATaskWhereTheClientCanFollow(t *testing.T) {
	for claim, src := range map[string]string{
		"a tool without tasks": "approval { timeout = \"2h\" }\nfake { do = \"count\" }\ntext = \"done\"",
		"a tool with tasks":    task1h + "approval { timeout = \"2h\" }\nfake { do = \"count\" }\ntext = \"done\"",
		"a tool with keys":     keyed + "approval { timeout = \"2h\" }\nfake { do = \"count\" }\ntext = \"done\"",
	} {
		t.Run(claim, func(t *testing.T) {
			w := newFakeBackend()
			count := w.addCounter()
			arguments := `{}`
			if strings.Contains(src, "idempotency") {
				arguments = `{"idempotency_key":"k"}`
			}
			inBubble(t, tool("t", src), w.use, func(t *testing.T, h *Host) {
				approver := newApprover(t, h)
				begin := func() string {
					r := mustCall(t, h, modernRequest("t", arguments, following))
					if r.ResultType != "task" {
						t.Fatalf("%+v", r)
					}
					synctest.Wait()
					return r.TaskID
				}
				id := begin()
				a := approver.waitForPending(1)[0]
				if r := getTask(t, h, id); r.Status != "working" || !strings.Contains(r.Message, a.ID) || count() != 0 {
					t.Errorf("%+v", r)
				}
				time.Sleep(90 * time.Minute)
				approver.decide(a, true, "")
				synctest.Wait()
				time.Sleep(time.Second)
				if r := getTask(t, h, id); r.Status != "completed" || r.Result == nil || r.Result.text() != "done" || count() != 1 {
					t.Errorf("after %d: %+v", count(), r)
				}
				if arguments != `{}` {
					return
				}
				// Rejected, cancelled, and the end of the server.
				id = begin()
				approver.decide(approver.waitForPending(1)[0], false, "not today")
				synctest.Wait()
				if r := getTask(t, h, id); r.Status != "completed" || !strings.Contains(r.Result.text(), "not today") || count() != 1 {
					t.Errorf("%+v", r)
				}
				id = begin()
				if _, err := taskRequest(t, h, "tasks/cancel", id, ""); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if r := getTask(t, h, id); r.Status != "cancelled" || count() != 1 {
					t.Errorf("%+v", r)
				}
				id = begin()
				h.StopWaiting()
				synctest.Wait()
				waitForTasks(t, h)
				if r := getTask(t, h, id); !strings.Contains(fmt.Sprintf("%+v %+v", r, r.Result), "shutting down") || count() != 1 {
					t.Errorf("%+v", r)
				}
			})
		})
	}
}

func TestTwoTasksWithOneKeyAreDoneOnce(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	path := filepath.Join(t.TempDir(), "state.db")
	h := newHost(t, tool("t", keyed+"approval {}\nfake { do = \"count\" }\ntext = \"done\""), w.use, storedIn(t, path))
	approver := newApprover(t, h)
	var ids []string
	for range 2 {
		r := mustCall(t, h, modernRequest("t", `{"idempotency_key":"k"}`, following))
		ids = append(ids, r.TaskID)
	}
	waiting := approver.waitForPending(1)
	if len(waiting) != 1 {
		t.Errorf("asked %d times", len(waiting))
	}
	approver.decide(waiting[0], true, "")
	for _, id := range ids {
		waitFor(t, func() bool { return getTask(t, h, id).Status == "completed" })
	}
	one, two := getTask(t, h, ids[0]).Result.text(), getTask(t, h, ids[1]).Result.text()
	if count() != 1 || one != "done" && two != "done" {
		t.Errorf("after %d: %s, %s", count(), one, two)
	}
}

func TestAClientIsToldThatItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		w.addCounter()
		h := newHost(t, tool("t", "approval {}\nfake { do = \"count\" }\ntext = \"done\""), w.use)
		c := connectLegacyClient(t, h, `{}`)
		defer c.close()
		c.call("t")
		said := <-c.said
		params, _ := said["params"].(map[string]any)
		approver := newApprover(t, h)
		a := approver.waitForPending(1)[0]
		if text, _ := params["message"].(string); said["method"] != "notifications/progress" || !strings.Contains(text, a.ID) {
			t.Fatalf("told %v", said)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := len(c.said); n < 2 {
			t.Errorf("told %d times in 10 s", n)
		}
		approver.decide(a, true, "")
		for said := range c.said {
			if said["id"] != nil {
				if !strings.Contains(fmt.Sprint(said), "done") {
					t.Errorf("answered %v", said)
				}
				break
			}
		}
	})
}
