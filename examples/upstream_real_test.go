package examples_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
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
	packaged := func(name string, args ...string) map[string]any {
		return map[string]any{
			"command": "npx", "args": append([]string{"-y", "@modelcontextprotocol/server-" + name + realVersion}, args...),
		}
	}
	memory := packaged("memory")
	memory["env"] = map[string]any{"MEMORY_FILE_PATH": f.file("memory", "graph.jsonl")}
	f.must(os.Mkdir(f.file("memory"), 0o755))
	program := "kubernetes-mcp-server-linux-" + runtime.GOARCH
	f.write("kubeconfig", fmt.Sprintf(kubeconfig, api))
	file, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"everything": packaged("everything"), "files": packaged("filesystem", f.file("docs")), "memory": memory,
		"kubernetes": map[string]any{
			"command": filepath.Join(n.packages, program, "bin", program), "env": map[string]any{"KUBECONFIG": f.file("kubeconfig")},
		},
	}})
	f.must(err)
	f.write(".mcp.json", string(file))
	return f
}

// realVersion is the version of the servers of npm.
const realVersion = "@2026.8.31"

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

// realCalls are calls of every tool of the servers, in their order; % is the directory of the server files.
var realCalls = map[string]string{
	"everything": `echo {"message":"hi"}
get-annotated-message {"messageType":"error","includeImage":true}
get-env {}
get-resource-links {"count":2}
get-resource-reference {"resourceType":"Text","resourceId":1}
get-structured-content {"location":"New York"}
get-sum {"a":2,"b":3}
get-tiny-image {}
gzip-file-as-resource {"name":"a.gz","data":"data:text/plain,hello","outputType":"resource"}
toggle-simulated-logging {}
toggle-simulated-logging {}
toggle-subscriber-updates {}
toggle-subscriber-updates {}
trigger-long-running-operation {"duration":0.01,"steps":1}`,
	"files": `list_allowed_directories {}
create_directory {"path":"%/more"}
write_file {"path":"%/more/new.txt","content":"one\ntwo\n"}
edit_file {"path":"%/more/new.txt","edits":[{"oldText":"two","newText":"three"}]}
move_file {"source":"%/more/new.txt","destination":"%/more/moved.txt"}
read_file {"path":"%/more/moved.txt"}
read_text_file {"path":"%/note.txt","head":1}
read_media_file {"path":"%/dot.png"}
read_multiple_files {"paths":["%/note.txt","%/more/moved.txt"]}
list_directory {"path":"%"}
list_directory_with_sizes {"path":"%/more"}
directory_tree {"path":"%"}
search_files {"path":"%","pattern":"*.txt"}
get_file_info {"path":"%/note.txt"}`,
	"memory": `create_entities {"entities":[{"name":"Ada","entityType":"person","observations":["writes"]},` +
		`{"name":"engine","entityType":"machine","observations":[]}]}
create_relations {"relations":[{"from":"Ada","to":"engine","relationType":"programs"}]}
add_observations {"observations":[{"entityName":"Ada","contents":["reads"]}]}
read_graph {}
search_nodes {"query":"engine"}
open_nodes {"names":["Ada"]}
delete_observations {"deletions":[{"entityName":"Ada","observations":["reads"]}]}
delete_relations {"relations":[{"from":"Ada","to":"engine","relationType":"programs"}]}
delete_entities {"entityNames":["engine"]}
read_graph {}`,
	"kubernetes": `configuration_view {}
events_list {}
namespaces_list {}
nodes_log {"name":"worker","query":"kubelet"}
nodes_stats_summary {"name":"worker"}
nodes_top {}
pods_delete {"name":"printer","namespace":"shop"}
pods_exec {"name":"printer","namespace":"shop","command":["echo","hello"]}
pods_get {"name":"printer","namespace":"shop"}
pods_list {}
pods_list_in_namespace {"namespace":"shop"}
pods_log {"name":"printer","namespace":"shop"}
pods_run {"name":"printer","namespace":"shop","image":"printer"}
pods_top {"namespace":"shop"}
projects_list {}
resources_create_or_update {"resource":"{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\"}}"}
resources_delete {"apiVersion":"apps/v1","kind":"Deployment","namespace":"shop","name":"web"}
resources_get {"apiVersion":"v1","kind":"Namespace","name":"shop"}
resources_list {"apiVersion":"v1","kind":"Namespace"}
resources_scale {"apiVersion":"apps/v1","kind":"Deployment","namespace":"shop","name":"web","scale":2}`,
}

