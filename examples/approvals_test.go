package examples_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const hookSecret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// operators are whom the webhook of the example leads to.
type operators struct {
	mu  sync.Mutex
	got []string // guarded by mu
}

func (o *operators) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	said := string(body)
	if oracle, err := webhooks.NewWebhookRaw([]byte(hookSecret)); err != nil || oracle.Verify(body, r.Header) != nil {
		said = "unsigned: " + said
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.got = append(o.got, said)
}

// hear waits until they were told something.
func (o *operators) hear(t *testing.T, beginning, within string) {
	t.Helper()
	eventually(t, "operators are told "+beginning, func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return slices.ContainsFunc(o.got, func(said string) bool { return strings.HasPrefix(said, beginning) && strings.Contains(said, within) })
	})
}

// refundShop is the example with its state in the folder, so that a server and the command line share it.
func refundShop(t *testing.T) (*folder, *operators) {
	t.Helper()
	told := new(operators)
	receiver := httptest.NewServer(told)
	t.Cleanup(receiver.Close)
	f := example(t, "approvals")
	f.args, f.env = []string{"--state", f.file("state.db")}, []string{"REFUNDS_HOOK_URL=" + receiver.URL, "REFUNDS_HOOK=" + hookSecret}
	return f, told
}

// byHand runs hatchel call, which keeps nothing beyond the call.
func (f *folder) byHand(args ...string) output {
	f.t.Helper()
	return (&folder{t: f.t, path: f.path, env: f.env}).run(append([]string{"call"}, args...)...)
}

// paid are the amounts that were paid back, as the database says.
func (f *folder) paid() string {
	f.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+f.file("shop.db")+"?mode=ro&_busy_timeout=5000")
	if err != nil {
		f.t.Fatal(err)
	}
	defer db.Close()
	var list sql.NullString
	if err := db.QueryRow("SELECT group_concat(amount, ' ') FROM (SELECT amount FROM refunds ORDER BY id)").Scan(&list); err != nil {
		f.t.Fatal(err)
	}
	return list.String
}

