package shelltext

import (
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"mvdan.cc/sh/v3/syntax"

	"hatchel/hcl/template"
)

// scriptText is a script's text with variables in place of interpolations, and the source position
// of every byte.
type scriptText struct {
	text     string
	segments []segment
}

// segment is a part of a scriptText: constant text or an interpolation.
type segment struct {
	from, to int
	text     *template.Text
	value    *scriptValue
}

// scriptValue is an interpolation of a script and its quoting context.
type scriptValue struct {
	*template.Interpolation
	variable   string
	context    quoteContext
	enclosing  syntax.Node // the quotes, comment or here-document in which the shell expands nothing, or nil
	backquoted bool        // inside `...`
}

// quoteContext is the way in which the shell reads a position of a script.
type quoteContext int

const (
	ctxNone           quoteContext = iota // the shell does not expand variables here
	ctxBare                               // a word outside quotes
	ctxQuoted                             // inside double quotes, or where quotes are data
	ctxSingleQuoted                       // inside '...'
	ctxDollarQuoted                       // inside $'...'
	ctxComment                            // inside a comment
	ctxRawHereDoc                         // inside a here-document with a quoted delimiter
	ctxArithmetic                         // inside arithmetic
	ctxHereDocPattern                     // inside an operator of ${x...} in a here-document
)

// render writes the text with a variable in place of each interpolation.
func render(nodes []template.Node, interpolations []*scriptValue, write func(*scriptValue) string) *scriptText {
	var b strings.Builder
	l := &scriptText{}
	next := 0
	for _, n := range nodes {
		p := segment{from: b.Len()}
		switch n := n.(type) {
		case *template.Text:
			p.text = n
			b.WriteString(n.Value)
		case *template.Interpolation:
			p.value = interpolations[next]
			next++
			b.WriteString(write(p.value))
		}
		p.to = b.Len()
		l.segments = append(l.segments, p)
	}
	l.text = b.String()
	return l
}

func parameterOf(h *scriptValue) string { return "${" + h.variable + "}" }

// expansion returns the shell syntax that expands an interpolation's variable to its exact value.
func expansion(h *scriptValue) string {
	switch h.context {
	case ctxBare:
		return `"` + parameterOf(h) + `"`
	case ctxSingleQuoted:
		return `'"` + parameterOf(h) + `"'`
	case ctxDollarQuoted:
		return `'"` + parameterOf(h) + `"$'`
	}
	return parameterOf(h)
}

// rangeOf returns the source range of bytes: an interpolation's whole ${...}, or a part of constant
// text.
func (l *scriptText) rangeOf(from, to int) hclv2.Range {
	from = min(from, len(l.text)-1) // an error can be after the end
	to = max(to, from+1)
	var out hclv2.Range
	for _, p := range l.segments {
		if p.to <= from || p.from >= to || p.from == p.to {
			continue
		}
		var r hclv2.Range
		if p.value != nil {
			r = p.value.Range
		} else {
			r = p.text.Place(max(from, p.from)-p.from, min(to, p.to)-p.from)
		}
		if out == (hclv2.Range{}) {
			out = r
		} else {
			out = hclv2.RangeBetween(out, r)
		}
	}
	return out
}

// valuesIn returns the interpolations inside a node.
func (l *scriptText) valuesIn(n syntax.Node) []*scriptValue {
	var values []*scriptValue
	from, to := offsets(n)
	for _, p := range l.segments {
		if p.value != nil && p.from >= from && p.to <= to {
			values = append(values, p.value)
		}
	}
	return values
}

func offsets(n syntax.Node) (from, to int) { return int(n.Pos().Offset()), int(n.End().Offset()) }

// source returns a part of the script as written, on one line, or "" if it is too long to repeat.
func (l *scriptText) source(from, to int) string {
	var b strings.Builder
	for _, p := range l.segments {
		if p.to <= from || p.from >= to {
			continue
		}
		if p.value != nil {
			b.WriteString("${" + p.value.Source + "}")
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
