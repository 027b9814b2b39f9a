package lsp

import (
	"hatchel/cmd/hatchel/editor"
	"hatchel/hcl/diag"
)

// definition answers textDocument/definition.
func definition(v *view, p *positionParams) ([]Location, *responseError) {
	t, found := newTexts(v.project), []Location{}
	for _, d := range v.project.Definition(v.file, v.offset(p.Position)) {
		found = append(found, v.location(t, d.At))
	}
	return found, nil
}

type referenceParams struct {
	positionParams
	Context struct {
		Declarations bool `json:"includeDeclaration"`
	} `json:"context"`
}

// references answers textDocument/references.
func references(v *view, p *referenceParams) ([]Location, *responseError) {
	return v.locations(v.project.References(v.file, v.offset(p.Position), p.Context.Declarations)), nil
}

func (v *view) locations(ranges []diag.Range) []Location {
	t, found := newTexts(v.project), []Location{}
	for _, r := range ranges {
		found = append(found, v.location(t, r))
	}
	return found
}

type documentHighlight struct {
	Range Range `json:"range"`
}

// highlights answers textDocument/documentHighlight: the places in this document that name the same.
func highlights(v *view, p *positionParams) ([]documentHighlight, *responseError) {
	found := []documentHighlight{}
	for _, s := range v.project.Occurrences(v.file, v.offset(p.Position)) {
		found = append(found, documentHighlight{v.span(s)})
	}
	return found, nil
}

type prepareResult struct {
	Range       Range  `json:"range"`
	Placeholder string `json:"placeholder"`
}

// prepareRename answers textDocument/prepareRename.
func prepareRename(v *view, p *positionParams) (*prepareResult, *responseError) {
	found := v.project.SymbolAt(v.file, v.offset(p.Position))
	if found == nil || v.shift != nil || !v.project.Declares(found.Symbol) {
		return nil, nil
	}
	return &prepareResult{v.span(found.Span), found.Name}, nil
}

type renameParams struct {
	positionParams
	NewName string `json:"newName"`
}

// rename answers textDocument/rename.
func rename(v *view, p *renameParams) (*WorkspaceEdit, *responseError) {
	edits, err := v.project.Rename(v.file, v.offset(p.Position), p.NewName)
	if err != nil {
		return nil, failf("%s", err)
	}
	t, out := newTexts(v.project), &WorkspaceEdit{map[string][]TextEdit{}}
	for name, list := range edits {
		uri := v.location(t, diag.Range{File: name}).URI
		out.Changes[uri] = textEdits(t.of(name), list)
	}
	return out, nil
}

func textEdits(t *editor.Text, edits []editor.Edit) []TextEdit {
	out := []TextEdit{}
	for _, e := range edits {
		out = append(out, TextEdit{rangeIn(t, e.Span), e.Text})
	}
	return out
}
