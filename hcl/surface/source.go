package surface

import (
	"path"
	"regexp"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl"
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
	digests   map[string]string // of the files that file(...) reads, by name
}

// readSource reads the blocks of some files of a configuration, and all its values.
func readSource(c *hcl.Config, names []string, parallel func(int, func(int))) *source {
	s := &source{files: c.Sources, blocks: map[string]*hclsyntax.Block{}, locals: map[string]hclsyntax.Expression{},
		variables: map[string]hclsyntax.Expression{}, secrets: map[string]bool{}, digests: c.FileDigests}
	for _, b := range c.Values {
		s.declare(b)
	}
	bodies := make([]*hclsyntax.Body, len(names))
	parallel(len(names), func(i int) { bodies[i], _ = syntax.Parse(names[i], c.Sources[names[i]]) })
	for _, body := range bodies {
		for _, b := range body.Blocks {
			s.blocks[strings.Join(append([]string{b.Type}, b.Labels...), " ")] = b
		}
	}
	return s
}

// declare adds the values that a block declares.
func (s *source) declare(b *hclsyntax.Block) {
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
		for _, line := range s.filesIn(text) {
			b.WriteString(line + "\n")
		}
	}
	add(text)
	return b.String()
}

// values returns a line for each local and variable that a text reads, and for each file that these read.
func (s *source) values(text string, own map[string]hclsyntax.Expression) string {
	var b strings.Builder
	seen := map[string]bool{}
	line := func(text string) { b.WriteString(valueMark + text) }
	var add func(text string)
	add = func(text string) {
		for _, file := range s.filesIn(text) {
			line(file)
		}
		for _, kind := range []struct {
			names  *regexp.Regexp
			values []map[string]hclsyntax.Expression
		}{
			{localName, []map[string]hclsyntax.Expression{own, s.locals}},
			{variableName, []map[string]hclsyntax.Expression{s.variables}},
		} {
			for _, m := range kind.names.FindAllStringSubmatch(text, -1) {
				for _, values := range kind.values {
					if e := values[m[1]]; e != nil && !seen[m[0]] {
						seen[m[0]] = true
						line(m[0] + " = " + clip(redact(s.words(e.Range()))))
						add(spacedDot.ReplaceAllString(s.normalize(e.Range()), "."))
					}
				}
			}
		}
	}
	add(text)
	return b.String()
}

// words returns the tokens of a range on one line, without comments and layout.
func (s *source) words(r hclv2.Range) string {
	tokens, _ := hclsyntax.LexConfig([]byte(s.text(r)), r.Filename, hclv2.InitialPos)
	var b strings.Builder
	glued := true
	for _, t := range tokens {
		before := glued
		glued = false
		switch t.Type {
		case hclsyntax.TokenComment, hclsyntax.TokenNewline, hclsyntax.TokenEOF:
			glued = before
			continue
		case hclsyntax.TokenOQuote:
			glued = true
		case hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenDot:
			before, glued = before || t.Type != hclsyntax.TokenOBrack, true
		case hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit, hclsyntax.TokenTemplateInterp:
			before, glued = true, true
		case hclsyntax.TokenCQuote, hclsyntax.TokenComma, hclsyntax.TokenCBrack, hclsyntax.TokenCParen:
			before = true
		case hclsyntax.TokenTemplateSeqEnd:
			before, glued = true, true
		}
		if !before {
			b.WriteByte(' ')
		}
		b.Write(t.Bytes)
	}
	return b.String()
}

// valueMark begins each of the values that a condition or a text reads.
const valueMark = "\nwhere "

// readFile matches a call that reads a file, and the name of the file if it is one text.
var readFile = regexp.MustCompile(`\bfile(?:base64)? ?\( ?(?:" ?([^"$%]*?) ?" ?\))?`)

// filesIn returns a line with the digest of each file that a text names. A name that is computed may be that of any
// file that a function reads.
func (s *source) filesIn(text string) (lines []string) {
	for _, m := range readFile.FindAllStringSubmatch(text, -1) {
		if m[1] == "" {
			lines = append(lines, "file with a computed name is one of "+digest(canonical(s.digests)))
		} else if d := s.digests[path.Clean(m[1])]; d != "" {
			lines = append(lines, "file "+m[1]+" is "+d)
		}
	}
	return lines
}

// message returns a template as it is written, with the values that it reads.
func (s *source) message(e hclsyntax.Expression, own map[string]hclsyntax.Expression) string {
	text := s.template(e)
	if e == nil {
		return text
	}
	read := spacedDot.ReplaceAllString(s.normalize(e.Range()), ".")
	return text + s.values(read, own)
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
