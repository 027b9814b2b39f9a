package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/hcl/schema"
	"hatchel/runtime/call"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/load/source"
)

func tool(name, body string) string {
	return fmt.Sprintf("tool %q {\ndescription = \"A tool.\"\n%s\n}\n", name, body)
}

func TestFailedLoadChangesNothing(t *testing.T) {
	w := newFakeBackend()
	h := newHost(t, tool("t", `fake { do = "one" }`), w.use)
	before, list := h.Current(), h.List(t.Context(), &mcp.Caller{}, mcp.Tools)
	told := 0
	h.SetNotifier(audience(func() { told++ }))
	w.takeJournal()
	for name, src := range map[string]string{
		"syntax":     `tool "t" {`,
		"meaning":    tool("u", `text = "${input.x}"`),
		"backend":    tool("a", `fake { do = "a" }`) + tool("b", "fake {\ndo = \"b\"\nrefuse = true\n}") + tool("c", "fake {\ndo = \"c\"\nrefuse = true\n}"),
		"connection": `connection "db" "x" { name = "broken" }` + "\n" + tool("a", `fake "x" { do = "a" }`),
	} {
		diags := h.Load(t.Context(), fileSystem(src))
		if !diags.HasErrors() {
			t.Fatalf("%s was loaded", name)
		}
		if name == "backend" {
			if n, _ := diags.Counts(); n != 2 {
				t.Errorf("not all refusals are reported: %s", printDiagnostics(diags))
			}
			if j := w.takeJournal(); !slices.Equal(j, []string{"bind a", "undo a"}) {
				t.Errorf("journal %q", j)
			}
		}
		if h.Current() != before || h.List(t.Context(), &mcp.Caller{}, mcp.Tools) != list || told != 0 {
			t.Errorf("%s changed something", name)
		}
		if s := h.Status(); s.Last.OK || len(s.Last.Diagnostics) == 0 || s.Last.Revision != before.Config.ID || s.Loaded.IsZero() {
			t.Errorf("%s: status %+v", name, s)
		}
		r := readinessOf(t, h)
		if !r.Ready || !r.Stale || r.Tools != 1 {
			t.Errorf("%s: readiness %+v", name, r)
		}
	}
	if j := w.takeJournal(); len(j) != 0 {
		t.Errorf("journal %q", j)
	}
}

func TestReportNamesWhatDiffers(t *testing.T) {
	needsOwnNames(t, "the test looks at all blocks of a configuration")
	h := newHost(t, tool("a", `text = "1"`)+tool("b", `text = "1"`)+tool("c", `text = "1"`))
	load(t, h, tool("a", `text = "1"`)+tool("b", `text = "2"`)+tool("d", `text = "1"`))
	r := h.Status().Last
	if !slices.Equal(r.Added, []string{"d"}) || !slices.Equal(r.Removed, []string{"c"}) || !slices.Equal(r.Changed, []string{"b"}) || r.Unchanged != 1 || !r.OK {
		t.Errorf("%+v", r)
	}
}

func TestClientsAreToldOnlyWhenTheListReadsDifferently(t *testing.T) {
	h := newHost(t, tool("a", `text = "1"`))
	told := 0
	h.SetNotifier(audience(func() { told++ }))
	load(t, h, tool("a", `text = "2"`))
	if told != 0 {
		t.Error("told of a change that the list does not show")
	}
	load(t, h, tool("a", `text = "2"`)+tool("b", `text = "2"`))
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

func TestRetiredGenerationAdmitsNoCall(t *testing.T) {
	h := newHost(t, tool("t", `text = "1"`))
	old := h.Current()
	load(t, h, tool("t", `text = "2"`))
	h.retiring.Wait()
	if old.enter() {
		t.Error("a retired generation admitted a call")
	}
	if g := h.pin(); g == old || g == nil {
		t.Error("the host did not pin the current generation")
	} else {
		g.leave()
	}
}

func TestClosedHostAdmitsNoCall(t *testing.T) {
	w := newFakeBackend()
	h := newHost(t, tool("t", `fake { do = "one" }`), w.use)
	h.Close()
	h.Close()
	if got := callTool(t, h, "t", `{}`); !strings.Contains(got, "shutting down") {
		t.Errorf("got %s", got)
	}
	if j := w.takeJournal(); !slices.Equal(j, []string{"bind one", "undo one"}) {
		t.Errorf("journal %q", j)
	}
	if diags := h.Load(t.Context(), fileSystem(tool("t", `text = "2"`))); diags != nil || len(h.Current().Sorted) != 1 || h.Current().enter() {
		t.Error("a closed host loaded something")
	}
}

func TestCallsEndOnTheGenerationTheyBeganWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		release := make(chan struct{})
		w.do["held"] = func(context.Context, *adapters.Call) (any, error) { <-release; return "old", nil }
		h := newHost(t, tool("t", `fake { do = "held" }`), w.use)
		got := make(chan string, 1)
		go func() { got <- callTool(t, h, "t", `{}`) }()
		synctest.Wait()
		load(t, h, tool("t", `fake { value = "new" }`))
		if now := callTool(t, h, "t", `{}`); !strings.Contains(now, "new") {
			t.Errorf("a call that began later got %s", now)
		}
		synctest.Wait()
		if j := w.takeJournal(); slices.Contains(j, "undo held") {
			t.Error("a backend was closed under a call")
		}
		close(release)
		if old := <-got; !strings.Contains(old, "old") {
			t.Errorf("the call that began before got %s", old)
		}
		h.Close()
		if j := w.takeJournal(); len(j) != 2 || !slices.Contains(j, "undo held") {
			t.Errorf("journal %q", j)
		}
	})
}

