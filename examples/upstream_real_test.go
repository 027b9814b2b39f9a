package examples_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hatchel/internal/sampletest"
)

// realServers is a folder for the servers everything, filesystem and memory, which are installed as hatchel import
// mcp --start installs them, and kubernetes-mcp-server, which is elsewhere. Its client's file is .mcp.json.
func realServers(t *testing.T, api string) *folder {
	t.Helper()
	n := needsUpstreams(t)
	f := &folder{t: t, path: t.TempDir()}
	node, err := filepath.EvalSymlinks(n.node)
	f.must(err)
	f.env = append(f.env, "PATH="+filepath.Dir(node)+":"+os.Getenv("PATH"))
	npm := f.file("tools", ".mcp", "npm")
	f.must(os.MkdirAll(npm, 0o755))
	f.must(os.Mkdir(f.file("docs"), 0o755))
	f.write("docs/note.txt", "Hello from a file.\n")
	for _, name := range []string{"package.json", "package-lock.json"} {
		f.must(copyFile(filepath.Join(filepath.Dir(n.packages), name), filepath.Join(npm, name)))
	}
	f.must(filepath.WalkDir(n.packages, func(path string, d fs.DirEntry, err error) error {
		to := filepath.Join(npm, "node_modules", strings.TrimPrefix(path, n.packages))
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), "kubernetes-mcp-server"):
			return fs.SkipDir // large, and a program of its own
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		return copyFile(path, to)
	}))
	const version = "@2026.8.31"
	packaged := func(name string, args ...string) map[string]any {
		return map[string]any{
			"command": "npx", "args": append([]string{"-y", "@modelcontextprotocol/server-" + name + version}, args...),
		}
	}
	program := "kubernetes-mcp-server-linux-" + runtime.GOARCH
	f.write("kubeconfig", fmt.Sprintf(kubeconfig, api))
	file, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"everything": packaged("everything"), "files": packaged("filesystem", f.file("docs")), "memory": packaged("memory"),
		"kubernetes": map[string]any{
			"command": filepath.Join(n.packages, program, "bin", program), "args": []string{"--kubeconfig", f.file("kubeconfig")},
		},
	}})
	f.must(err)
	f.write(".mcp.json", string(file))
	return f
}

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: %q}}]
users: [{name: test, user: {}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
current-context: test
`

// copyFile makes a hard link, or a copy on another file system.
func copyFile(from, to string) error {
	if err := os.Link(from, to); err == nil {
		return nil
	}
	src, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, src, 0o755)
}

// startKubernetes starts an API of Kubernetes with one namespace.
func startKubernetes(t *testing.T) string {
	t.Helper()
	answers := map[string]string{
		"/version": `{"major":"1","minor":"33","gitVersion":"v1.33.0"}`,
		"/api":     `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis":    `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
		"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"namespaces","singularName":"",` +
			`"namespaced":false,"kind":"Namespace","verbs":["list","get"]}]}`,
		"/api/v1/namespaces/shop": `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"shop"}}`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestRealServersBehindHatchelSurviveKills imports servers from a client's file, calls their tools, and kills one of
// their processes while it is called.
func TestRealServersBehindHatchelSurviveKills(t *testing.T) {
	f := realServers(t, startKubernetes(t))
	if o := f.run("import", "mcp", ".mcp.json", "-o", "tools", "--start", "--all"); o.code != 0 {
		t.Fatalf("import: %+v", o)
	}
	const sandbox = "sandbox {"
	f.write("tools/kubernetes.hcl", strings.Replace(f.read("tools/kubernetes.hcl"), sandbox, sandbox+"\nnetwork = true", 1))
	f.args = nil
	s := f.start(f.command("serve", "tools", "--listen", "127.0.0.1:0"))
	for call, want := range map[string]string{
		`echo {"message":"hi"}`:                                        "Echo: hi",
		`get-sum {"a":2,"b":3}`:                                        "The sum of 2 and 3 is 5.",
		`list_allowed_directories {}`:                                  f.file("docs"),
		`read_text_file {"path":"` + f.file("docs", "note.txt") + `"}`: "Hello from a file.",
		`read_graph {}`:                                                `"entities"`,
		`resources_get {"apiVersion":"v1","kind":"Namespace","name":"shop"}`: "name: shop",
	} {
		tool, arguments, _ := strings.Cut(call, " ")
		if got := s.call(tool, json.RawMessage(arguments)); got.Failed || !strings.Contains(got.text(), want) {
			t.Errorf("%s: %q, not %q", call, got.text(), want)
		}
	}
	var variables map[string]string
	if err := json.Unmarshal([]byte(s.call("get-env", struct{}{}).text()), &variables); err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(variables)); !slices.Equal(names, []string{"HOME", "LANG", "PATH", "TMPDIR"}) {
		t.Errorf("the program has the variables %s", names)
	}
	s.survivesKills(t, "server-everything")
	eventually(t, "every killed server is started again", func() bool {
		return !s.call("echo", map[string]any{"message": "again"}).Failed
	})
}

// survivesKills calls the tool echo while it kills the processes of the server, which a command names. Every call gets
// its own answer, or is told that the server is gone.
func (s *server) survivesKills(t *testing.T, command string) {
	t.Helper()
	const callers = 8
	kills := len(sampletest.Of(t, 3, make([]struct{}, 5))) // each start waits for longer
	stop := make(chan struct{})
	var calling sync.WaitGroup
	var mu sync.Mutex
	answered, failed := 0, 0
	for caller := range callers {
		calling.Go(func() {
			next := time.NewTicker(50 * time.Millisecond) // while no process runs, calls fail at once
			defer next.Stop()
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-next.C:
				}
				message := fmt.Sprintf("%d of %d", n, caller)
				got, err := s.send("echo", fmt.Appendf(nil, `{"message":%q}`, message))
				mu.Lock()
				switch {
				case err != nil:
					t.Errorf("a call: %v", err)
				case !got.Failed && got.text() == "Echo: "+message:
					answered++
				case got.Failed && (strings.Contains(got.text(), "server of this tool")):
					failed++
				default:
					t.Errorf("the call %q was answered %q", message, got.text())
				}
				mu.Unlock()
			}
		})
	}
	for range kills {
		mu.Lock()
		before := answered
		mu.Unlock()
		eventually(t, "a process of the server is killed", func() bool { return killAll(t, s.pid, command) > 0 })
		eventually(t, "calls are answered again", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return answered > before+callers
		})
	}
	close(stop)
	calling.Wait()
	t.Logf("%d calls were answered and %d failed over %d kills", answered, failed, kills)
}

// killAll kills the descendants of a process whose command has a text, and returns how many there were.
func killAll(t *testing.T, ancestor int, command string) (killed int) {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range processes {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if err != nil || !strings.Contains(string(line), command) || !descends(pid, ancestor) {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
			killed++
		} else if !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
	return killed
}

// descends reports whether a process is below another one.
func descends(pid, ancestor int) bool {
	for pid > 1 && pid != ancestor {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		pid, _ = strconv.Atoi(fields[1])
	}
	return pid == ancestor
}
