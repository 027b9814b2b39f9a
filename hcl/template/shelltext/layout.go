package shelltext

import (
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
)

// layout is a script's text with its holes as variables, and where every byte of it was written.
type layout struct {
	text   string
	pieces []piece
}

// piece is a stretch of a layout: the author's text or a hole.
type piece struct {
	from, to int
	text     *template.Text
	hole     *scriptHole
}

// scriptHole is a hole of a script and the place it stands in.
type scriptHole struct {
	*template.Interpolation
	variable string
	place    spot
}

// spot is what the shell does at a place of a script.
type spot int

const (
	nowhere       spot = iota // the shell would not see a variable here
	bare                      // a word outside quotes
	quoted                    // inside double quotes, or where quotes would be data
	inSingle                  // inside '...'
	inDollar                  // inside $'...'
	inComment                 // inside a comment
	inRawHere                 // inside a here-document with a quoted delimiter
	inArith                   // inside arithmetic
	inHerePattern             // inside an operator of ${x...} in a here-document
)

// lay writes the text and puts each hole's variable where it stands.
func lay(nodes []template.Node, holes []*scriptHole, write func(*scriptHole) string) *layout {
	var b strings.Builder
	l := &layout{}
	next := 0
	for _, n := range nodes {
		p := piece{from: b.Len()}
		switch n := n.(type) {
		case *template.Text:
			p.text = n
			b.WriteString(n.Value)
		case *template.Interpolation:
			p.hole = holes[next]
			next++
			b.WriteString(write(p.hole))
		}
		p.to = b.Len()
		l.pieces = append(l.pieces, p)
	}
	l.text = b.String()
	return l
}

func plain(h *scriptHole) string { return "${" + h.variable + "}" }

// expansion is how a hole is written so that the shell takes its value as it is.
func expansion(h *scriptHole) string {
	switch h.place {
	case bare:
		return `"` + plain(h) + `"`
	case inSingle:
		return `'"` + plain(h) + `"'`
	case inDollar:
		return `'"` + plain(h) + `"$'`
	}
	return plain(h)
}

// at is where bytes of the layout were written: a hole's whole ${...}, or a stretch of the author's text.
func (l *layout) at(from, to int) hclv2.Range {
	if to <= from {
		to = from + 1
	}
	var out hclv2.Range
	for _, p := range l.pieces {
		if p.to <= from || p.from >= to || p.from == p.to {
			continue
		}
		var r hclv2.Range
		if p.hole != nil {
			r = p.hole.Range
		} else {
			r = p.text.Place(max(from, p.from)-p.from, min(to, p.to)-p.from)
		}
		if out == (hclv2.Range{}) {
			out = r
		} else {
			out = hclv2.RangeBetween(out, r)
		}
	}
	if out == (hclv2.Range{}) && len(l.pieces) > 0 {
		return l.end()
	}
	return out
}

// end is the last byte of the layout.
func (l *layout) end() hclv2.Range {
	for i := len(l.pieces) - 1; i >= 0; i-- {
		switch p := l.pieces[i]; {
		case p.hole != nil:
			return p.hole.Range
		case p.to > p.from:
			return p.text.Place(p.to-p.from-1, p.to-p.from)
		}
	}
	return hclv2.Range{}
}

// source writes a stretch of the layout as the author would, on one line, or "" when it is too long to repeat.
func (l *layout) source(from, to int) string {
	var b strings.Builder
	for _, p := range l.pieces {
		if p.to <= from || p.from >= to {
			continue
		}
		if p.hole != nil {
			b.WriteString("${" + p.hole.Source + "}")
			continue
		}
		s := p.text.Value[max(from, p.from)-p.from : min(to, p.to)-p.from]
		b.WriteString(strings.NewReplacer("${", "$${", "%{", "%%{").Replace(s))
	}
	if s := b.String(); len(s) <= 100 && !strings.Contains(s, "\n") {
		return s
	}
	return ""
}
