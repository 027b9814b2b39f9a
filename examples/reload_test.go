package examples_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// version is a file with two tools: one that says its version, one that is named after it.
func version(n int) string {
	return fmt.Sprintf(`
tool "version" {
  description = "Version %[1]d."
  text        = "version %[1]d"
}

tool "since_%[1]d" {
  description = "Exists in version %[1]d."
  text        = "yes"
}
`, n)
}

// crowd are clients that call without a pause, and what came of it.
type crowd struct {
	t       *testing.T
	clients []*client
	calls   atomic.Int64
	stop    context.CancelFunc
	calling sync.WaitGroup
}

// gather connects eight official clients, half of them in each era, and has them call a tool of every kind until the test ends.
func gather(t *testing.T, f *folder, s *server) *crowd {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := &crowd{t: t, stop: stop}
	for i := range 8 {
		c.clients = append(c.clients, f.connect(&sdk.StreamableClientTransport{Endpoint: s.url}, eras[i%2]))
	}
	for i, client := range c.clients {
		c.calling.Go(func() {
			pace := time.NewTicker(3 * time.Millisecond)
			defer pace.Stop()
			for n := i; ; n++ {
				select {
				case <-ctx.Done():
					return
				case <-pace.C:
				}
				call := [...]sdk.CallToolParams{
					{Name: "version"},
					{Name: "revenue_report", Arguments: object{"from": "2026-01-01", "to": "2026-02-28"}},
				}[n%2]
				r, err := client.CallTool(t.Context(), &call)
				if err != nil {
					t.Errorf("a call failed: %v", err)
					return
				}
				if c.calls.Add(1); r.IsError {
					t.Errorf("%s failed: %s", call.Name, said(r))
				}
			}
		})
	}
	t.Cleanup(c.rest)
	return c
}

// rest waits until nobody calls any more.
func (c *crowd) rest() {
	c.stop()
	c.calling.Wait()
}

// follow makes a change and waits until a client sees version n and every client has been told.
func (c *crowd) follow(what string, n int, change func()) {
	c.t.Helper()
	for _, client := range c.clients {
		for len(client.changed) > 0 {
			<-client.changed
		}
	}
	change()
	began := time.Now()
	eventually(c.t, "clients see what "+what+" brought", func() bool {
		return said(c.clients[0].call("version", nil)) == fmt.Sprint("version ", n)
	})
	c.t.Logf("%s: seen after %v", what, time.Since(began).Round(time.Millisecond))
	for _, client := range c.clients {
		client.heard(what)
		eventually(c.t, what+" shows in the list", func() bool {
			names := client.names()
			return slices.Contains(names, fmt.Sprint("since_", n)) && !slices.Contains(names, fmt.Sprint("since_", n-1))
		})
	}
}

func (f *folder) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func TestEveryKindOfChangeIsFollowedWithoutAFailedCall(t *testing.T) {
	t.Parallel()
	f := example(t, "invoices")
	f.write("version.hcl", version(1))
	f.git("init", "-q")
	f.write(".gitignore", "ledger.db*\n") // a checkout takes files away, and the server has this one open
	f.git("add", "-A")
	f.git("commit", "-q", "-m", "Version 1")
	f.git("branch", "first")
	s := f.serve()
	c := gather(t, f, s)

	c.follow("an edit", 2, func() { f.write("version.hcl", version(2)) })
	c.follow("an edit that replaces the file", 3, func() {
		f.write("version.new", version(3))
		f.must(os.Rename(f.file("version.new"), f.file("version.hcl")))
	})
	c.follow("a file renamed, and another in its place", 4, func() {
		f.must(os.Rename(f.file("version.hcl"), f.file("version.old")))
		f.write("v.hcl", version(4))
	})
	c.follow("a folder renamed", 5, func() {
		f.must(os.MkdirAll(f.file(".next", "deep"), 0o755))
		f.write(".next/deep/v.hcl", version(5))
		f.must(os.Remove(f.file("v.hcl")))
		f.must(os.Rename(f.file(".next"), f.file("next")))
	})
	c.follow("an edit below it", 6, func() { f.write("next/deep/v.hcl", version(6)) })

	f.write("more.hcl", greeting)
	eventually(t, "an added file is served", func() bool { return slices.Contains(c.clients[1].names(), "greet") })
	f.must(os.Rename(f.file("more.hcl"), f.file("hello.hcl")))
	f.write("last.hcl", strings.ReplaceAll(greeting, "greet", "wave"))
	eventually(t, "a file is served under another name", func() bool { return slices.Contains(c.clients[2].names(), "wave") })
	eventually(t, "what was in a renamed file is served", func() bool { return slices.Contains(c.clients[3].names(), "greet") })
	f.must(os.Remove(f.file("hello.hcl")))
	eventually(t, "what was in a deleted file is gone", func() bool { return !slices.Contains(c.clients[3].names(), "greet") })

	for i := range 100 {
		f.write(fmt.Sprintf("many-%d.hcl", i), strings.ReplaceAll(greeting, "greet", fmt.Sprintf("greet_%d", i)))
	}
	f.must(os.RemoveAll(f.file("next")))
	f.must(os.Remove(f.file("last.hcl")))
	f.write("version.hcl", version(8))
	f.git("add", "-A")
	f.git("commit", "-q", "-m", "Version 8")
	eventually(t, "a hundred files are served", func() bool { return slices.Contains(c.clients[0].names(), "greet_99") })
	c.follow("a checkout", 1, func() { f.git("checkout", "-q", "first") })
	eventually(t, "what is not in the checkout is gone", func() bool { return len(c.clients[0].names()) == 6 }) // one file after the other goes
	c.rest()
	t.Logf("%d calls were served meanwhile", c.calls.Load())
}

