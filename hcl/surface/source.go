package surface

import (
	"regexp"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/syntax"
)

// source is the syntax of a configuration. It is read for what the author wrote, such as the name of
// a variable instead of its value.
type source struct {
	files     map[string][]byte
	blocks    map[string]*hclsyntax.Block // by first line, such as "tool pay"
	locals    map[string]hclsyntax.Expression
	variables map[string]hclsyntax.Expression // defaults; nil for none
	secrets   map[string]bool
}

func readSource(files map[string][]byte, parallel func(int, func(int))) *source {
	s := &source{files: files, blocks: map[string]*hclsyntax.Block{}, locals: map[string]hclsyntax.Expression{},
		variables: map[string]hclsyntax.Expression{}, secrets: map[string]bool{}}
	names := diag.SortedNames(files)
	bodies := make([]*hclsyntax.Body, len(names))
	parallel(len(names), func(i int) { bodies[i], _ = syntax.Parse(names[i], files[names[i]]) })
	for _, body := range bodies {
		for _, b := range body.Blocks {
			s.add(b)
		}
	}
	return s
}

func (s *source) add(b *hclsyntax.Block) {
	switch b.Type {
	case "locals":
		for name, a := range b.Body.Attributes {
			s.locals[name] = a.Expr
		}
	case "variable":
		var value hclsyntax.Expression
		if a := b.Body.Attributes["default"]; a != nil {
			value = a.Expr
		}
		s.variables[b.Labels[0]] = value
	case "secret":
		s.secrets[b.Labels[0]] = true
	}
	s.blocks[strings.Join(append([]string{b.Type}, b.Labels...), " ")] = b
}

// attribute returns the expression of an argument of a block; nil for none.
func attribute(b *hclsyntax.Block, name string) hclsyntax.Expression {
	if b == nil {
		return nil
	}
	if a := b.Body.Attributes[name]; a != nil {
		return a.Expr
	}
	return nil
}

// text returns the bytes of a range.
func (s *source) text(r hclv2.Range) string {
	src := s.files[r.Filename]
	if r.Start.Byte > r.End.Byte || r.End.Byte > len(src) {
		return ""
	}
	return string(src[r.Start.Byte:r.End.Byte])
}

// at parses the expression in a range.
func (s *source) at(r hcl.Range) hclsyntax.Expression {
	src := s.files[r.File]
	if r.End.Byte > len(src) || r.Start.Byte >= r.End.Byte {
		return nil
	}
	text := src[r.Start.Byte:r.End.Byte]
	start := hclv2.Pos{Line: r.Start.Line, Column: r.Start.Column, Byte: r.Start.Byte}
	e, diags := hclsyntax.ParseExpression(text, r.File, start)
	if diags.HasErrors() && strings.HasPrefix(string(text), "<<") { // the end of a heredoc is a line of its own
		e, diags = hclsyntax.ParseExpression(append(slices.Clone(text), '\n'), r.File, start)
	}
	if diags.HasErrors() {
		return nil
	}
	return e
}

// normalize returns the tokens of a range, without comments and layout.
func (s *source) normalize(r hclv2.Range) string {
	tokens, _ := hclsyntax.LexConfig([]byte(s.text(r)), r.Filename, hclv2.InitialPos)
	var b strings.Builder
	indented, newline := false, false
	for _, t := range tokens {
		text := string(t.Bytes)
		switch t.Type {
		case hclsyntax.TokenComment:
			newline = newline || strings.HasSuffix(text, "\n")
			continue
		case hclsyntax.TokenNewline, hclsyntax.TokenEOF:
			newline = true
			continue
		case hclsyntax.TokenOHeredoc:
			indented = strings.HasPrefix(text, "<<-")
			text = "<<\n"
		case hclsyntax.TokenCHeredoc:
			indented, text = false, ">>"
		case hclsyntax.TokenStringLit:
			if indented {
				text = strings.TrimLeft(text, " \t")
			}
		}
		if newline && b.Len() > 0 {
			b.WriteByte('\n')
		}
		newline = false
		b.WriteString(text)
		if t.Type != hclsyntax.TokenStringLit && t.Type != hclsyntax.TokenQuotedLit {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

var (
	localName    = regexp.MustCompile(`\blocal\.([\pL_][\pL\pN_-]*)`)
	variableName = regexp.MustCompile(`\bvar\.([\pL_][\pL\pN_-]*)`)
	secretName   = regexp.MustCompile(`\bsecret\.([\pL_][\pL\pN_-]*)`)
	spacedDot    = regexp.MustCompile(` \. `)
)

// closure returns normalized text with that of the locals and the defaults of the variables that it
// reads, so that a change of these is a change of their readers.
func (s *source) closure(text string) string {
	var b strings.Builder
	seen := map[string]bool{}
	var add func(text string)
	add = func(text string) {
		text = spacedDot.ReplaceAllString(text, ".")
		b.WriteString(text)
		b.WriteByte('\n')
		for _, m := range localName.FindAllStringSubmatch(text, -1) {
			if e := s.locals[m[1]]; e != nil && !seen[m[0]] {
				seen[m[0]] = true
				add(m[0] + " = " + s.normalize(e.Range()))
			}
		}
		for _, m := range variableName.FindAllStringSubmatch(text, -1) {
			if e := s.variables[m[1]]; e != nil && !seen[m[0]] {
				seen[m[0]] = true
				add(m[0] + " = " + s.normalize(e.Range()))
			}
		}
	}
	add(text)
	return b.String()
}

// secretsIn returns the secrets that a closure reads, sorted.
func (s *source) secretsIn(closure string) (names []string) {
	for _, m := range secretName.FindAllStringSubmatch(closure, -1) {
		if s.secrets[m[1]] {
			names = append(names, m[0])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// template returns a template as it is written, without quotes, heredoc markers and indentation.
func (s *source) template(e hclsyntax.Expression) string {
	switch e := e.(type) {
	case nil:
		return ""
	case *hclsyntax.TemplateExpr:
		if slices.ContainsFunc(e.Parts, isDirective) { // its text is spread over the parts of the directive
			return strings.Join(strings.Fields(s.normalize(e.SrcRange)), " ")
		}
		var b strings.Builder
		for _, p := range e.Parts {
			if text, ok := literalText(p); ok {
				b.WriteString(text)
				continue
			}
			b.WriteString("${" + strings.TrimSpace(s.text(p.Range())) + "}")
		}
		return b.String()
	case *hclsyntax.TemplateWrapExpr:
		return "${" + strings.TrimSpace(s.text(e.Wrapped.Range())) + "}"
	}
	return strings.TrimSpace(spacedDot.ReplaceAllString(s.normalize(e.Range()), "."))
}

func isDirective(e hclsyntax.Expression) bool {
	switch e := e.(type) {
	case *hclsyntax.ConditionalExpr:
		_, text := e.TrueResult.(*hclsyntax.TemplateExpr)
		return text
	case *hclsyntax.TemplateJoinExpr:
		return true
	}
	return false
}

// literalText returns the text of a constant part of a template.
func literalText(e hclsyntax.Expression) (string, bool) {
	l, ok := e.(*hclsyntax.LiteralValueExpr)
	if !ok || l.Val.IsNull() || !l.Val.Type().Equals(stringType) {
		return "", false
	}
	return l.Val.AsString(), true
}
