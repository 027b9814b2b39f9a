package lsp

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/editor"
	"hatchel/internal/osfile"
)

// every is the distance in bytes of the places that are asked about. A release asks about each byte.
var every = flag.Int("every", 211, "ask at every `N`th byte of the examples")

// requestMethods returns the methods that answer about a document.
func requestMethods() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(newMethods())), func(name string) bool {
		return !strings.HasPrefix(name, "textDocument/") && name != "hatchel/folder" ||
			strings.HasPrefix(name, "textDocument/did")
	})
}

// quietClient is a client of an initialized server that may log no error.
func quietClient(t *testing.T, root string) *testClient {
	c := newTestClient(t, Options{Kinds: all.Set().Kinds(), Log: slog.New(slog.NewTextHandler(failOnLog{t}, nil))})
	c.exchange(`{"id":0,"method":"initialize","params":{"rootUri":"` + osfile.URI(root) + `"}}`)
	c.exchange(`{"method":"initialized","params":{}}`)
	return c
}

type failOnLog struct{ t *testing.T }

func (f failOnLog) Write(line []byte) (int, error) {
	f.t.Errorf("logged: %.600s", line)
	return len(line), nil
}

// open opens a document, and returns what the server publishes then.
func (c *testClient) open(path string, text []byte) []string {
	return c.exchange(notificationText("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": osfile.URI(path), "languageId": "hcl", "version": 1, "text": string(text)}}))
}

// change replaces the text of a document. It does not wait for a load.
func (c *testClient) change(path string, text []byte) {
	c.send(notificationText("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": osfile.URI(path), "version": 2},
		"contentChanges": []any{map[string]any{"text": string(text)}}}))
}

func notificationText(method string, params any) string {
	text, _ := json.Marshal(params)
	return `{"method":"` + method + `","params":` + string(text) + `}`
}

// ask makes a request about a place with the parameters of all methods, and returns its response.
func (c *testClient) ask(method, path string, at editor.Position) string {
	c.nextID++
	params, _ := json.Marshal(map[string]any{
		"textDocument": documentID{osfile.URI(path)}, "position": at, "positions": []editor.Position{at},
		"range":   Range{at, editor.Position{Line: at.Line + 1}},
		"context": map[string]any{"diagnostics": []any{}}, "newName": "renamed", "options": map[string]any{"tabSize": 2},
	})
	id := fmt.Sprintf(`"ask-%d"`, c.nextID)
	c.send(fmt.Sprintf(`{"id":%s,"method":%q,"params":%s}`, id, method, params))
	for {
		answer := c.receive()
		if answer == "" || strings.HasPrefix(answer, `{"id":`+id) {
			return answer
		}
	}
}

// sources returns the *.hcl files below a directory.
func sources(t testing.TB, dir string) (paths []string) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".hcl" {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil || len(paths) == 0 {
		t.Fatal("no files", err)
	}
	return paths
}

func absolute(t testing.TB, path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func readFile(t testing.TB, path string) []byte {
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func TestAllRequestsAnswerAtEveryPlaceOfTheExamples(t *testing.T) {
	root := absolute(t, "../../../../examples")
	c := quietClient(t, root)
	for _, path := range sources(t, root) {
		text := editor.NewText(readFile(t, path))
		c.open(path, text.Src)
		for at := 0; at <= len(text.Src); at += *every {
			for _, method := range requestMethods() {
				// a rename may be refused, and says why
				answer := c.ask(method, path, text.Position(at))
				if !strings.Contains(answer, `"result":`) && !strings.Contains(answer, `"error":{"code":-32803`) {
					t.Fatalf("%s at byte %d of %s: %s", method, at, path, answer)
				}
			}
		}
		c.exchange(notificationText("textDocument/didClose", documentParams{documentID{osfile.URI(path)}}))
	}
}

func TestEveryBeginningOfTheExamplesIsAnswered(t *testing.T) {
	root := absolute(t, "../../../../examples")
	c := quietClient(t, root)
	for _, path := range sources(t, root) {
		text := editor.NewText(readFile(t, path))
		c.open(path, text.Src)
		for end := 0; end <= len(text.Src); end += *every {
			c.change(path, text.Src[:end])
			for _, method := range []string{"textDocument/completion", "textDocument/hover", "textDocument/semanticTokens/full"} {
				if answer := c.ask(method, path, text.Position(end)); !strings.Contains(answer, `"result":`) {
					t.Fatalf("%s after %d bytes of %s: %s", method, end, path, answer)
				}
			}
		}
		c.exchange(notificationText("textDocument/didClose", documentParams{documentID{osfile.URI(path)}}))
	}
}

// The directories have the files of Terraform, Packer and Nomad, also of an agent, which has blocks that a configuration
// has too.
func TestTheFilesOfOtherProgramsGetNoDiagnosticsAndNoAnswers(t *testing.T) {
	root := absolute(t, "testdata/foreign")
	c := quietClient(t, root)
	for _, path := range sources(t, root) {
		text := editor.NewText(readFile(t, path))
		published := c.open(path, text.Src)
		published = append(published, c.exchange(notificationText("textDocument/didSave", documentParams{documentID{osfile.URI(path)}}))...)
		if len(published) > 0 {
			t.Errorf("%s: %s", path, published)
		}
		for line := range text.Lines() {
			for _, method := range requestMethods() {
				answer := c.ask(method, path, editor.Position{Line: line, Character: 3})
				if !strings.HasSuffix(answer, `"result":null}`) {
					t.Errorf("%s in line %d of %s: %s", method, line+1, path, answer)
				}
			}
		}
	}
}

// edits is the number of random edits. A release makes 10,000 with the race detector.
var edits = flag.Int("edits", 1000, "make `N` random edits")

// After any edits the server has the text that the editor has: it answers as one that has just opened it.
func TestRandomEditsLeaveTheServerWithTheTextOfTheEditor(t *testing.T) {
	root := absolute(t, "../../../../examples/orders")
	path := filepath.Join(root, "orders.hcl")
	original := editor.NewText(readFile(t, path))
	c := quietClient(t, root)
	c.open(path, original.Src)
	random, methods := rand.New(rand.NewPCG(1, 2)), requestMethods()
	text := original
	for i := 1; i <= *edits; i++ {
		text = c.editRandomly(path, text, random)
		if i%10 == 0 {
			c.ask(methods[random.IntN(len(methods))], path, text.Position(random.IntN(len(text.Src)+1)))
		}
		if i%250 == 0 {
			fresh := quietClient(t, root)
			fresh.open(path, text.Src)
			for _, method := range []string{"textDocument/semanticTokens/full", "textDocument/foldingRange"} {
				got, want := c.ask(method, path, editor.Position{}), fresh.ask(method, path, editor.Position{})
				if _, got, _ = strings.Cut(got, `,"`); !strings.HasSuffix(want, got) {
					t.Fatalf("after %d edits %s answers\n%s\nand a new server\n%s", i, method, got, want)
				}
			}
			text = original
			c.change(path, text.Src)
		}
	}
	if left := c.exchange(`{"method":"initialized","params":{}}`); slices.ContainsFunc(left, func(m string) bool {
		return strings.Contains(m, `"severity":1`)
	}) {
		t.Errorf("the original text has diagnostics: %s", left)
	}
}