func TestCallsOfAReplacedConfigurationAreCancelledAfterTheGracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, tool("t", `fake { do = "waits" }`))
		began := time.Now()
		got := make(chan string, 1)
		go func() { got <- callTool(t, h, "t", `{}`) }()
		synctest.Wait()
		load(t, h, tool("t", `text = "2"`))
		if said := <-got; !strings.Contains(said, "configuration was replaced") || time.Since(began) != 10*time.Second {
			t.Errorf("after %v: %s", time.Since(began), said)
		}
		h.Close()
	})
}

func TestComputationEndsWithItsGeneration(t *testing.T) {
	h := newHost(t, tool("t", `result = "len(filter(1..200000, # % 7 == 3))"`))
	h.Current().cancel(call.ErrReplaced)
	if said := callTool(t, h, "t", `{}`); !strings.Contains(said, "configuration was replaced") {
		t.Errorf("got %s", said)
	}
}

func TestCallThatIgnoresItsCancellationDoesNotHoldUpTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		release := make(chan struct{})
		w.do["deaf"] = func(context.Context, *adapters.Call) (any, error) { <-release; return nil, nil }
		h := newHost(t, tool("t", `fake { do = "deaf" }`), w.use)
		done := make(chan struct{})
		go func() { callTool(t, h, "t", `{}`); close(done) }()
		synctest.Wait()
		h.Close()
		if j := w.takeJournal(); !slices.Contains(j, "undo deaf") {
			t.Errorf("journal %q", j)
		}
		close(release)
		<-done
	})
}

func TestUnchangedConnectionsSurviveAndRemovedOnesClose(t *testing.T) {
	w := newFakeBackend()
	db := func(label, name string) string {
		return fmt.Sprintf("connection \"db\" %q { name = %q }\n", label, name)
	}
	use := func(label string) string { return tool("use_"+label, fmt.Sprintf("fake %q { value = 1 }", label)) }
	h := newHost(t, db("x", "x1")+db("y", "y1")+use("x")+use("y"), w.use)
	if j := w.takeJournal(); !slices.Equal(j, []string{"open x1", "open y1", "bind ", "bind "}) {
		t.Fatalf("journal %q", j)
	}
	load(t, h, db("x", "x1")+db("y", "y2")+use("x")+use("y"))
	h.retiring.Wait()
	if j := w.takeJournal(); !slices.Equal(j, []string{"open y2", "bind ", "bind ", "undo ", "undo ", "close y1"}) {
		t.Errorf("journal %q", j)
	}
	load(t, h, db("y", "y2")+use("y"))
	h.retiring.Wait()
	if j := w.takeJournal(); !slices.Equal(j, []string{"bind ", "undo ", "undo ", "close x1"}) {
		t.Errorf("journal %q", j)
	}
	// A load that fails gives back what it had taken, and closes only what it had opened.
	if !h.Load(t.Context(), fileSystem(db("y", "y2")+db("z", "z1")+use("y")+tool("z", "fake \"z\" {\nvalue = 1\nrefuse = true\n}"))).HasErrors() {
		t.Fatal("loaded")
	}
	if j := w.takeJournal(); !slices.Equal(j, []string{"open z1", "bind ", "undo ", "close z1"}) {
		t.Errorf("journal %q", j)
	}
	h.Close()
	if j := w.takeJournal(); !slices.Equal(j, []string{"undo ", "close y2"}) || len(h.build.Connections.open) != 0 {
		t.Errorf("journal %q", j)
	}
}