// pending is the one approval that waits, as hatchel approvals lists it; nil when none does.
func (f *folder) pending() map[string]any {
	f.t.Helper()
	out := f.run("approvals", "list", "--json")
	var all []map[string]any
	if err := json.Unmarshal([]byte(out.stdout), &all); err != nil {
		f.t.Fatalf("%v in %s%s", err, out.stdout, out.stderr)
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	f.t.Fatalf("%d wait", len(all))
	return nil
}

// waiting waits until an approval does.
func (f *folder) waiting() (id string, listed map[string]any) {
	f.t.Helper()
	eventually(f.t, "a call waits for approval", func() bool {
		listed = f.pending()
		return listed != nil
	})
	id, _ = listed["id"].(string)
	return id, listed
}

func (f *folder) decides(verb, id, reason string) {
	f.t.Helper()
	if out := f.run("approvals", verb, id, "--reason", reason); out.code != 0 {
		f.t.Fatalf("%s: %d %s%s", verb, out.code, out.stdout, out.stderr)
	}
}

func refundOf(amount int) []byte {
	return fmt.Appendf(nil, `{"customer":"Ada","amount":%d,"iban":"DE02120300000000202051"}`, amount)
}

// asks makes a call that may wait.
func (s *server) asks(tool string, arguments []byte) <-chan *reply {
	said := make(chan *reply, 1)
	go func() {
		r, err := s.send(tool, arguments)
		if err != nil {
			r = &reply{Failed: true, refused: err.Error()}
		}
		said <- r
	}()
	return said
}

func answered(t *testing.T, said <-chan *reply) *reply {
	t.Helper()
	select {
	case r := <-said:
		return r
	case <-time.After(maxWait):
		t.Fatal("the call is not answered")
	}
	return nil
}

func TestALargeRefundWaitsForAnOperator(t *testing.T) {
	t.Parallel()
	f, told := refundShop(t)
	s := f.serve()
	if r := s.call("refund", json.RawMessage(refundOf(20))); r.Failed || f.paid() != "20.0" {
		t.Fatalf("a small one: %s, paid %s", r.text(), f.paid())
	}
	told.hear(t, `{"type":"tool_result"`, `"tool":"refund"`)
	told.hear(t, `{"type":"tool_result"`, `"count":1}`)
	said := s.asks("refund", refundOf(500))
	id, listed := f.waiting()
	told.hear(t, `{"type":"approval.requested"`, id)
	if f.paid() != "20.0" {
		t.Error("it is paid before it is approved")
	}
	for key, want := range map[string]string{"message": "Refund 500 euros to Ada.", "tool": "refund", "effect": "INSERT INTO refunds"} {
		if got, _ := listed[key].(string); !strings.Contains(got, want) {
			t.Errorf("%s is %q", key, got)
		}
	}
	shown := f.run("approvals", "show", id)
	if !strings.Contains(shown.stdout, "INSERT INTO refunds") || !strings.Contains(shown.stdout, "500") || strings.Contains(shown.stdout, "DE02120300000000202051") {
		t.Errorf("shown is %s%s", shown.stdout, shown.stderr)
	}
	if !strings.Contains(shown.stdout, "before: earlier, read ") || !strings.Contains(shown.stdout, `"amount": 20`) {
		t.Errorf("the state before is shown as %s", shown.stdout)
	}
	digest, _ := listed["digest"].(string)
	if r := s.call("refund", json.RawMessage(refundOf(30))); r.Failed {
		t.Fatal(r.text())
	}
	shown = f.run("approvals", "show", id, "--again")
	if !strings.Contains(shown.stdout, `"amount": 30`) {
		t.Errorf("looking again shows %s%s", shown.stdout, shown.stderr)
	}
	if out := f.run("approvals", "approve", id, "--digest", digest); out.code != 1 || !strings.Contains(out.stderr, "shows something else") {
		t.Errorf("what was seen before is approved: %d %s%s", out.code, out.stdout, out.stderr)
	}
	f.decides("approve", id, "he called")
	told.hear(t, `{"type":"approval.decided"`, "he called")
	if r := answered(t, said); r.Failed || r.text() != "Refunded 500 euros to Ada." || f.paid() != "20.0 30.0 500.0" {
		t.Errorf("%s, paid %s", r.text(), f.paid())
	}

	said = s.asks("refund", refundOf(500))
	again, _ := f.waiting()
	if again == id {
		t.Error("an approval counts twice")
	}
	f.decides("reject", again, "he was paid already")
	if r := answered(t, said); !r.Failed || !strings.Contains(r.text(), "he was paid already") || f.paid() != "20.0 30.0 500.0" {
		t.Errorf("%s, paid %s", r.text(), f.paid())
	}
}

func TestRefundsAreServedAtOnceAndTellNobody(t *testing.T) {
	t.Parallel()
	f, told := refundShop(t)
	url, secret := f.env[0], f.env[1]
	for _, c := range []struct {
		name string
		env  []string
		code int
		says string
	}{
		{"nothing is said of a webhook", nil, 0, "webhook \"ops\" is disabled"},
		{"nothing is said of where it is", []string{secret}, 0, "webhook \"ops\" is disabled"},
		{"nothing is said of its secret", []string{url}, 1, "Missing webhook secret"},
		{"all is said", []string{url, secret}, 0, "3 tools"},
	} {
		checked := (&folder{t: t, path: f.path, env: c.env}).run("validate")
		if checked.code != c.code || !strings.Contains(checked.stdout, c.says) || c.name == "all is said" && strings.Contains(checked.stdout, "is disabled") {
			t.Errorf("%s: %d %s%s", c.name, checked.code, checked.stdout, checked.stderr)
		}
	}
	f.env = nil
	s := f.serve()
	said := s.asks("refund", refundOf(500))
	id, _ := f.waiting()
	f.decides("approve", id, "")
	if r := answered(t, said); r.Failed || f.paid() != "500.0" {
		t.Errorf("%s, paid %s", r.text(), f.paid())
	}
	told.mu.Lock()
	defer told.mu.Unlock()
	if len(told.got) > 0 {
		t.Errorf("told %v", told.got)
	}
}

func TestAnOperatorWhoCallsIsAskedAtOnce(t *testing.T) {
	t.Parallel()
	f, _ := refundShop(t)
	arguments := string(refundOf(700))
	if out := f.byHand("refund", arguments); out.code == 0 || !strings.Contains(out.stderr, "--approve") || !strings.Contains(out.stderr, "Refund 700") {
		t.Errorf("without a terminal: %d %s", out.code, out.stderr)
	}
	if out := f.byHand("refund", arguments, "--dry-run"); out.code != 0 || !strings.Contains(out.stdout, "needs the approval of an operator (tool.refund.approval): Refund 700 euros to Ada.") {
		t.Errorf("a plan: %d %s%s", out.code, out.stdout, out.stderr)
	}
	if out := f.byHand("refund", arguments, "--approve"); out.code != 0 || f.paid() != "700.0" {
		t.Errorf("beforehand: %d %s%s", out.code, out.stdout, out.stderr)
	}
	if out := f.byHand("forget_customer", "--arg", "customer=Ada", "--approve"); out.code != 0 || f.paid() != "" {
		t.Errorf("beforehand: %d %s%s", out.code, out.stdout, out.stderr)
	}
	f.args = nil
	if out := f.run("policy", "explain", ".", "--tool", "refund", "--args", arguments); out.code != 0 || !strings.HasPrefix(out.stdout, "tool refund: approve by tool.refund.approval\n") {
		t.Errorf("explained: %d %s%s", out.code, out.stdout, out.stderr)
	}
	if out := f.run("policy", "explain", ".", "--tool", "refund", "--args", string(refundOf(7))); out.code != 0 || !strings.HasPrefix(out.stdout, "tool refund: allowed by default\n") {
		t.Errorf("explained: %d %s%s", out.code, out.stdout, out.stderr)
	}
}

func TestTheUserOfTheOfficialClientAgrees(t *testing.T) {
	t.Parallel()
	for name, dial := range dialled {
		for _, era := range eras {
			for _, yes := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/%t", name, era, yes), func(t *testing.T) {
					t.Parallel()
					f, _ := refundShop(t)
					if out := f.byHand("refund", string(refundOf(7))); out.code != 0 {
						t.Fatal(out.stderr)
					}
					var mu sync.Mutex
					asked := ""
					session, err := sdk.NewClient(&sdk.Implementation{Name: "examples", Version: "1"}, &sdk.ClientOptions{
						ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
							mu.Lock()
							defer mu.Unlock()
							asked = r.Params.Message
							return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": yes}}, nil
						},
					}).Connect(t.Context(), dial(f), &sdk.ClientSessionOptions{ProtocolVersion: era})
					if err != nil {
						t.Fatal(err)
					}
					defer session.Close()
					r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "forget_customer", Arguments: map[string]any{"customer": "Ada"}})
					if err != nil {
						t.Fatal(err)
					}
					mu.Lock()
					defer mu.Unlock()
					if !strings.Contains(asked, "Delete all data about Ada?") || !strings.Contains(asked, "DELETE FROM refunds") {
						t.Errorf("asked %q", asked)
					}
					if r.IsError == yes || (f.paid() == "") != yes {
						t.Errorf("%s, left is %s", said(r), f.paid())
					}
				})
			}
		}
	}
}

