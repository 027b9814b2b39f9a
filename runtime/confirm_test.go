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

func agreed(action string, approve any) string {
	return fmt.Sprintf(`{"approval.caller":{"action":%q,"content":{"approve":%v}}}`, action, approve)
}

func TestTheUserOfTheClientAgreesOrNothingIsDone(t *testing.T) {
	w := newWorld()
	count := w.counting()
	h, path := w.audited(t, tool("t", confirming))
	first := modern("t", `{"n":7}`, `{"elicitation":{}}`)
	r := do(t, h, first)
	if r.keys() != "approval.caller" || count() != 0 {
		t.Fatalf("%+v", r)
	}
	asked := fmt.Sprint(r.InputRequests["approval.caller"].Params)
	for _, want := range []string{`Delete 7?`, `deletes 7`, `approve:map[`, `type:boolean`, `default:false`} {
		if !strings.Contains(asked, want) {
			t.Errorf("no %s in %s", want, asked)
		}
	}
	for _, no := range []string{agreed("decline", false), agreed("cancel", true), agreed("accept", false), agreed("accept", `"yes"`), `{"approval.caller":{"action":"accept"}}`, `{"approval.caller":1}`} {
		state := do(t, h, first).RequestState
		if r := do(t, h, again(first, state, no)); !r.IsError || !strings.Contains(r.text(), "not approved") || count() != 0 {
			t.Errorf("%s: %+v", no, r)
		}
	}
	// Who was not asked cannot agree, and what was agreed to is one call.
	if r := do(t, h, again(first, "", agreed("accept", true))); r.keys() != "approval.caller" {
		t.Errorf("it agrees to itself: %+v", r)
	}
	state := do(t, h, first).RequestState
	other := modern("t", `{"n":8}`, `{"elicitation":{}}`)
	if _, err := try(t, h, again(other, state, agreed("accept", true))); !refusedState(err) {
		t.Errorf("other arguments: %v", err)
	}
	r = do(t, h, again(first, state, agreed("accept", true)))
	if r.keys() != "name" || count() != 1 {
		t.Fatalf("%+v after %d", r, count())
	}
	if _, err := try(t, h, again(first, state, agreed("accept", true))); !refusedState(err) {
		t.Errorf("a second time: %v", err)
	}
	if r = do(t, h, again(first, r.RequestState, `{"name":{"action":"accept","content":{"name":"Ada"}}}`)); r.text() != "deleted 7" || count() != 1 {
		t.Errorf("%+v", r)
	}
	agreements := 0
	for _, r := range records(t, path) {
		if r.Approval != nil && r.Approval.By == "caller" && r.Approval.Rules[0] == "tool.t.approval" && (r.Event == "intent" || r.Outcome == "ok") {
			agreements++
		}
	}
	if agreements < 2 {
		t.Errorf("%d records say that the caller agreed", agreements)
	}
}

func TestWhoCannotBeAskedToAgreeIsRefused(t *testing.T) {
	w := newWorld()
	count := w.counting()
	h := w.host(t, tool("t", confirming))
	defer h.Close()
	if _, err := try(t, h, modern("t", `{}`, `{}`)); err == nil || !strings.Contains(err.Error(), "elicitation") {
		t.Errorf("got %v", err)
	}
	if _, err := try(t, h, modern("t", `{}`, `{"elicitation":{"url":{}}}`)); err == nil {
		t.Error("a form is shown to who knows pages only")
	}
	if got := ask(t, h, "t", `{}`); !refused(got) || !strings.Contains(got, "elicitation") || count() != 0 {
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
			w := newWorld()
			count := w.counting()
			h := w.host(t, tool("t", "timeout = \"1s\"\napproval {\n  by      = \"caller\"\n  timeout = \"2m\"\n}\nfake { do = \"count\" }\ntext = \"done\""))
			defer h.Close()
			c := connect(t, h, `{"elicitation":{}}`)
			defer c.end()
			c.call("t")
			for _, q := range c.asked(1) {
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
			if got := c.text(); !strings.Contains(got, answer.want) || (count() == 1) != (answer.want == "done") {
				t.Errorf("%s: got %s after %d", answer.sent, got, count())
			}
		})
	}
}