func TestRowsAreLearnedWhenTheDatabaseAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		var mu sync.Mutex
		down := true
		w.ping = func() error {
			mu.Lock()
			defer mu.Unlock()
			if down {
				return errors.New("connection refused")
			}
			return nil
		}
		probed := 0
		w.probe = func() (*schema.Type, error) {
			probed++
			return schema.ListOf(schema.ObjectOf(&schema.Member{Name: "id", Type: &schema.Type{Kind: schema.Integer}})), nil
		}
		src := `connection "db" "x" { name = "x" }` + "\n" + tool("t", "fake \"x\" {\nrows = true\nvalue = []\n}")
		h := newHost(t, src, w.use)
		told := make(chan struct{}, 10)
		h.SetNotifier(audience(func() { told <- struct{}{} }))
		if list := listedTools(h); strings.Contains(list, `"id"`) || !strings.Contains(list, `"outputSchema"`) {
			t.Errorf("list %s", list)
		}
		if r := readinessOf(t, h); !r.Ready || len(r.Connections) != 1 || r.Connections[0].OK {
			t.Errorf("readiness %+v", r)
		}
		mu.Lock()
		down = false
		mu.Unlock()
		<-told
		if list := listedTools(h); !strings.Contains(list, `"id":{"type":"integer"}`) {
			t.Errorf("list %s", list)
		}
		// What is known of a tool that did not change is not asked again, and clients are told nothing.
		load(t, h, src+tool("other", `text = "x"`))
		<-told
		load(t, h, src+tool("other", `text = "y"`))
		synctest.Wait()
		if probed != 1 || len(told) != 0 {
			t.Errorf("probed %d times, told %d times too often", probed, len(told))
		}
		h.Close()
	})
}

func listedTools(h *Host) string {
	return string(h.Current().List(mcp.Tools).AppendResult(nil, mcp.Revision20260728))
}

func TestProbeReportsWhatTheOtherSideRefuses(t *testing.T) {
	w := newFakeBackend()
	w.probe = func() (*schema.Type, error) { return nil, errors.New("there is no table \"orders\"") }
	h := newHost(t, tool("t", `fake { value = 1 }`), w.use)
	diags := h.Current().Probe(t.Context())
	if got := printDiagnostics(diags); got != "tools.hcl:3:1: error: Backend refused\n     = there is no table \"orders\"\n" {
		t.Errorf("got %s", got)
	}
	w.ping = func() error { return errors.New("nobody listens") }
	load(t, h, `connection "db" "x" { name = "x" }`+"\n"+tool("t", `fake "x" { value = 1 }`))
	diags = h.Current().Probe(t.Context())
	if got := printDiagnostics(diags); got != "tools.hcl:1:1: error: Connection failed\n     = nobody listens\n" {
		t.Errorf("got %s", got)
	}
}

// The fake backend refuses each block whose `do` begins with "refused".
func TestRefusedStatementHoldsTheReloadThatAddsIt(t *testing.T) {
	const db = "connection \"db\" \"x\" { name = \"x\" }\n"
	refused := tool("r", `fake "x" { do = "refused" }`)
	for _, c := range []struct {
		name, before, after string
		held                bool
	}{
		{"a new tool", db + tool("t", `text = "1"`), db + refused, true},
		{"a changed statement", db + tool("r", `fake "x" { do = "one" }`), db + refused, true},
		{"one that was refused before, and changed", db + tool("r", `fake "x" { do = "refused too" }`), db + refused, true},
		{"the same for another connection", db + refused, db + refused + "connection \"db\" \"y\" { name = \"y\" }\n" + tool("s", `fake "y" { do = "refused" }`), true},
		{"a tool that did not change", db + refused, db + refused + tool("t", `text = "1"`), false},
		{"a tool that says the same otherwise", db + refused, db + strings.Replace(refused, "A tool.", "Another.", 1), false},
		{"another tool that says the same", db + refused, db + refused + tool("s", `fake "x" { do = "refused" }`), false},
		{"a connection that has refused it before", db + refused, strings.Replace(db, `= "x"`, `= "y"`, 1) + refused, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFakeBackend()
			h := newHost(t, c.before, w.use)
			before := h.Current()
			diags := h.Load(t.Context(), fileSystem(c.after))
			if last := h.Status().Last; last.Held != c.held || diags.HasErrors() != c.held || (h.Current() == before) != c.held {
				t.Errorf("held is %t: %s", last.Held, printDiagnostics(diags))
			}
		})
	}
}

