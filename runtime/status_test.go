package runtime

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/hcl/schema"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/durable/store"
)

const offered = `
tool "t" {
  description = "A tool."
  text        = "x"
}
prompt "p" {
  description = "A prompt."
  message "user" { text = "x" }
}
prompt "q" {
  description = "A prompt."
  message "user" { text = "x" }
}
resource "r" {
  uri  = "doc://r"
  text = "x"
}
resource "f" {
  uri_template = "doc://{x}"
  text         = "${input.x}"
}
toolset "s" { tools = ["t"] }
`

func TestAReportNamesAllThatAConfigurationOffers(t *testing.T) {
	needsOwnNames(t, "the test looks at all blocks of a configuration")
	h := newHost(t, offered)
	if got := h.Status().Last.Added; !slices.Equal(got, []string{"t", "prompt p", "prompt q", "resource f", "resource r", "toolset s"}) {
		t.Errorf("added %q", got)
	}
	r := readinessOf(t, h)
	if r.Tools != 1 || r.Prompts != 2 || r.Resources != 2 {
		t.Errorf("ready with %d tools, %d prompts and %d resources", r.Tools, r.Prompts, r.Resources)
	}
	changed := strings.NewReplacer(
		`prompt "q"`, `prompt "new"`, `"doc://r"`, `"doc://other"`, `toolset "s" { tools = ["t"] }`, "# moved\n\ntoolset \"s\" { prompts = [\"p\"] }",
	).Replace(offered)
	load(t, h, changed)
	last := h.Status().Last
	for _, c := range []struct {
		what      string
		got, want []string
	}{
		{"added", last.Added, []string{"prompt new"}},
		{"changed", last.Changed, []string{"resource r", "toolset s"}},
		{"removed", last.Removed, []string{"prompt q"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s %q, want %q", c.what, c.got, c.want)
		}
	}
	if last.Unchanged != 3 {
		t.Errorf("%d are unchanged", last.Unchanged)
	}
	load(t, h, "# a line above\n"+changed)
	if last := h.Status().Last; len(last.Changed) != 0 || last.Unchanged != 6 {
		t.Errorf("where things stand is taken for what they are: %+v", last)
	}
	if diags := h.Load(t.Context(), fileSystem("tool {")); !diags.HasErrors() || h.Status().Last.Unchanged != 6 {
		t.Errorf("a failed load reports %+v", h.Status().Last)
	}
}

func TestWhatPromptsAndResourcesSendIsProbedToo(t *testing.T) {
	w := newFakeBackend()
	w.probe = func() (*schema.Type, error) { return nil, errors.New("there is no such table") }
	h := newHost(t, `prompt "p" {
  description = "A prompt."
  fake { value = 1 }
  message "user" { text = "x" }
}
resource "r" {
  uri_template = "doc://{x}"
  input "x" {
    type = string
    complete {
      fake { value = [input.x] }
    }
  }
  fake { value = input.x }
}`, w.use)
	got := printDiagnostics(h.Current().Probe(t.Context()))
	for _, line := range []string{"tools.hcl:3:3", "tools.hcl:11:7", "tools.hcl:14:3"} {
		if !strings.Contains(got, line+": error: Backend refused") {
			t.Errorf("nothing is said of %s:\n%s", line, got)
		}
	}
}

// silentStore is a remote store that does not answer.
type silentStore struct{ state.Store }

var _ state.RemoteStore = silentStore{}

func (silentStore) Ping(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

func (silentStore) Versions(context.Context, string, []string) (map[string]int, error) {
	return nil, nil
}

func TestHealthOfWhatDoesNotAnswerIsAskedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		h := newHost(t, "connection \"db\" \"c\" {}\n"+tool("t", keyed+`fake "c" { value = "x" }`), w.use, withStore(t, func(ctx context.Context) (state.Store, error) {
			store, err := state.Open(ctx, path)
			return silentStore{store}, err
		}))
		callAs(t, h, "ann", "t", `{"idempotency_key":"k"}`)
		w.ping = func() error { time.Sleep(store.PingTimeout); return context.DeadlineExceeded }
		began := time.Now()
		r := readinessOf(t, h)
		if took := time.Since(began); took != store.PingTimeout || r.State.OK || r.Connections[0].OK {
			t.Errorf("after %v: %+v %+v", took, r.State, r.Connections)
		}
	})
}