// A server that is killed at any moment pays nothing twice, and uses no approval twice: while it waits, right after the approval, and while it pays.
func TestAServerThatIsKilledPaysNothingTwice(t *testing.T) {
	t.Parallel()
	f, _ := refundShop(t)
	s := f.serve()
	const rounds = 8
	for n := range rounds {
		said := s.asks("refund", refundOf(1000+n))
		id, _ := f.waiting()
		if n%2 == 0 { // while it waits
			s.kill()
			answered(t, said)
			f.decides("approve", id, "")
		} else { // right after the approval
			f.decides("approve", id, "")
			s.kill()
			answered(t, said)
		}
		s = f.serve()
		if count := strings.Count(f.paid(), fmt.Sprintf("%d.0", 1000+n)); count > 1 || n%2 == 0 && count > 0 {
			t.Fatalf("paid %s", f.paid())
		}
		before := f.paid()
		said = s.asks("refund", refundOf(1000+n))
		if n%2 == 0 {
			// Nobody is asked again: what was approved while there was no server is used.
			if r := answered(t, said); r.Failed {
				t.Errorf("after %s: %s", before, r.text())
			}
			continue
		}
		// It was used and the money paid, or it was used and lost, so that the call waits again, or it is still there to be used.
		var answer *reply
		again := ""
		eventually(t, "the call is answered, or waits again", func() bool {
			select {
			case answer = <-said:
			default:
				again, _ = f.pending()["id"].(string)
			}
			return answer != nil || again != ""
		})
		if answer == nil {
			f.decides("reject", again, "")
			answered(t, said)
			if again == id {
				t.Error("it waits for what was decided")
			}
		} else if answer.Failed || strings.Count(f.paid(), fmt.Sprintf("%d.0", 1000+n)) != 1 {
			t.Errorf("%s, paid %s", answer.text(), f.paid())
		}
		if count := strings.Count(f.paid(), fmt.Sprintf("%d.0", 1000+n)); count > 1 {
			t.Fatalf("paid %s", f.paid())
		}
	}
}

func TestAServerThatIsStoppedWaitsForNoOperator(t *testing.T) {
	t.Parallel()
	f, _ := refundShop(t)
	s := f.serve()
	said := s.asks("refund", refundOf(900))
	id, _ := f.waiting()
	began := time.Now()
	syscall.Kill(s.pid, syscall.SIGTERM)
	if r := answered(t, said); !r.Failed || !strings.Contains(r.text(), "shutting down") || time.Since(began) > 25*time.Second { // calls have 30 s to end
		t.Errorf("after %v: %s", time.Since(began), r.text())
	}
	f.decides("approve", id, "")
	if r := f.serve().call("refund", json.RawMessage(refundOf(900))); r.Failed || f.paid() != "900.0" {
		t.Errorf("%s, paid %s", r.text(), f.paid())
	}
}
