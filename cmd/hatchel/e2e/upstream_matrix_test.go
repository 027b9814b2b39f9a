package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hatchel/internal/programtest"
	"hatchel/internal/proxytest"
	"hatchel/internal/sampletest"
)

// frontCase is a server of an official SDK behind a number of processes of Hatchel.
type frontCase struct {
	sdk, transport, revision string
	processes                int
}

func (c frontCase) String() string {
	return fmt.Sprintf("%s over %s, %s, %d processes", c.sdk, c.transport, c.revision, c.processes)
}

var frontRevisions = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

func frontCases() (all []frontCase) {
	for _, name := range []string{"Go", "TypeScript"} {
		for _, transport := range []string{"HTTP", "stdio"} {
			for _, revision := range frontRevisions {
				all = append(all, frontCase{name, transport, revision, 1}, frontCase{name, transport, revision, 3})
			}
		}
	}
	return all
}

// frontKinds are the clients in each revision.
var frontKinds = []clientKind{
	{"Go", "2025-06-18"}, {"Go", "2025-11-25"}, {"Go", "2026-07-28"},
	{"TypeScript client", "2025-06-18"}, {"TypeScript client", "2025-11-25"}, {"TypeScript client", "2026-07-28"},
	{"TypeScript sdk", "2025-11-25"},
}

// TestClientsOfEachRevisionUseServersOfEachRevision imports the tools of a server and calls them with official clients:
// content of every kind, progress, a call that is cancelled, a form, a page, a message of the client's model, and roots.
func TestClientsOfEachRevisionUseServersOfEachRevision(t *testing.T) {
	for _, c := range sampletest.Of(t, 2, frontCases()) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			told := t.TempDir() // of calls that are cancelled
			dir, database := c.configure(t, told), emptySchema(t)
			var addresses []string
			for range c.processes {
				addresses = append(addresses, strings.TrimPrefix(startReplica(t, dir, database).url, "http://"))
			}
			url := "http://" + addresses[0]
			if c.processes > 1 {
				url = proxytest.Start(t, nil, addresses...).URL
			}
			for _, kind := range sampletest.Of(t, 2, frontKinds) {
				t.Run(kind.String(), func(t *testing.T) { checkFront(t, kind.connect(t, url+"/mcp", 1)[0], c, told) })
			}
			if c.processes > 1 {
				return
			}
			for _, kind := range sampletest.Of(t, 1, frontKinds) {
				t.Run(kind.String()+" over stdio", func(t *testing.T) {
					checkFront(t, kind.connectOverStdio(t, dir, database), c, told)
				})
			}
		})
	}
}

