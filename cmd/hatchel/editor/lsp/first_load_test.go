package lsp

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"hatchel/adapters/all"
)

// TestRequestsWaitForTheFirstLoad sends what an editor sends at once with the first document.
func TestRequestsWaitForTheFirstLoad(t *testing.T) {
	const text = "tool \"x\" {\n  description = \"A tool.\"\n  text        = \"hello\"\n}\n"
	root := t.TempDir()
	writeFiles(t, root, []txtar.File{{Name: "tools.hcl", Data: []byte(text)}})
	archive := &txtar.Archive{Files: []txtar.File{{}, {Name: "tools.hcl", Data: []byte(text)}}}
	c := newTestClient(t, Options{Kinds: all.Set().Kinds(), Version: "test"})
	local := func(message string) string { return strings.ReplaceAll(message, "ROOT", "file://"+root) }
	at := `"textDocument":{"uri":"ROOT/tools.hcl"}`
	messages := []string{
		`{"id":"start","method":"initialize","params":{"rootUri":"ROOT","capabilities":{}}}`,
		`{"method":"initialized","params":{}}`,
		openMessage(archive, "tools.hcl"),
		`{"id":"fold","method":"textDocument/foldingRange","params":{` + at + `}}`,
		`{"id":"complete","method":"textDocument/completion","params":{` + at + `,"position":{"line":2,"character":2}}}`,
		`{"id":"symbols","method":"textDocument/documentSymbol","params":{` + at + `}}`,
	}
	go func() {
		for _, m := range messages {
			c.send(local(m))
		}
	}()
	answered := map[string]bool{}
	for len(answered) < 4 {
		got := c.receive()
		for _, id := range []string{"start", "fold", "complete", "symbols"} {
			if strings.HasPrefix(got, `{"id":"`+id+`"`) {
				answered[id] = true
				if strings.Contains(got, `"result":null`) || strings.Contains(got, `"result":[]`) {
					t.Errorf("%s: %s", id, got)
				}
			}
		}
		if got == "" {
			t.Fatal("the server has ended")
		}
	}
}