// A state that is declared by a configuration that is held is not the one of what is served.
func TestHeldReloadOpensNoState(t *testing.T) {
	opened := 0
	h := newHost(t, tool("t", `text = "1"`), withStore(t, func(ctx context.Context) (state.Store, error) {
		opened++
		return state.Open(ctx, "")
	}))
	h.Load(t.Context(), fileSystem(tool("t", "task { mode = \"required\" }\nfake { do = \"refused\" }")))
	if !h.Status().Last.Held || opened != 0 {
		t.Errorf("opened %d times, %+v", opened, h.Status().Last)
	}
}

func TestRefusedStatementIsReportedUntilItIsAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, log := newFakeBackend(), new(strings.Builder)
		var mu sync.Mutex
		accepted := false
		w.probe = func() (*schema.Type, error) {
			mu.Lock()
			defer mu.Unlock()
			if accepted {
				return nil, nil
			}
			return nil, &adapters.RefusedError{Statements: []string{"x"}, Errs: []error{errors.New("there is no table x")}}
		}
		src := tool("t", `fake { do = "x" }`)
		h := newHost(t, src, w.use, logTo(log, slog.LevelInfo))
		load(t, h, src+tool("other", `text = "x"`))
		time.Sleep(time.Hour)
		if r := readinessOf(t, h); r.Stale || printDiagnostics(r.Refused) != "tools.hcl:3:1: error: Backend refused\n     = there is no table x\n" {
			t.Errorf("readiness %+v", r)
		}
		mu.Lock()
		accepted = true
		mu.Unlock()
		time.Sleep(30 * time.Second) // the longest pause between two probes
		if r := readinessOf(t, h); len(r.Refused) != 0 {
			t.Errorf("reported although it is accepted: %s", printDiagnostics(r.Refused))
		}
		h.Close()
		if n := strings.Count(log.String(), "backend probe failed"); n != 1 || strings.Count(log.String(), "backend probe succeeded") != 1 {
			t.Errorf("the log is\n%s", log)
		}
	})
}

func TestEngineThatDoesNotAnswerHoldsNoReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		answer := make(chan struct{})
		w.ping = func() error { <-answer; return nil }
		h := newHost(t, tool("t", `text = "1"`), w.use)
		began := time.Now()
		load(t, h, "connection \"db\" \"x\" { name = \"x\" }\n"+tool("t", `fake "x" { do = "refused" }`))
		if waited := time.Since(began); waited != maxReloadWait {
			t.Errorf("the reload took %s", waited)
		}
		close(answer)
		h.Close()
	})
}

// A store that is opened by a load holds neither calls nor health.
func TestNothingWaitsForALoadThatOpensTheState(t *testing.T) {
	opening, release := make(chan struct{}), make(chan struct{})
	h := newHost(t, tool("t", `text = "1"`), withStore(t, func(ctx context.Context) (state.Store, error) {
		close(opening)
		<-release
		return state.Open(ctx, "")
	}))
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		h.Load(t.Context(), fileSystem(tool("t", task1h+"text = \"2\"")))
	}()
	<-opening
	if r := readinessOf(t, h); !r.Ready || r.Stale {
		t.Errorf("readiness %+v", r)
	}
	if got := callTool(t, h, "t", `{}`); !strings.Contains(got, `"text":"1"`) {
		t.Errorf("got %s", got)
	}
	close(release)
	<-loaded
}

func TestRetiredGenerationIsKeptForACallThatNoLongerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeBackend()
		h := newHost(t, tool("t", `fake { do = "one" }`), w.use)
		old := h.Current()
		if !old.enter() {
			t.Fatal("the call was not admitted")
		}
		old.Pin()
		load(t, h, tool("t", `text = "2"`))
		time.Sleep(time.Hour)
		old.Unpin()
		synctest.Wait()
		if j := w.takeJournal(); slices.Contains(j, "undo one") {
			t.Error("a backend was closed under a call")
		}
		old.leave()
		synctest.Wait()
		if j := w.takeJournal(); !slices.Equal(j, []string{"undo one"}) {
			t.Errorf("journal %q", j)
		}
		h.Close()
	})
}