// Who may call what is decided by blocks that no list shows.
func TestAReportNamesTheBlocksThatDecideWhoMayCall(t *testing.T) {
	const before = `
server { name = "a" }
variable "group" {
  type    = string
  default = "staff"
}
policy "p" { allow = "var.group in caller.groups" }
policy "q" { allow = "true" }
tool "t" {
  description = "A tool."
  text        = "x"
}`
	for _, c := range []struct {
		name, old, new          string
		added, removed, changed []string
	}{
		{"a rule", `allow = "true"`, `deny = "true"`, nil, nil, []string{"policy q"}},
		{"a value that a rule reads", `"staff"`, `"interns"`, nil, nil, []string{"policy p"}},
		{"the server", `name = "a"`, `name = "b"`, nil, nil, []string{"server"}},
		{"a policy fewer", `policy "q" { allow = "true" }`, "", nil, []string{"policy q"}, nil},
		{"a block more", "tool", "toolset \"s\" { tools = [\"t\"] }\ntool", []string{"toolset s"}, nil, nil},
		{"a comment", "tool", "# nothing\ntool", nil, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHost(t, before)
			first := h.Status().Last.Revision
			load(t, h, strings.Replace(before, c.old, c.new, 1))
			got := h.Status().Last
			if !slices.Equal(got.Added, c.added) || !slices.Equal(got.Removed, c.removed) || !slices.Equal(got.Changed, c.changed) {
				t.Errorf("got %+v", got.Change)
			}
			if since, known := h.ChangeSince(first); !known || !slices.Equal(since.Changed, c.changed) {
				t.Errorf("since %s: %+v, %t", first, since, known)
			}
		})
	}
}

func TestAReloadIsRecordedWithBothRevisions(t *testing.T) {
	const policy = "policy \"p\" { allow = \"true\" }\n"
	h, path := newAuditedHost(t, policy+tool("t", `text = "x"`))
	first := h.Status().Last.Revision
	const audited = "audit { file = \"audit.jsonl\" }\n"
	load(t, h, audited+policy+tool("t", `text = "x"`)) // nothing has changed
	load(t, h, audited+strings.Replace(policy, "allow", "deny", 1)+tool("t", `text = "x"`)+tool("u", `text = "y"`))
	load(t, h, tool("u", `text = "y"`)) // the log itself is removed
	var got []string
	for _, r := range readRecords(t, path) {
		got = append(got, fmt.Sprint(r.Event, " +", r.Added, " ~", r.Changed, " -", r.Removed))
		if r.Previous != first || r.Revision == first {
			t.Errorf("from %s to %s, served was %s", r.Previous, r.Revision, first)
		}
		first = r.Revision
	}
	if want := []string{"reload +[u] ~[policy p] -[]", "reload +[] ~[] -[t audit policy p]"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestAHostKeepsItsLatestLoads(t *testing.T) {
	h := newHost(t, offered)
	for range 20 {
		load(t, h, offered+"# a comment")
	}
	load(t, h, strings.Replace(offered, `prompt "q"`, `prompt "new"`, 1))
	served := h.Current().Config.ID
	h.Load(t.Context(), fileSystem(offered+"nonsense"))
	loads := h.Status().Loads
	if len(loads) != 20 {
		t.Fatalf("%d loads are kept", len(loads))
	}
	if failed := loads[0]; failed.Result != "failed" || failed.Errors == 0 || failed.Revision != "" || len(failed.Change.Added) > 0 {
		t.Errorf("the load that failed: %+v", failed)
	}
	if ok := loads[1]; ok.Result != "ok" || ok.Revision != served || !slices.Equal(ok.Change.Added, []string{"prompt new"}) ||
		!slices.Equal(ok.Change.Removed, []string{"prompt q"}) {
		t.Errorf("the load before: %+v", ok)
	}
	if !slices.IsSortedFunc(loads, func(a, b Load) int { return b.At.Compare(a.At) }) {
		t.Error("the loads are not in their order")
	}
}

func readinessOf(t *testing.T, h *Host) Readiness {
	t.Helper()
	r, _ := h.Readiness(t.Context())
	return r
}

// A configuration with a warning and one without are loaded in turns. What is read of them is never of two loads.
func TestStatusIsThatOfTheLoadThatIsServed(t *testing.T) {
	const warns = `
tool "t" {
  description = "d"
  input "q" { type = string }
  text = "x"
}
`
	quiet := strings.Replace(warns, `"x"`, `"${input.q}"`, 1)
	h := newHost(t, quiet)
	diagnosticsOf := map[string]int{}
	for _, src := range []string{quiet, warns} {
		load(t, h, src)
		diagnosticsOf[h.Served().Revision] = len(h.Status().Last.Diagnostics)
	}
	if len(diagnosticsOf) != 2 || diagnosticsOf[h.Served().Revision] == 0 {
		t.Fatalf("the configurations have %v diagnostics", diagnosticsOf)
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for _, read := range []func() Readiness{h.Served, func() Readiness { return readinessOf(t, h) }} {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if r := read(); len(r.Diagnostics) != diagnosticsOf[r.Revision] {
					t.Errorf("%s is served, with %d diagnostics in place of %d", r.Revision, len(r.Diagnostics), diagnosticsOf[r.Revision])
					return
				}
			}
		})
	}
	for range 100 {
		load(t, h, quiet)
		load(t, h, warns)
	}
	close(done)
	readers.Wait()
}
