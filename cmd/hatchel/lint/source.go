package lint

import (
	"strings"
	"unicode/utf8"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"hatchel/hcl/diag"
)

// sourceFile is one parsed file.
type sourceFile struct {
	name string
	src  []byte
	body *hclsyntax.Body
}

// parseSources parses files that were loaded without errors, by name.
func parseSources(sources map[string][]byte, parallel func(int, func(int))) []*sourceFile {
	names := diag.SortedNames(sources)
	files := make([]*sourceFile, len(names))
	parse := func(i int) {
		name := names[i]
		f := &sourceFile{name: name, src: sources[name], body: &hclsyntax.Body{}}
		if parsed, _ := hclsyntax.ParseConfig(f.src, name, hclv2.InitialPos); parsed != nil {
			if body, ok := parsed.Body.(*hclsyntax.Body); ok {
				f.body = body
			}
		}
		files[i] = f
	}
	if parallel != nil {
		parallel(len(files), parse)
		return files
	}
	for i := range files {
		parse(i)
	}
	return files
}

// rangeOf returns the range from one byte of the file to another.
func (f *sourceFile) rangeOf(from, to int) diag.Range {
	return diag.Range{File: f.name, Start: f.position(from), End: f.position(to)}
}

func (f *sourceFile) position(at int) diag.Pos {
	before := string(f.src[:at])
	line := strings.LastIndexByte(before, '\n') + 1
	return diag.Pos{Line: strings.Count(before, "\n") + 1, Column: utf8.RuneCountInString(before[line:]) + 1, Byte: at}
}

// literal is a text that is written in a file, with the part of each template in one piece. What is not constant is a
// space in it.
type literal struct {
	file  *sourceFile
	text  string
	parts []part
}

// part is a piece of a literal that is constant.
type part struct {
	start int // in the text
	value string
	at    hclv2.Range
}

// source returns the bytes of the file that are those of the text. After an escape, which is written otherwise, it
// goes on to the end of the part.
func (l *literal) source(from, to int) diag.Range {
	start, end := -1, -1
	for _, p := range l.parts {
		written := l.file.src[p.at.Start.Byte:p.at.End.Byte]
		if start < 0 && from < p.start+len(p.value) {
			n := max(alignOffset(written, p.value, from-p.start), 0)
			first := p.value[max(from-p.start, 0)]
			for n < len(written)-1 && written[n] != first && written[n] == ' ' {
				n++ // indentation of the line
			}
			start = p.at.Start.Byte + n
		}
		if start < 0 || end > 0 && to <= p.start {
			continue
		}
		end = p.at.End.Byte
		if n := alignOffset(written, p.value, to-p.start); n >= 0 {
			end = p.at.Start.Byte + n
		}
	}
	if start < 0 || end < start {
		return diag.Range{File: l.file.name}
	}
	return l.file.rangeOf(start, end)
}

// alignOffset returns where the byte of a value at an offset is written, or -1. What is written may have more
// indentation, as in a heredoc; with escapes it differs otherwise.
func alignOffset(written []byte, value string, offset int) int {
	if offset > len(value) {
		return -1
	}
	at, indented := 0, true
	for i := range max(offset, 0) {
		for at < len(written) && indented && written[at] != value[i] && (written[at] == ' ' || written[at] == '\t') {
			at++
		}
		if at == len(written) || written[at] != value[i] {
			return -1
		}
		indented = value[i] == '\n' || indented && (value[i] == ' ' || value[i] == '\t')
		at++
	}
	return at
}

// literalsOf returns the texts of an expression.
func (f *sourceFile) literalsOf(e hclsyntax.Expression) (all []*literal) {
	add := func(parts ...hclsyntax.Expression) {
		l := &literal{file: f}
		for _, p := range parts {
			v, ok := p.(*hclsyntax.LiteralValueExpr)
			if !ok || v.Val.IsNull() || v.Val.Type() != cty.String {
				l.text += " "
				continue
			}
			l.parts = append(l.parts, part{len(l.text), v.Val.AsString(), v.SrcRange})
			l.text += v.Val.AsString()
		}
		if len(l.parts) > 0 {
			all = append(all, l)
		}
	}
	hclsyntax.VisitAll(e, func(n hclsyntax.Node) hclv2.Diagnostics {
		if t, ok := n.(*hclsyntax.TemplateExpr); ok {
			add(t.Parts...)
		}
		return nil
	})
	return all
}

// eachBlock calls do for every block of a body, at every depth, with the blocks around it.
func eachBlock(body *hclsyntax.Body, around []*hclsyntax.Block, do func(*hclsyntax.Block, []*hclsyntax.Block)) {
	for _, b := range body.Blocks {
		do(b, around)
		eachBlock(b.Body, append(around[:len(around):len(around)], b), do)
	}
}