// connectOverStdio connects a client to a process that it starts.
func (k clientKind) connectOverStdio(t *testing.T, dir, database string) officialClient {
	t.Helper()
	command := []string{"env", "STATE=" + database, "hatchel", "serve", "--stdio", dir}
	if k.name == "Go" {
		c, err := connectGoOver(t, &sdk.CommandTransport{Command: exec.Command(command[0], command[1:]...)}, k.revision)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	all, err := connectTypeScript(t, k, 1, command...)
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// configure returns a directory with the tools of the server.
func (c frontCase) configure(t *testing.T, told string) (dir string) {
	t.Helper()
	url, command, read := c.start(t, told)
	dir = t.TempDir()
	cmd := exec.Command("hatchel", "import", "mcp", "up", "--url", url, "--all", "--asks", "elicitation,elicitation.url,sampling",
		"--ask-host", "pages.example", "-o", ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	file := filepath.Join(dir, "up.hcl")
	blocks, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	server := fmt.Sprintf("url = %q", url)
	if c.transport == "stdio" {
		server = fmt.Sprintf("command = [%s, %q]\n  sandbox {\n    read = [%s]\n    write = [%q]\n  }", command, told, read, told)
	}
	text := regexp.MustCompile(`url +=.*`).ReplaceAllLiteralString(string(blocks), fmt.Sprintf("protocol = %q\n  %s", c.revision, server))
	text = strings.Replace(text, `"sampling"]`, "\"sampling\", \"roots\"]\n  roots = [\"file:///srv/docs\"]", 1)
	if err := os.WriteFile(file, []byte(postgresState+text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// start starts the server over HTTP, and returns its command over stdio and what it reads.
func (c frontCase) start(t *testing.T, told string) (url, command, read string) {
	t.Helper()
	if c.sdk == "Go" {
		program, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		return startSDKUpstream(t, told, c.revision > "2026"), fmt.Sprintf("%q, %q", program, upstreamMode), fmt.Sprintf("%q", program)
	}
	node, packages, ok := strings.Cut(os.Getenv("HATCHEL_TEST_UPSTREAMS"), " ")
	if !ok {
		t.Skip("HATCHEL_TEST_UPSTREAMS does not say where Node and the SDKs from npm are")
	}
	node, err := filepath.EvalSymlinks(node)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "server.mjs")
	text, err := os.ReadFile("testdata/upstreams/server.mjs")
	if err == nil {
		err = os.WriteFile(script, text, 0o644)
	}
	if err == nil {
		err = os.Symlink(packages, filepath.Join(dir, "node_modules"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return startNodeUpstream(t, exec.Command(node, script, "http", told)), fmt.Sprintf("%q, %q, %q", node, script, "stdio"),
		fmt.Sprintf("%q, %q, %q", filepath.Dir(node), dir, packages)
}

// startNodeUpstream starts a server that writes its address on standard error.
func startNodeUpstream(t *testing.T, cmd *exec.Cmd) (url string) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ready, drained := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(drained)
		lines := bufio.NewReader(stderr)
		line, _ := lines.ReadString('\n')
		ready <- line
		io.Copy(io.Discard, lines)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-drained
		cmd.Wait()
	})
	select {
	case line := <-ready:
		_, url, ok := strings.Cut(strings.TrimSpace(line), "ready at ")
		if !ok {
			t.Fatalf("the server does not start: %s", line)
		}
		return url
	case <-time.After(programtest.Timeout):
		t.Fatal("the server is not ready")
	}
	return ""
}

// checkFront calls each tool with a client.
func checkFront(t *testing.T, client officialClient, c frontCase, told string) {
	t.Helper()
	n := nextNumber()
	content := n + "|image|audio|resource|resource|Link: page https://pages.example/"
	want := map[string]string{"content": content, "form": n, "page": "accept", "model": "model " + n, "roots": "file:///srv/docs"}
	for tool, text := range want {
		blocks, err := client.follow(tool, n)
		if err != nil || blocks != text {
			t.Errorf("%s: %q, %v", tool, blocks, err)
		}
	}
	if blocks, err := client.follow("progress", n); err != nil || blocks != "done" {
		t.Errorf("progress: %q, %v", blocks, err)
	}
	hear(t, client, "progress "+n)
	done := make(chan error, 1)
	go func() {
		_, err := client.follow("wait", n+"w")
		done <- err
	}()
	hear(t, client, "progress "+n+"w")
	client.cancel(n + "w")
	select {
	case err := <-done:
		if err == nil {
			t.Error("a cancelled call has a result")
		}
	case <-time.After(programtest.Timeout):
		t.Fatal("a cancelled call does not end")
	}
	await(t, func() bool {
		_, err := os.Stat(filepath.Join(told, n+"w"))
		return err == nil && (c.transport == "HTTP" || wasToldCancelled(t, told, n+"w"))
	})
}

// wasToldCancelled reports whether a server over stdio has received the notification that the call with an n is
// cancelled. Its input ends soon after, which cancels the call, too.
func wasToldCancelled(t *testing.T, told, n string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(told, "received-*"))
	if err != nil {
		t.Fatal(err)
	}
	id := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var m struct {
				ID, Method string
				Params     struct {
					Arguments struct{ N string }
					RequestID string
				}
			}
			if json.Unmarshal([]byte(line), &m) != nil {
				continue // an answer to a question, or a line that is being written
			}
			if m.Method == "tools/call" && m.Params.Arguments.N == n {
				id = m.ID
			}
			if id != "" && m.Method == "notifications/cancelled" && m.Params.RequestID == id {
				return true
			}
		}
	}
	return false
}

// hear waits until a client has heard something.
func hear(t *testing.T, client officialClient, what string) {
	t.Helper()
	for {
		select {
		case got := <-client.heard():
			if got == what {
				return
			}
		case <-time.After(programtest.Timeout):
			t.Fatalf("the client does not hear %q", what)
		}
	}
}
