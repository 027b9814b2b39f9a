package runtime

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hatchel/internal/digest"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/stage/approval"
	"hatchel/runtime/stage/idempotency"
)

func TestAKeyIsFreeWhileItsCallWaitsForApproval(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	path := filepath.Join(t.TempDir(), "state.db")
	src := tool("t", keyed+"approval {}\nfake { do = \"count\" }\ntext = \"done ${output.value}\"")
	h := newHost(t, src, w.use, storedIn(t, path))
	approver := newApprover(t, h)
	gone, leave := context.WithCancel(t.Context())
	said := startCallWithContext(gone, t, h, "ann", "t", `{"idempotency_key":"k"}`)
	a := approver.waitForPending(1)[0]
	k := idempotency.New(h.build.State.Keys, digest.Of("idempotency", "t", "ann", "k").String(), "", time.Hour)
	if d, err := k.Find(t.Context()); d != nil || err != nil {
		t.Errorf("something was begun: %v %v", d, err)
	}
	leave()
	<-said
	h.Close() // as a crash would leave it
	h = newHost(t, src, w.use, storedIn(t, path))
	approver = newApprover(t, h)
	var all []<-chan string
	for range 3 {
		all = append(all, startCall(t, h, "ann", "t", `{"idempotency_key":"k"}`))
	}
	if b := approver.waitForPending(1); len(b) != 1 || b[0].ID != a.ID {
		t.Errorf("asked again: %v", b)
	}
	approver.decide(a, true, "")
	for _, said := range all {
		if got := <-said; isRefused(got) || !strings.Contains(got, "done 1") {
			t.Error(got)
		}
	}
	if got := callAs(t, h, "ann", "t", `{"idempotency_key":"k"}`); !strings.Contains(got, "done 1") || count() != 1 {
		t.Errorf("the answer of the key takes an approval: %s", got)
	}
}

func TestWhatNeedsApprovalIsNotAnsweredFromTheCache(t *testing.T) {
	w := newFakeBackend()
	count := w.addCounter()
	h := newHost(t, tool("t", "read_only = true\ninput \"n\" { type = integer }\ninput \"m\" { type = optional(integer) }\ncache {\n  ttl = \"1h\"\n  key = input.n\n}\napproval { when = \"input.m != null\" }\nfake { do = \"count\" }"), w.use)
	approver := newApprover(t, h)
	callAs(t, h, "ann", "t", `{"n":1}`)
	if callAs(t, h, "ann", "t", `{"n":1}`); count() != 1 {
		t.Error("nothing is kept")
	}
	said := startCall(t, h, "ann", "t", `{"n":1,"m":2}`)
	approver.decide(approver.waitForPending(1)[0], true, "")
	if got := <-said; isRefused(got) || count() != 2 {
		t.Errorf("after %d: %s", count(), got)
	}
}

// forgetting is a store that fails to add or to replace approvals.
type forgetting struct {
	state.Store
	adds, replaces error
}

func (f *forgetting) Add(ctx context.Context, r *state.Record) (*state.Record, error) {
	if f.adds != nil && r.Kind == approval.Kind {
		return nil, f.adds
	}
	return f.Store.Add(ctx, r)
}

func (f *forgetting) Replace(ctx context.Context, r *state.Record) (bool, error) {
	if f.replaces != nil && r.Group == string(approval.Used) {
		return false, f.replaces
	}
	return f.Store.Replace(ctx, r)
}

func TestWhatCannotBeRememberedIsNotApproved(t *testing.T) {
	for claim, c := range map[string]struct {
		store *forgetting
		want  string
	}{
		"a store that is full":             {&forgetting{adds: state.ErrFull}, "no room for another one"},
		"a store that is away":             {&forgetting{adds: state.ErrUnavailable}, "try again in a moment"},
		"a store that goes away meanwhile": {&forgetting{replaces: state.ErrUnavailable}, "try again in a moment"},
	} {
		t.Run(claim, func(t *testing.T) {
			w := newFakeBackend()
			count := w.addCounter()
			s := withStore(t, func(ctx context.Context) (_ state.Store, err error) {
				c.store.Store, err = state.Open(ctx, "")
				return c.store, err
			})
			h := newHost(t, tool("t", "approval {}\nfake { do = \"count\" }"), w.use, s)
			said := startCall(t, h, "ann", "t", `{}`)
			if c.store.adds == nil {
				newApprover(t, h).decide(newApprover(t, h).waitForPending(1)[0], true, "")
			}
			if got := <-said; !isRefused(got) || !strings.Contains(got, c.want) || count() != 0 {
				t.Errorf("after %d: %s", count(), got)
			}
		})
	}
}

func TestWebhooksAreToldOnceThatAnOperatorIsAsked(t *testing.T) {
	got := make(chan string, 10)
	service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
	}))
	defer service.Close()
	w := newFakeBackend()
	w.addCounter()
	h := newHost(t, fmt.Sprintf("secret \"ops\" { env = \"OPS\" }\nwebhook \"ops\" {\n  url    = %q\n  secret = secret.ops\n}\n", service.URL)+
		tool("t", "input \"pin\" {\n  type      = string\n  sensitive = true\n}\napproval {\n  message = \"Really? ${input.pin}\"\n  notify  = [\"ops\"]\n}\nfake { do = \"count\" }\ntext = input.pin"), w.use)
	approver := newApprover(t, h)
	ctx, leave := context.WithCancel(t.Context())
	first, second := startCallWithContext(ctx, t, h, "ann", "t", `{"pin":"12345678"}`), startCallWithContext(ctx, t, h, "ann", "t", `{"pin":"12345678"}`)
	a := approver.waitForPending(1)[0]
	var body string
	select {
	case body = <-got:
	case <-time.After(maxWait):
		t.Fatal("nobody was told")
	}
	for _, want := range []string{`"approval.requested"`, a.ID, `Really? (secret)`, `"ann"`, `"until"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	if strings.Contains(body, "12345678") {
		t.Errorf("told %s", body)
	}
	leave()
	<-first
	<-second
	if len(got) > 0 {
		t.Errorf("told again: %s", <-got)
	}
}
