package lsp

import (
	"fmt"

	"hatchel/cmd/hatchel/editor"
)

type completionParams struct {
	positionParams
	Context struct {
		Typed string `json:"triggerCharacter"` // empty for a request that is not due to a character
	} `json:"context"`
}

type completionList struct {
	Incomplete bool             `json:"isIncomplete"`
	Items      []completionItem `json:"items"`
}

type completionItem struct {
	Label         string         `json:"label"`
	Kind          int            `json:"kind"`
	Detail        string         `json:"detail,omitempty"`
	Documentation *MarkupContent `json:"documentation,omitempty"`
	SortText      string         `json:"sortText"`
	Format        int            `json:"insertTextFormat,omitempty"`
	Edit          TextEdit       `json:"textEdit"`
}

// itemKinds are the kinds of items as the protocol numbers them.
var itemKinds = map[editor.ItemKind]int{
	editor.ItemArgument: 10, editor.ItemBlock: 7, editor.ItemValue: 12, editor.ItemReference: 6, editor.ItemMember: 5,
	editor.ItemFunction: 3, editor.ItemType: 25, editor.ItemTable: 22, editor.ItemColumn: 5, editor.ItemKeyword: 14,
	editor.ItemSnippet: 15,
}

const formatSnippet = 2

// complete answers textDocument/completion from the text as it is and the last load that could read all files.
func complete(v *view, p *completionParams) (*completionList, *responseError) {
	if !v.project.IsInvited(v.file.Src, v.offset(p.Position), p.Context.Typed) {
		return &completionList{Items: []completionItem{}}, nil
	}
	found := v.project.Complete(v.doc.folder.whole, v.file.Src, v.offset(p.Position), v.doc.folder.tables())
	out := &completionList{Items: []completionItem{}, Incomplete: found.Cut}
	replaced := v.span(found.Span)
	for i, item := range found.Items {
		x := completionItem{Label: item.Label, Kind: itemKinds[item.Kind], Detail: item.Detail,
			SortText: fmt.Sprintf("%04d", i), Edit: TextEdit{replaced, item.Insert}}
		if item.Doc != "" {
			text := markdown(item.Doc)
			x.Documentation = &text
		}
		switch {
		case item.Snippet && v.server.snippets:
			x.Format = formatSnippet
		case item.Snippet:
			x.Edit.NewText = item.Plain()
		}
		out.Items = append(out.Items, x)
	}
	return out, nil
}
