package lsp

import (
	"hatchel/cmd/hatchel/editor"
)

type documentSymbol struct {
	Name     string           `json:"name"`
	Detail   string           `json:"detail,omitempty"`
	Kind     int              `json:"kind"`
	Range    Range            `json:"range"`
	Selected Range            `json:"selectionRange"`
	Children []documentSymbol `json:"children,omitempty"`
}

// symbolKinds maps types of blocks to the kinds of symbols of the protocol. Others are objects.
var symbolKinds = map[string]int{
	"tool": 12, "prompt": 12, "resource": 1, "skill": 1, "connection": 2, "variable": 13, "var": 13, "local": 13,
	"secret": 20, "type": 23, "input": 8, "argument": 8, "step": 6, "toolset": 4, "policy": 11, "webhook": 24, "on": 24,
	"test": 5,
}

const kindObject = 19

func symbolKind(of string) int {
	if kind, ok := symbolKinds[of]; ok {
		return kind
	}
	return kindObject
}

// documentSymbols answers textDocument/documentSymbol.
func documentSymbols(v *view, _ *documentParams) ([]documentSymbol, *responseError) {
	return v.symbols(editor.Outline(v.file)), nil
}

func (v *view) symbols(items []editor.OutlineItem) []documentSymbol {
	out := []documentSymbol{}
	for _, item := range items {
		detail := item.Type
		if detail == item.Name {
			detail = ""
		}
		out = append(out, documentSymbol{item.Name, detail, symbolKind(item.Type), v.span(item.Whole),
			v.span(item.Header), v.symbols(item.Inner)})
	}
	return out
}

type symbolInformation struct {
	Name      string   `json:"name"`
	Kind      int      `json:"kind"`
	Location  Location `json:"location"`
	Container string   `json:"containerName,omitempty"`
}

type queryParams struct {
	Query string `json:"query"`
}

// workspaceSymbols answers workspace/symbol: the declarations at the top level of all folders.
func workspaceSymbols(s *Server, p *queryParams) ([]symbolInformation, *responseError) {
	found := []symbolInformation{}
	for _, f := range s.sortedFolders() {
		if f.project == nil || !f.project.Own {
			continue
		}
		v, t := s.viewOf(f), newTexts(f.project)
		for _, d := range f.project.Search(p.Query) {
			found = append(found, symbolInformation{d.Name, symbolKind(d.Kind), v.location(t, d.At), d.Noun()})
		}
	}
	return found, nil
}

type foldingRange struct {
	From int    `json:"startLine"`
	To   int    `json:"endLine"`
	Kind string `json:"kind,omitempty"`
}

// foldingRanges answers textDocument/foldingRange.
func foldingRanges(v *view, _ *documentParams) ([]foldingRange, *responseError) {
	out := []foldingRange{}
	for _, r := range editor.Regions(v.file) {
		kind := ""
		if r.Comment {
			kind = "comment"
		}
		out = append(out, foldingRange{r.From, r.To, kind})
	}
	return out, nil
}

type selectionParams struct {
	documentParams
	Positions []editor.Position `json:"positions"`
}

type selectionRange struct {
	Range  Range           `json:"range"`
	Parent *selectionRange `json:"parent,omitempty"`
}

// maxSelections is how many positions of one request are answered.
const maxSelections = 100

// selectionRanges answers textDocument/selectionRange.
func selectionRanges(v *view, p *selectionParams) ([]*selectionRange, *responseError) {
	if len(p.Positions) > maxSelections {
		return nil, failf("there are %d positions, and at most %d are answered", len(p.Positions), maxSelections)
	}
	out := []*selectionRange{}
	for _, at := range p.Positions {
		var outer *selectionRange
		spans := v.project.Around(v.file, v.offset(at))
		for i := len(spans) - 1; i >= 0; i-- {
			outer = &selectionRange{v.span(spans[i]), outer}
		}
		out = append(out, outer)
	}
	return out, nil
}

// formatDocument answers textDocument/formatting.
func formatDocument(v *view, _ *documentParams) ([]TextEdit, *responseError) {
	return v.format(editor.Span{From: 0, To: len(v.file.Src)})
}

type rangeFormatParams struct {
	documentParams
	Range Range `json:"range"`
}

// formatRange answers textDocument/rangeFormatting.
func formatRange(v *view, p *rangeFormatParams) ([]TextEdit, *responseError) {
	return v.format(editor.Span{From: v.offset(p.Range.Start), To: v.offset(p.Range.End)})
}

func (v *view) format(of editor.Span) ([]TextEdit, *responseError) {
	edits, diags := editor.FormatEdits(v.file, of)
	if diags.HasErrors() {
		return nil, nil // it is published, and an editor that formats whenever it saves would complain twice
	}
	return textEdits(v.file.Text, edits), nil
}
