package lsp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/editor"
	"hatchel/hcl/diag"
)

type actionParams struct {
	documentParams
	Range   Range `json:"range"`
	Context struct {
		Only []string `json:"only"`
	} `json:"context"`
}

type codeAction struct {
	Title       string         `json:"title"`
	Kind        string         `json:"kind"`
	Diagnostics []diagnostic   `json:"diagnostics,omitempty"`
	Preferred   bool           `json:"isPreferred,omitempty"`
	Edit        *WorkspaceEdit `json:"edit,omitempty"`
	Command     *command       `json:"command,omitempty"`
}

// Kinds of code actions.
const (
	kindQuickFix = "quickfix"
	kindRefactor = "refactor"
	kindSource   = "source"
)

// lockName is the file that hatchel lock writes.
const lockName = "hatchel.lock.json"

// codeActions answers textDocument/codeAction: corrections of what is reported in a range, other changes that are
// possible there, and hatchel lock where there is a lock.
func codeActions(v *view, p *actionParams) ([]codeAction, *responseError) {
	found := []codeAction{}
	add := func(a codeAction) {
		wanted := func(kind string) bool { return a.Kind == kind || strings.HasPrefix(a.Kind, kind+".") }
		if len(p.Context.Only) == 0 || slices.ContainsFunc(p.Context.Only, wanted) {
			found = append(found, a)
		}
	}
	t, corrected := newTexts(v.project), map[*diag.Diagnostic]bool{}
	for _, a := range v.project.Actions(v.file, editor.Span{From: v.offset(p.Range.Start), To: v.offset(p.Range.End)}) {
		out := codeAction{Title: a.Title, Kind: kindRefactor,
			Edit: &WorkspaceEdit{map[string][]TextEdit{v.doc.uri: textEdits(v.file.Text, a.Edits)}}}
		if a.Of != nil {
			out.Kind, out.Diagnostics = kindQuickFix, []diagnostic{v.diagnostic(t, a.Of)}
			out.Preferred, corrected[a.Of] = !corrected[a.Of], true
		}
		add(out)
	}
	if _, err := os.Stat(filepath.Join(v.project.Dir, lockName)); err == nil && v.server.has(commandLock) {
		const title = "Accept the configuration into " + lockName
		add(codeAction{Title: title, Kind: kindSource, Command: &command{title, commandLock, []any{v.project.Dir}}})
	}
	return found, nil
}
