package lsp

import (
	"unicode/utf8"

	"hatchel/cmd/hatchel/editor"
	"hatchel/cmd/hatchel/editor/highlight"
	"hatchel/hcl/template"
)

// tokenTypes are the types of tokens, in the order of [highlight.Kind]. They are names of the protocol, which the
// themes of editors know.
var tokenTypes = []string{
	highlight.Keyword:       "keyword",
	highlight.Block:         "type",
	highlight.Argument:      "property",
	highlight.Variable:      "variable",
	highlight.Function:      "function",
	highlight.String:        "string",
	highlight.Number:        "number",
	highlight.Comment:       "comment",
	highlight.Operator:      "operator",
	highlight.Interpolation: "macro",
}

// tokenModifiers are the modifiers of the delimiters of a ${...}, by how its value is bound.
var tokenModifiers = []string{"bound", "escaped", "name", "listed"}

var modifierBits = map[template.BindingKind]uint32{template.Apart: 1, template.Escaped: 2, template.Name: 4,
	template.Listed: 8}

var semanticTokensOptions = map[string]any{
	"legend": map[string]any{"tokenTypes": tokenTypes, "tokenModifiers": tokenModifiers},
	"full":   true, "range": true,
}

type semanticTokensParams struct {
	documentParams
	Range *Range `json:"range"` // nil for the whole document
}

type semanticTokensResult struct {
	Data []uint32 `json:"data"`
}

// semanticTokens answers textDocument/semanticTokens/full and /range.
func semanticTokens(v *view, p *semanticTokensParams) (*semanticTokensResult, *responseError) {
	words := v.project.Words(v.file)
	if p.Range != nil {
		from, to := v.offset(p.Range.Start), v.offset(p.Range.End)
		first := 0
		for first < len(words) && words[first].End <= from {
			first++
		}
		last := first
		for last < len(words) && words[last].Start < to {
			last++
		}
		words = words[first:last]
	}
	return &semanticTokensResult{encodeWords(v.file.Text, words)}, nil
}

// encodeWords encodes words as the protocol wants them: each is five numbers, and its place is relative to the one
// before. It walks through the text once.
func encodeWords(t *editor.Text, words []editor.Word) []uint32 {
	data := make([]uint32, 0, 5*len(words))
	if len(words) == 0 {
		return data
	}
	at := t.Position(words[0].Start)
	line, column, offset := at.Line, at.Character, words[0].Start
	lastLine, lastColumn := 0, 0
	for _, w := range words {
		for line+1 < t.Lines() && t.Line(line+1).From <= w.Start {
			line, column = line+1, 0
			offset = t.Line(line).From
		}
		column += units(t.Src[offset:w.Start])
		length := units(t.Src[w.Start:w.End])
		if line > lastLine {
			lastColumn = 0
		}
		data = append(data, uint32(line-lastLine), uint32(column-lastColumn), uint32(length), uint32(w.Kind),
			modifierBits[w.Binding])
		lastLine, lastColumn = line, column
		column, offset = column+length, w.End
	}
	return data
}

// units returns the number of UTF-16 code units of a text.
func units(text []byte) (n int) {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r > 0xFFFF {
			n++
		}
		n++
		text = text[size:]
	}
	return n
}
