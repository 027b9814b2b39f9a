package lsp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/editor"
	"hatchel/hcl"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata")

// TestScripts plays the messages of a client and compares every message of the server, byte for byte. The first file
// of an archive is the script: lines with -> are sent, lines with <- are expected, "open FILE" opens a document, "remove FILE" removes one, "write FILE" changes one, and
// the others are comments. The other files are on disk. ROOT stands for their directory, and @(FILE, some |text) for
// the members textDocument and position of where | is in the first such text of the file. A script that does not send
// initialize is played to a server that is initialized, with ROOT as its root, or with those of a first line "roots A, B".
func TestScripts(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal(err, names)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, archive)
			if script := string(archive.Files[0].Data); got != script && *update {
				archive.Files[0].Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != script {
				t.Errorf("got:\n%s\nwant:\n%s", got, script)
			}
		})
	}
}

// play plays the script of an archive and returns it with the answers that the server gives.
func play(t *testing.T, archive *txtar.Archive) string {
	root := t.TempDir()
	writeFiles(t, root, archive.Files[1:])
	c := newTestClient(t, Options{Kinds: all.Set().Kinds(), Version: "test",
		Entry: func(t *hcl.Tool) []byte { return t.Input.AppendSchema([]byte(t.Description)) }})
	var out strings.Builder
	if script := string(archive.Files[0].Data); !strings.Contains(script, `"method":"initialize"`) {
		roots := []string{`{"name":"","uri":"file://` + root + `"}`}
		if first, _, _ := strings.Cut(script, "\n"); strings.HasPrefix(first, "roots ") {
			roots = nil
			for name := range strings.SplitSeq(strings.TrimPrefix(first, "roots "), ", ") {
				roots = append(roots, `{"name":"","uri":"file://`+root+"/"+name+`"}`)
			}
		}
		c.exchange(`{"id":0,"method":"initialize","params":{"workspaceFolders":[` + strings.Join(roots, ",") +
			`],"initializationOptions":{"commands":["hatchel.test","hatchel.dryRun","hatchel.lock"]}}}`)
		c.exchange(`{"method":"initialized","params":{}}`)
	}
	lines := strings.Split(strings.TrimSuffix(string(archive.Files[0].Data), "\n"), "\n")
	for _, line := range lines {
		text, sent := strings.CutPrefix(line, "-> ")
		if strings.HasPrefix(line, "<- ") {
			continue
		}
		out.WriteString(line + "\n")
		if name, removed := strings.CutPrefix(line, "remove "); removed {
			os.Remove(filepath.Join(root, name))
		}
		if name, written := strings.CutPrefix(line, "write "); written {
			writeFiles(t, root, []txtar.File{{Name: name, Data: []byte("now longer")}})
		}
		if name, opened := strings.CutPrefix(line, "open "); opened {
			text, sent = openMessage(archive, name), true
		}
		if !sent {
			continue
		}
		text = atText.ReplaceAllStringFunc(text, func(at string) string { return positionOf(t, archive, at) })
		message := strings.ReplaceAll(text, "ROOT", "file://"+root)
		for _, answer := range c.exchange(message) {
			out.WriteString("<- " + strings.NewReplacer("file://"+root, "ROOT", root, "DIR").Replace(answer) + "\n")
		}
	}
	return out.String()
}

// openMessage opens a document with the text that is on disk.
func openMessage(archive *txtar.Archive, name string) string {
	text, _ := json.Marshal(string(fileOf(archive, name)))
	return `{"method":"textDocument/didOpen","params":{"textDocument":{"uri":"ROOT/` + strings.ReplaceAll(name, " ", "%20") +
		`","languageId":"hcl","version":1,"text":` + string(text) + `}}}`
}