// realDifferences are the tools that give something else behind Hatchel, with why. Besides, the address of a resource in
// a result is one of Hatchel, and links to resources of a server are left out with a notice.
var realDifferences = map[string]string{"get-env": "a program in a sandbox has variables of its own"}

// notImported are the tools of the servers that no block calls, with why.
var notImported = map[string]string{
	"simulate-research-query": "the server carries it out as a task only",
}

// TestRealServersBehindHatchelAnswerAsTheyDoAlone imports servers from a client's file, adds to their sandboxes what the
// import says, and calls every tool of each. Clients get what the server alone answers. Then it kills one of their
// processes while it is called.
func TestRealServersBehindHatchelAnswerAsTheyDoAlone(t *testing.T) {
	t.Parallel()
	f := realServers(t, startKubernetes(t))
	f.fill()
	imported := f.run("import", "mcp", ".mcp.json", "-o", "tools", "--start", "--all")
	if imported.code != 0 {
		t.Fatalf("import: %+v", imported)
	}
	for server, line := range map[string]string{
		"files":      fmt.Sprintf("write = [%q]", f.file("docs")),
		"memory":     fmt.Sprintf("write = [%q]", f.file("memory")),
		"kubernetes": "network = true",
	} {
		_, note, _ := strings.Cut(imported.stdout, "The sandbox of "+server+" has no network and no path to write to.")
		if note, _, _ = strings.Cut(note, "\n"); !strings.Contains(note, line) {
			t.Errorf("the import says %q of %s, and not %s", note, server, line)
		}
		const sandbox = "sandbox {"
		f.write("tools/"+server+".hcl", strings.Replace(f.read("tools/"+server+".hcl"), sandbox, sandbox+"\n"+line, 1))
	}
	var file struct {
		Servers map[string]struct {
			Command string
			Args    []string
			Env     map[string]string
		} `json:"mcpServers"`
	}
	f.must(json.Unmarshal([]byte(f.read(".mcp.json")), &file))
	alone := map[string][]json.RawMessage{}
	for name, s := range file.Servers {
		words := append([]string{s.Command}, s.Args...)
		if s.Command == "npx" {
			_, packaged, _ := strings.Cut(strings.TrimSuffix(s.Args[1], realVersion), "/")
			entry := f.file("tools", ".mcp", "npm", "node_modules", "@modelcontextprotocol", packaged, "dist", "index.js")
			words = append([]string{needsUpstreams(t).node, entry}, s.Args[2:]...)
		}
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir, cmd.Env = f.path, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.path}
		for name, value := range s.Env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		alone[name] = f.askAlone(cmd, f.calls(name))
	}
	f.fill()

	f.args = nil
	s := f.start(f.command("serve", "tools", "--listen", "127.0.0.1:0"))
	called := 0
	for name := range file.Servers {
		blocks, tools := f.read("tools", name+".hcl"), map[string]bool{}
		for i, call := range f.calls(name) {
			tool, arguments, _ := strings.Cut(call, " ")
			if tools[tool] = true; !strings.Contains(blocks, fmt.Sprintf("\ntool %q {", tool)) {
				t.Errorf("%s of %s is not imported", tool, name)
			}
			res, answer, err := s.post(tool, []byte(arguments))
			f.must(err)
			got, want := readCompared(t, lastMessage(res, answer)), readCompared(t, alone[name][i]).behind(name)
			if got.Failed || want.Failed || realDifferences[tool] == "" && !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %+v, and the server alone answers %+v", call, got, want)
			}
		}
		if n := strings.Count(blocks, "\ntool "); n != len(tools) {
			t.Errorf("%d of %d tools of %s were called", len(tools), n, name)
		}
		called += len(tools)
	}
	t.Logf("%d tools of %d servers were called, with the differences %v; not imported: %v", called, len(file.Servers),
		realDifferences, notImported)
	for tool, why := range notImported {
		if !strings.Contains(imported.stdout, tool+": tool left out: "+why) {
			t.Errorf("the import does not say of %s: %s", tool, why)
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

// fill makes the files that calls read, and removes what earlier calls have left.
func (f *folder) fill() {
	f.t.Helper()
	for _, dir := range []string{"docs", "memory"} {
		entries, err := os.ReadDir(f.file(dir))
		f.must(err)
		for _, e := range entries { // the directory itself stays: sandboxes name it
			f.must(os.RemoveAll(f.file(dir, e.Name())))
		}
	}
	f.write("docs/note.txt", "Hello from a file.\nAnd more.\n")
	f.write("docs/dot.png", "\x89PNG\r\n\x1a\n")
}

// calls returns the calls of a server.
func (f *folder) calls(server string) []string {
	return strings.Split(strings.ReplaceAll(realCalls[server], "%", f.file("docs")), "\n")
}

// askAlone starts a server and makes calls, as a client does that speaks 2025-11-25. It returns the results.
func (f *folder) askAlone(cmd *exec.Cmd, calls []string) (results []json.RawMessage) {
	f.t.Helper()
	in, err := cmd.StdinPipe()
	f.must(err)
	out, err := cmd.StdoutPipe()
	f.must(err)
	f.must(cmd.Start())
	late := time.AfterFunc(maxWait, func() { cmd.Process.Kill() })
	defer func() {
		late.Stop()
		cmd.Process.Kill()
		cmd.Wait() // whatever it ends with
	}()
	lines := bufio.NewReader(out)
	ask := func(id int, method, params string) json.RawMessage {
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				f.t.Fatalf("%s %s of %s: %v", method, params, cmd, err)
			}
			var m struct {
				ID     json.RawMessage
				Method string
			}
			if err := json.Unmarshal(line, &m); err == nil && m.Method == "" && string(m.ID) == strconv.Itoa(id) {
				return line
			}
		}
	}
	ask(0, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i, call := range calls {
		tool, arguments, _ := strings.Cut(call, " ")
		results = append(results, ask(i+1, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments)))
	}
	return results
}

