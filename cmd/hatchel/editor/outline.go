package editor

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
)

// OutlineItem is a block or a local value in the outline of a file.
type OutlineItem struct {
	Name   string // its labels, or its type if it has none
	Type   string // the type of the block; "local" for a local value
	Whole  Span
	Header Span
	Inner  []OutlineItem
}

// Outline returns the blocks of a file and what is inside them, in written order.
func Outline(f *File) []OutlineItem { return outlineOf(f, f.Body) }

func outlineOf(f *File, body *hclsyntax.Body) (items []OutlineItem) {
	for _, b := range body.Blocks {
		item := OutlineItem{Name: strings.Join(b.Labels, " "), Type: b.Type, Header: spanOf(b.DefRange()),
			Whole: wholeSpan(f, b), Inner: outlineOf(f, b.Body)}
		if item.Name == "" {
			item.Name = b.Type
		}
		if b.Type == "locals" {
			for _, a := range b.Body.Attributes {
				item.Inner = append(item.Inner, OutlineItem{Name: a.Name, Type: "local", Whole: spanOf(a.SrcRange),
					Header: spanOf(a.NameRange)})
			}
			slices.SortFunc(item.Inner, func(a, b OutlineItem) int { return a.Whole.From - b.Whole.From })
		}
		items = append(items, item)
	}
	return items
}

// wholeSpan returns a block from its type to its closing brace, or to the end of its header if that is missing.
func wholeSpan(f *File, b *hclsyntax.Block) Span {
	from, to := b.TypeRange.Start.Byte, b.CloseBraceRange.End.Byte
	return Span{from, min(len(f.Src), max(to, b.DefRange().End.Byte))}
}

// maxSymbols is how many declarations of the whole configuration are returned for a query.
const maxSymbols = 500

// Search returns the declarations at the top level of all files whose names contain a text, whatever its case.
func (p *Project) Search(query string) (found []Declared) {
	query = strings.ToLower(query)
	for i := range p.Config.Blocks {
		b := &p.Config.Blocks[i]
		s, label, ok := symbolOfHeader(b)
		if ok && len(found) < maxSymbols && strings.Contains(strings.ToLower(s.Name), query) {
			found = append(found, Declared{s, b.Names[label], b.Whole})
		}
	}
	slices.SortStableFunc(found, func(a, b Declared) int { return compareRanges(a.At, b.At) })
	return found
}

// Noun returns what a declaration is called in a sentence, such as "variable".
func (s Symbol) Noun() string {
	if s.Kind == "var" {
		return "variable"
	}
	return s.Kind
}

// Regions returns the parts of a file that an editor can fold, as pairs of lines from 0: blocks, lists, objects,
// heredocs and comments of several lines. Comments are marked.
func Regions(f *File) (regions []Region) {
	tokens, _ := hclsyntax.LexConfig(f.Src, f.Name, startOfFile)
	var open []int // lines of opening brackets
	lastComment := -1
	for _, t := range tokens {
		line := t.Range.Start.Line - 1
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOHeredoc:
			open = append(open, line)
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCHeredoc:
			if len(open) == 0 {
				continue
			}
			from := open[len(open)-1]
			open = open[:len(open)-1]
			if line-1 > from { // the line of the closing bracket stays visible
				regions = append(regions, Region{from, line - 1, false})
			}
		case hclsyntax.TokenComment:
			last := line + strings.Count(strings.TrimSuffix(string(t.Bytes), "\n"), "\n")
			if n := len(regions) - 1; n >= 0 && regions[n].Comment && lastComment == line-1 {
				regions[n].To = last
			} else {
				regions = append(regions, Region{line, last, true})
			}
			lastComment = last
		}
	}
	return slices.DeleteFunc(regions, func(r Region) bool { return r.From >= r.To })
}

// Region is a part of a file that can be folded, by lines from 0.
type Region struct {
	From, To int
	Comment  bool
}

// Around returns the parts of a file around an offset, innermost first, each inside of the next: expressions, the
// argument, blocks and the file.
func (l *Language) Around(f *File, offset int) (spans []Span) {
	at := l.At(f, offset)
	add := func(s Span) {
		if n := len(spans); n == 0 || s != spans[n-1] && s.From <= spans[n-1].From && s.To >= spans[n-1].To {
			spans = append(spans, s)
		}
	}
	for _, e := range slices.Backward(at.Exprs) {
		add(spanOf(e.Range()))
	}
	if at.Attribute != nil {
		if at.Part == PartName {
			add(spanOf(at.Attribute.NameRange))
		}
		add(spanOf(at.Attribute.SrcRange))
	}
	for _, b := range slices.Backward(at.Blocks) {
		if b.OpenBraceRange.End.Byte <= offset && offset <= b.CloseBraceRange.Start.Byte {
			add(Span{b.OpenBraceRange.End.Byte, b.CloseBraceRange.Start.Byte})
		}
		add(wholeSpan(f, b.Block))
	}
	add(Span{0, len(f.Src)})
	return spans
}

// FormatEdits returns the changes that hatchel fmt makes, of the lines that touch a span. It returns diagnostics for a
// file with a syntax error.
func FormatEdits(f *File, of Span) ([]Edit, diag.Diagnostics) {
	formatted, diags := format(f)
	if diags.HasErrors() {
		return nil, diags
	}
	after := NewText(formatted)
	if after.Lines() != f.Lines() {
		return []Edit{{Span{0, len(f.Src)}, string(formatted)}}, nil
	}
	var edits []Edit
	for i := range f.Lines() {
		was, is := f.Line(i), after.Line(i)
		text := string(formatted[is.From:is.To])
		if string(f.Src[was.From:was.To]) != text && was.From <= of.To && of.From <= was.To {
			edits = append(edits, Edit{was, text})
		}
	}
	return edits, nil
}