func fileOf(archive *txtar.Archive, name string) []byte {
	for _, f := range archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

var atText = regexp.MustCompile(`@\(([^,]+), ([^)]*)\)`)

// positionOf returns the members of a position for @(FILE, some |text).
func positionOf(t *testing.T, archive *txtar.Archive, at string) string {
	m := atText.FindStringSubmatch(at)
	before, after, _ := strings.Cut(m[2], "|")
	src := editor.NewText(fileOf(archive, m[1]))
	i := bytes.Index(src.Src, []byte(before+after))
	if i < 0 {
		t.Fatalf("%s is not there", at)
	}
	p, _ := json.Marshal(src.Position(i + len(before)))
	return fmt.Sprintf(`"textDocument":{"uri":"ROOT/%s"},"position":%s`, m[1], p)
}

func writeFiles(t *testing.T, root string, files []txtar.File) {
	for _, f := range files {
		name := filepath.Join(root, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// testClient is a client of a server in the same process.
type testClient struct {
	t      testing.TB
	in     io.WriteCloser
	out    *bufio.Reader
	nextID int
	ended  chan error
}

func newTestClient(t *testing.T, opts Options) *testClient {
	serverIn, in := io.Pipe()
	out, serverOut := io.Pipe()
	c := &testClient{t: t, in: in, out: bufio.NewReader(out), ended: make(chan error, 1)}
	go func() {
		s := newServer(serverOut, opts)
		s.methods[settledMethod] = answerWhenSettled
		err := s.serve(t.Context(), serverIn)
		serverOut.Close()
		serverIn.CloseWithError(io.ErrClosedPipe)
		c.ended <- err
	}()
	t.Cleanup(func() { in.Close() })
	return c
}

const settledMethod = "hatchel/settled"

// answerWhenSettled answers when all folders are loaded.
func answerWhenSettled(s *Server, m *message) {
	for _, f := range s.folders {
		if f.loaded != f.changes {
			f.whenLoaded(func() { answerWhenSettled(s, m) })
			return
		}
	}
	s.respond(m.ID, nil, nil)
}

// send sends one message, which is written without its jsonrpc member.
func (c *testClient) send(message string) {
	body := `{"jsonrpc":"2.0",` + strings.TrimPrefix(message, "{")
	if _, err := fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		c.t.Logf("not sent: %v", err)
	}
}

// receive returns the next message of the server without its jsonrpc member; empty at the end.
func (c *testClient) receive() string {
	body, err := readFrame(c.out)
	if err != nil {
		return ""
	}
	return "{" + strings.TrimPrefix(string(body), `{"jsonrpc":"2.0",`)
}

// exchange sends a message and returns what the server sends until it has handled it and all loads that follow from it:
// it answers hatchel/settled then.
func (c *testClient) exchange(message string) (answers []string) {
	c.send(message)
	var m struct {
		ID     json.RawMessage
		Method string
	}
	json.Unmarshal([]byte(message), &m)
	if m.Method == "exit" {
		return nil
	}
	c.nextID++
	id := fmt.Sprintf(`"settled-%d"`, c.nextID)
	c.send(`{"id":` + id + `,"method":"` + settledMethod + `"}`)
	answered, settled := m.ID == nil, false
	for !answered || !settled {
		answer := c.receive()
		answered = answered || strings.HasPrefix(answer, `{"id":`+string(m.ID)+`,`)
		switch {
		case answer == "":
			return answers
		case strings.Contains(answer, id):
			settled = true
		default:
			answers = append(answers, answer)
		}
	}
	return answers
}

func TestAMessageThatIsTooLargeIsRefusedAndTheNextOneAnswered(t *testing.T) {
	c := newTestClient(t, Options{Kinds: all.Set().Kinds()})
	big := bytes.Repeat([]byte("x"), 10<<20)
	go func() {
		fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n", len(big))
		c.in.Write(big)
		c.send(`{"id":1,"method":"initialize","params":{}}`)
	}()
	if got := c.receive(); !strings.Contains(got, `"error":{"code":-32600`) {
		t.Error(got)
	}
	if got := c.receive(); !strings.Contains(got, `"id":1,"result"`) {
		t.Error(got)
	}
}

func TestTheServerEndsWithTheProcessOfItsClient(t *testing.T) {
	t.Parallel()
	process := exec.Command("cat")
	stdin, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	c := newTestClient(t, Options{Kinds: all.Set().Kinds()})
	c.exchange(fmt.Sprintf(`{"id":1,"method":"initialize","params":{"processId":%d}}`, process.Process.Pid))
	stdin.Close()
	if err := process.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := <-c.ended; err != ErrNoShutdown {
		t.Error(err)
	}
}

func TestTheServerEndsWithItsClient(t *testing.T) {
	for end, want := range map[string]error{
		`{"method":"exit"}`: nil,
		``:                  ErrNoShutdown,
		"Content-Length: x": errFrame,
	} {
		c := newTestClient(t, Options{Kinds: all.Set().Kinds()})
		c.exchange(`{"id":1,"method":"initialize","params":{}}`)
		switch {
		case strings.HasPrefix(end, "{"):
			c.exchange(`{"id":2,"method":"shutdown"}`)
			c.send(end)
		default:
			fmt.Fprint(c.in, end)
			c.in.Close()
		}
		if err := <-c.ended; err != want {
			t.Errorf("%q: %v, want %v", end, err, want)
		}
	}
}

func TestOnlyURIsOfFilesOnThisMachineHavePaths(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///a/b.hcl":           "/a/b.hcl",
		"file://localhost/a/b.hcl":  "/a/b.hcl",
		"file:/a/b.hcl":             "/a/b.hcl",
		"file:///a%20b/%C3%BC%25.x": "/a b/ü%.x",
		"file:///a/./c/../b.hcl":    "/a/b.hcl",
		"file://server/share/b.hcl": "",
		"file://C:\\a\\b.hcl":       "",
		"file:///a%00.hcl":          "",
		"file://%2Fa%2Fb.hcl":       "",
		"untitled:Untitled-1":       "",
		"vscode-vfs://github/a.hcl": "",
		"/a/b.hcl":                  "",
		"%":                         "",
		"file:a.hcl":                "",
	} {
		if got, ok := pathOf(uri); got != want || ok != (want != "") {
			t.Errorf("%s: %q", uri, got)
		}
	}
}