func TestFiveHundredReloadsLeakNothing(t *testing.T) {
	w := newFakeBackend()
	h := newHost(t, tool("t", `fake { value = 0 }`), w.use)
	step := func(i int) {
		load(t, h, fmt.Sprintf("connection \"db\" \"x\" { name = \"x%d\" }\n", i%7)+tool("t", fmt.Sprintf("fake \"x\" { value = %d }", i)))
		if got := callTool(t, h, "t", `{}`); !strings.Contains(got, fmt.Sprintf(`"text":"%d"`, i)) {
			t.Fatalf("after reload %d: %s", i, got)
		}
	}
	step(0)
	h.AwaitRetired()
	const reloads, slack = 500, 50 // a leak is at least one for every reload
	before := goruntime.NumGoroutine()
	for i := range reloads {
		step(i)
	}
	h.AwaitRetired()
	limit := time.NewTimer(reloadTime)
	defer limit.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for over := false; goruntime.NumGoroutine() > before+slack && !over; { // a goroutine that is done may take a moment to be gone
		select {
		case <-tick.C:
		case <-limit.C:
			over = true
			t.Errorf("%d goroutines before, %d after", before, goruntime.NumGoroutine())
		}
	}
	if n := len(h.build.Connections.open); n != 1 {
		t.Errorf("%d connections are open", n)
	}
	h.Close()
	opened, closed := 0, 0
	for _, line := range w.takeJournal() {
		switch strings.Fields(line)[0] {
		case "open", "bind":
			opened++
		case "close", "undo":
			closed++
		}
	}
	if opened != closed {
		t.Errorf("opened %d, closed %d", opened, closed)
	}
}

// Eight clients call while the files change under the server in every way that files change.
func TestNoCallFailsWhileFilesChange(t *testing.T) {
	dir := t.TempDir()
	folder, err := source.NewFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("stays.hcl", tool("stays", `text = "here"`))
	h := newHost(t, "", inDir(dir))
	loads := make(chan struct{}, 1000)
	reload := func() {
		files, err := folder.Snapshot(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		h.Load(t.Context(), files)
		loads <- struct{}{}
	}
	reload()
	<-loads
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { folder.Watch(ctx, reload) })
	for range 8 {
		running.Go(func() {
			for ctx.Err() == nil {
				if got := callTool(t, h, "stays", `{}`); got != `{"content":[{"type":"text","text":"here"}]}` {
					t.Errorf("got %s", got)
					return
				}
				goruntime.Gosched()
			}
		})
	}
	until := func(what string, holds func() bool) {
		t.Helper()
		limit := time.NewTimer(reloadTime)
		defer limit.Stop()
		for !holds() {
			select {
			case <-loads:
			case <-limit.C:
				t.Fatalf("not seen: %s", what)
			}
		}
	}
	has := func(name, text string) func() bool {
		return func() bool { return strings.Contains(callTool(t, h, name, `{}`), text) }
	}
	for i := range 20 {
		write("sub/many.hcl", tool("many", fmt.Sprintf(`text = "version %d"`, i)))
	}
	until("a file that is written over and over", has("many", "version 19"))
	write("bad.hcl", `tool "bad" {`)
	until("a broken file", func() bool { return !h.Status().Last.OK })
	os.Remove(filepath.Join(dir, "bad.hcl"))
	until("its removal", func() bool { return h.Status().Last.OK })
	os.Rename(filepath.Join(dir, "sub"), filepath.Join(dir, "moved"))
	write("moved/more.hcl", tool("more", `text = "more"`))
	until("a folder that moved", has("more", "more"))
	os.RemoveAll(filepath.Join(dir, "moved"))
	until("a folder that is gone", has("many", "Unknown tool"))
	cancel()
	running.Wait()
}

// audience is a Notifier that calls a function when the list of tools has changed.
type audience func()

func (a audience) ListsChanged(func(toolset string) mcp.Changes) { a() }

// reloadTime is how long a reload may take on a busy machine.
const reloadTime = time.Minute

func TestEachLoadReturnsTheReportOfItsOwn(t *testing.T) {
	needsOwnNames(t, "the test looks at all blocks of a configuration")
	h := newHost(t, tool("t", `text = "0"`))
	var loading sync.WaitGroup
	for i := range 20 {
		loading.Go(func() {
			src := tool("t", fmt.Sprintf("text = \"%d\"", i+1))
			if i%2 == 1 {
				src += "nonsense"
			}
			report := h.LoadRevision(t.Context(), Revision{Files: fileSystem(src), Dir: h.build.Dir})
			if got := string(report.Sources["tools.hcl"]); got != src || report.OK == (i%2 == 1) {
				t.Errorf("the report of load %d is that of another: ok %t, sources\n%s", i, report.OK, got)
			}
		})
	}
	loading.Wait()
}