// comparedResult is what of a result clients compare.
type comparedResult struct {
	Failed     bool `json:"isError"`
	Content    []map[string]any
	Structured any `json:"structuredContent"`
}

// readCompared reads an answer, without times.
func readCompared(t *testing.T, answer []byte) (r comparedResult) {
	t.Helper()
	var m struct {
		Result *comparedResult
		Error  any
	}
	if err := json.Unmarshal(times.ReplaceAll(answer, nil), &m); err != nil || m.Result == nil {
		t.Fatalf("%v in %s", err, answer)
	}
	return *m.Result
}

// behind returns the result as clients of Hatchel get it.
func (r comparedResult) behind(server string) comparedResult {
	links, content := 0, []map[string]any{}
	for _, part := range r.Content {
		if part["type"] == "resource_link" {
			links++
			continue
		}
		if resource, ok := part["resource"].(map[string]any); ok {
			resource["uri"] = "hatchel://" + server + "/" + url.PathEscape(resource["uri"].(string))
		}
		content = append(content, part)
	}
	if links > 0 {
		notice := fmt.Sprintf("[Left out of the answer: %d × link.]", links)
		content = append(content, map[string]any{"type": "text", "text": notice})
	}
	r.Content = content
	return r
}

// times matches the times of files, and of resources of the server everything.
var times = regexp.MustCompile(`(created|modified|accessed): [^\\]*|created at [0-9:]+ [AP]M`)

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