// mounted is a folder as Kubernetes mounts a ConfigMap: every file is a link through ..data, which is replaced as a whole.
type mounted struct {
	*folder
	swaps int
}

func (m *mounted) swap(files map[string]string) {
	m.t.Helper()
	m.swaps++
	last, next := fmt.Sprintf("..%d", m.swaps-1), fmt.Sprintf("..%d", m.swaps)
	m.must(os.Mkdir(m.file(next), 0o755))
	for name, text := range files {
		m.write(next+"/"+name, text)
		if _, err := os.Lstat(m.file(name)); err != nil {
			m.link("..data/"+name, name)
		}
	}
	m.link(next, "..data_tmp")
	m.must(os.Rename(m.file("..data_tmp"), m.file("..data")))
	m.must(os.RemoveAll(m.file(last)))
}

func TestMountedConfigMapIsFollowedWithoutAFailedCall(t *testing.T) {
	t.Parallel()
	origin := example(t, "invoices")
	f := &mounted{folder: &folder{t: t, path: t.TempDir(), env: origin.env}}
	files := func(n int) map[string]string {
		return map[string]string{"invoices.hcl": origin.read("invoices.hcl"), "schema.sql": origin.read("schema.sql"), "version.hcl": version(n)}
	}
	f.swap(files(1))
	s := f.serve()
	c := gather(t, f.folder, s)
	for n := 2; n <= 4; n++ {
		c.follow(fmt.Sprint("swap ", n), n, func() { f.swap(files(n)) })
	}
	c.rest()
	t.Logf("%d calls were served meanwhile", c.calls.Load())
}

// report is the answer of POST /admin/reload.
type report struct {
	Revision, Previous      string
	Added, Removed, Changed []string
	Unchanged               int
	DurationMS              float64 `json:"duration_ms"`
	Diagnostics             []struct{ Severity, Summary, Detail string }
}

func (s *server) reload() (status int, r report) { return s.reloadSince("") }

func (s *server) reloadSince(revision string) (status int, r report) {
	s.t.Helper()
	res, err := pooled.Post(strings.TrimSuffix(s.url, "/mcp")+"/admin/reload?since="+revision, "", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal(body, &r); err != nil {
		s.t.Fatalf("%s, %v: %s", res.Status, err, body)
	}
	return res.StatusCode, r
}

func TestReloadSaysWhatCameOfIt(t *testing.T) {
	t.Parallel()
	f := example(t, "files")
	s := f.serve("--watch=false")
	f.write("version.hcl", version(1))
	status, r := s.reload()
	if status != http.StatusOK || !slices.Equal(r.Added, []string{"since_1", "version"}) || r.Unchanged < len(tools["files"]) || r.DurationMS <= 0 {
		t.Errorf("%d, %+v", status, r)
	}
	f.write("version.hcl", version(2))
	if _, r = s.reload(); !slices.Equal(r.Added, []string{"since_2"}) || !slices.Equal(r.Removed, []string{"since_1"}) || !slices.Equal(r.Changed, []string{"version"}) {
		t.Errorf("%+v", r)
	}
	good := r.Revision
	if _, r = s.reloadSince(r.Previous); !slices.Equal(r.Changed, []string{"version"}) {
		t.Errorf("since the revision before: %+v", r)
	}

	f.write("version.hcl", version(3)+"tool \"x\" {\n  text = \"${input.y}\"\n}\n")
	status, r = s.reload()
	if status != http.StatusUnprocessableEntity || r.Revision != good || len(r.Diagnostics) < 2 || r.Diagnostics[0].Detail == "" {
		t.Errorf("%d, %+v", status, r)
	}
	expectText(t, s.call("version", object{}), false, "version 2")
	res, err := pooled.Get(strings.TrimSuffix(s.url, "/mcp") + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var state struct {
		Ready, Stale bool
		Revision     string
		Diagnostics  []object
	}
	if err := json.NewDecoder(res.Body).Decode(&state); err != nil || !state.Ready || !state.Stale || state.Revision != good || len(state.Diagnostics) != len(r.Diagnostics) {
		t.Errorf("%v, %+v", err, state)
	}
	s.prints("version.hcl:12:")

	f.write("version.hcl", version(4))
	f.must(syscall.Kill(s.pid, syscall.SIGHUP))
	eventually(t, "SIGHUP loads the folder", func() bool { return s.call("version", object{}).text() == "version 4" })
}