func TestAnOperatorIsAskedForWhatTheUserWants(t *testing.T) {
	w := newWorld()
	count := w.counting()
	path := filepath.Join(t.TempDir(), "state.db")
	h := w.remembering(t, path, tool("t", "approval { by = \"caller\" }\napproval {}\nfake { do = \"count\" }\ntext = \"done\""))
	desk := deskOf(t, h)
	first := modern("t", `{}`, following)
	r := do(t, h, first)
	if r.keys() != "approval.caller" || len(desk.pending(0)) != 0 {
		t.Fatalf("%+v", r)
	}
	r = do(t, h, again(first, r.RequestState, agreed("accept", true)))
	if r.ResultType != "task" {
		t.Fatalf("%+v", r)
	}
	desk.decide(desk.pending(1)[0], true, "")
	eventually(t, func() bool { return getTask(t, h, r.TaskID).Status == "completed" })
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
			w := newWorld()
			count := w.counting()
			arguments := `{}`
			if strings.Contains(src, "idempotency") {
				arguments = `{"idempotency_key":"k"}`
			}
			w.within(t, tool("t", src), func(t *testing.T, h *Host) {
				desk := deskOf(t, h)
				begin := func() string {
					r := do(t, h, modern("t", arguments, following))
					if r.ResultType != "task" {
						t.Fatalf("%+v", r)
					}
					synctest.Wait()
					return r.TaskID
				}
				id := begin()
				a := desk.pending(1)[0]
				if r := getTask(t, h, id); r.Status != "working" || !strings.Contains(r.Message, a.ID) || count() != 0 {
					t.Errorf("%+v", r)
				}
				time.Sleep(90 * time.Minute)
				desk.decide(a, true, "")
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
				desk.decide(desk.pending(1)[0], false, "not today")
				synctest.Wait()
				if r := getTask(t, h, id); r.Status != "completed" || !strings.Contains(r.Result.text(), "not today") || count() != 1 {
					t.Errorf("%+v", r)
				}
				id = begin()
				if _, err := taskly(t, h, "tasks/cancel", id, ""); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if r := getTask(t, h, id); r.Status != "cancelled" || count() != 1 {
					t.Errorf("%+v", r)
				}
				id = begin()
				h.StopWaiting()
				synctest.Wait()
				settled(t, h)
				if r := getTask(t, h, id); !strings.Contains(fmt.Sprintf("%+v %+v", r, r.Result), "shutting down") || count() != 1 {
					t.Errorf("%+v", r)
				}
			})
		})
	}
}

func TestTwoTasksWithOneKeyAreDoneOnce(t *testing.T) {
	w := newWorld()
	count := w.counting()
	path := filepath.Join(t.TempDir(), "state.db")
	h := w.remembering(t, path, tool("t", keyed+"approval {}\nfake { do = \"count\" }\ntext = \"done\""))
	desk := deskOf(t, h)
	var ids []string
	for range 2 {
		r := do(t, h, modern("t", `{"idempotency_key":"k"}`, following))
		ids = append(ids, r.TaskID)
	}
	waiting := desk.pending(1)
	if len(waiting) != 1 {
		t.Errorf("asked %d times", len(waiting))
	}
	desk.decide(waiting[0], true, "")
	for _, id := range ids {
		eventually(t, func() bool { return getTask(t, h, id).Status == "completed" })
	}
	one, two := getTask(t, h, ids[0]).Result.text(), getTask(t, h, ids[1]).Result.text()
	if count() != 1 || one != "done" && two != "done" {
		t.Errorf("after %d: %s, %s", count(), one, two)
	}
}

func TestAClientIsToldThatItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.counting()
		h := w.host(t, tool("t", "approval {}\nfake { do = \"count\" }\ntext = \"done\""))
		defer h.Close()
		c := connect(t, h, `{}`)
		defer c.end()
		c.call("t")
		said := <-c.said
		params, _ := said["params"].(map[string]any)
		desk := deskOf(t, h)
		a := desk.pending(1)[0]
		if text, _ := params["message"].(string); said["method"] != "notifications/progress" || !strings.Contains(text, a.ID) {
			t.Fatalf("told %v", said)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := len(c.said); n < 2 {
			t.Errorf("told %d times in 10 s", n)
		}
		desk.decide(a, true, "")
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
