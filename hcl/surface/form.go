package surface

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/value"
	"hatchel/internal/cut"
	"hatchel/internal/lazyregexp"
)

// The normal form of an expression is its parsed tree in one notation. Locals are replaced by their values, the names
// of variables have their defaults with them, and calls that read a file the digest of its content. Two expressions
// with one normal form do the same in every call; white space, comments, the form of a text and the names of locals
// are not part of it. Which names an expression reads is what the load has recorded.

// maxForm is the maximum length of a normal form that is shown whole, in bytes; a longer one ends with its digest.
const maxForm = 4000

// clip shortens a text to some bytes, without losing what it says: the digest stands for the whole.
func clip(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return text[:cut.Before(text, size)] + "… " + digest([]byte(text))
}

// formCache keeps the normal forms of locals and of the defaults of variables.
type formCache struct {
	mu    sync.Mutex
	forms map[hclsyntax.Expression]string // guarded by mu
}

// valueForm returns the normal form of the value of a local or a variable.
func (s *source) valueForm(e hclsyntax.Expression) string {
	s.cache.mu.Lock()
	text, known := s.cache.forms[e]
	s.cache.mu.Unlock()
	if !known {
		alone := *s // no variable of a loop around the reader is one of the value, which others read, too
		alone.loop, alone.depth, alone.inline = nil, 0, false
		text = clip(alone.form(e), maxForm) // a local may be read by many others
		s.cache.mu.Lock()
		s.cache.forms[e] = text
		s.cache.mu.Unlock()
	}
	return text
}

// form returns the normal form of an expression, which is empty for none.
func (s *source) form(e hclsyntax.Expression) string {
	if e == nil {
		return ""
	}
	r := e.Range()
	text := s.formOf(e)
	for _, f := range s.reads[r.Filename].FilesOf(r.Start.Byte, r.End.Byte) {
		text += " of " + f.Name + " " + f.Digest
	}
	return text
}

func (s *source) formOf(e hclsyntax.Expression) string {
	if t := hclexpr.Traversal(e); t != nil {
		return s.traversalForm(t)
	}
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		return s.literalForm(e)
	case *hclsyntax.TemplateExpr:
		if p := s.reads[e.SrcRange.Filename].Program(e.SrcRange.Start.Byte); p != nil {
			return p.Form(s.programValue).String()
		}
		return s.templateForm(e)
	case *hclsyntax.TemplateWrapExpr:
		if isLiteral(e.Wrapped) { // a value in a template, which is no text of it
			return `"${` + s.form(e.Wrapped) + `}"`
		}
		return s.form(e.Wrapped)
	case *hclsyntax.ParenthesesExpr:
		return s.form(e.Expression)
	case *hclsyntax.RelativeTraversalExpr:
		return s.operand(e.Source) + steps(e.Traversal)
	case *hclsyntax.IndexExpr:
		return s.operand(e.Collection) + "[" + s.form(e.Key) + "]"
	case *hclsyntax.SplatExpr:
		return s.operand(e.Source) + "[*]" + s.form(e.Each)
	case *hclsyntax.AnonSymbolExpr:
		return "" // the element of a splat
	case *hclsyntax.ConditionalExpr:
		return s.operand(e.Condition) + " ? " + s.operand(e.TrueResult) + " : " + s.operand(e.FalseResult)
	case *hclsyntax.BinaryOpExpr:
		return s.operand(e.LHS) + " " + operators[e.Op] + " " + s.operand(e.RHS)
	case *hclsyntax.UnaryOpExpr:
		return operators[e.Op] + s.operand(e.Val)
	case *hclsyntax.FunctionCallExpr:
		end := ")"
		if e.ExpandFinal {
			end = "...)"
		}
		return e.Name + "(" + s.list(e.Args) + end
	case *hclsyntax.TupleConsExpr:
		return "[" + s.list(e.Exprs) + "]"
	case *hclsyntax.ObjectConsExpr:
		items := make([]string, len(e.Items))
		for i, item := range e.Items {
			items[i] = s.keyForm(item.KeyExpr) + " = " + s.form(item.ValueExpr)
		}
		return "{" + strings.Join(items, ", ") + "}"
	case *hclsyntax.ForExpr:
		return s.loopForm(e)
	}
	return s.text(e.Range()) // of a form that the language does not have
}

var operators = map[*hclsyntax.Operation]string{
	hclsyntax.OpLogicalOr: "||", hclsyntax.OpLogicalAnd: "&&", hclsyntax.OpLogicalNot: "!", hclsyntax.OpEqual: "==",
	hclsyntax.OpNotEqual: "!=", hclsyntax.OpGreaterThan: ">", hclsyntax.OpGreaterThanOrEqual: ">=",
	hclsyntax.OpLessThan: "<", hclsyntax.OpLessThanOrEqual: "<=", hclsyntax.OpAdd: "+", hclsyntax.OpSubtract: "-",
	hclsyntax.OpMultiply: "*", hclsyntax.OpDivide: "/", hclsyntax.OpModulo: "%", hclsyntax.OpNegate: "-",
}

func (s *source) list(exprs []hclsyntax.Expression) string {
	forms := make([]string, len(exprs))
	for i, e := range exprs {
		forms[i] = s.form(e)
	}
	return strings.Join(forms, ", ")
}

// operand returns the normal form of a part of an operation, in parentheses if it is one itself.
func (s *source) operand(e hclsyntax.Expression) string {
	switch x := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return s.operand(x.Expression)
	case *hclsyntax.TemplateWrapExpr:
		return s.operand(x.Wrapped)
	case *hclsyntax.ConditionalExpr, *hclsyntax.BinaryOpExpr, *hclsyntax.UnaryOpExpr, *hclsyntax.SplatExpr:
		return "(" + s.form(e) + ")"
	}
	return s.form(e)
}

// literalForm returns a literal: a text as JSON, a number as it is written.
func (s *source) literalForm(e *hclsyntax.LiteralValueExpr) string {
	switch {
	case e.Val.IsNull():
		return "null"
	case e.Val.Type() == cty.String:
		return string(value.AppendCanonicalString(nil, e.Val.AsString()))
	case e.Val.Type() == cty.Bool:
		return strconv.FormatBool(e.Val.True())
	}
	return strings.TrimSpace(s.text(e.SrcRange))
}

// loopForm returns the normal form of a for expression.
func (s *source) loopForm(e *hclsyntax.ForExpr) string {
	inner := s.inLoop(e)
	body := inner.form(e.ValExpr)
	if e.KeyExpr != nil {
		body = inner.form(e.KeyExpr) + " => " + body
	}
	if e.Group {
		body += "..."
	}
	if e.CondExpr != nil {
		body += " if " + inner.form(e.CondExpr)
	}
	names, rename := inner.loopNames(e, body)
	body = rename.Replace(body)
	brackets := [2]string{"[", "]"}
	if e.KeyExpr != nil {
		brackets = [2]string{"{", "}"}
	}
	return brackets[0] + "for " + names + " in " + s.form(e.CollExpr) + " : " + body + brackets[1]
}

// inLoop returns the source as the body of a loop reads it: with a mark in place of each of its variables, until their
// names are known.
func (s *source) inLoop(e *hclsyntax.ForExpr) *source {
	inner := *s
	inner.loop = maps.Clone(s.loop)
	if inner.loop == nil {
		inner.loop = map[string]string{}
	}
	inner.depth++
	for i, name := range []string{e.ValVar, e.KeyVar} {
		if name != "" {
			inner.loop[name] = "\x01" + strconv.Itoa(inner.depth) + []string{"v", "k"}[i] + "\x01"
		}
	}
	return &inner
}

// loopNames returns the names of the variables of a loop, and what puts them in place of their marks: another name in
// the configuration is the same here. They are the first ones that its body does not have.
func (s *source) loopNames(e *hclsyntax.ForExpr, body string) (names string, rename *strings.Replacer) {
	n := 1
	for strings.Contains(body, "item"+strconv.Itoa(n)) || strings.Contains(body, "key"+strconv.Itoa(n)) {
		n++
	}
	names = "item" + strconv.Itoa(n)
	marks := []string{s.loop[e.ValVar], names}
	if e.KeyVar != "" {
		key := "key" + strconv.Itoa(n)
		marks, names = append(marks, s.loop[e.KeyVar], key), key+", "+names
	}
	return names, strings.NewReplacer(marks...)
}

// keyForm returns the key of a member of an object: a name, or an expression in parentheses.
func (s *source) keyForm(key hclsyntax.Expression) string {
	if name, ok := s.memberName(key); ok {
		if hclsyntax.ValidIdentifier(name) {
			return name
		}
		return string(value.AppendCanonicalString(nil, name))
	}
	return "(" + s.form(key.(*hclsyntax.ObjectConsKeyExpr).Wrapped) + ")"
}

// memberName returns the name of a member of an object, and whether it is constant.
func (s *source) memberName(key hclsyntax.Expression) (name string, constant bool) {
	wrapped, ok := key.(*hclsyntax.ObjectConsKeyExpr)
	if !ok {
		return "", false
	}
	if word := hclv2.ExprAsKeyword(wrapped.Wrapped); word != "" && !wrapped.ForceNonLiteral {
		return word, true
	}
	return constantText(wrapped.Wrapped)
}

// constantText returns the text of an expression that is nothing else.
func constantText(e hclsyntax.Expression) (text string, constant bool) {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return constantText(e.Expression)
	case *hclsyntax.TemplateExpr:
		for _, part := range e.Parts {
			t, ok := literalText(part)
			if !ok {
				return "", false
			}
			text += t
		}
		return text, true
	}
	return literalText(e)
}

// literalText returns the text of a literal.
func literalText(e hclsyntax.Expression) (string, bool) {
	l, ok := e.(*hclsyntax.LiteralValueExpr)
	if !ok || l.Val.IsNull() || l.Val.Type() != cty.String {
		return "", false
	}
	return l.Val.AsString(), true
}

// templateForm returns a template as a text in quotes, in which ${…} and %{…} stand for what it computes.
func (s *source) templateForm(e *hclsyntax.TemplateExpr) string {
	parts := s.templateParts(e.Parts)
	if layout := s.layouts[place{e.SrcRange.Filename, e.SrcRange.Start.Byte}]; layout != nil {
		parts = layOut(parts, layout)
	}
	out := []byte{'"'}
	for _, p := range parts {
		if p.isText {
			quoted := value.AppendCanonicalString(nil, escapeTemplate(p.text))
			p.text = string(quoted[1 : len(quoted)-1])
		}
		out = append(out, p.text...)
	}
	return string(append(out, '"'))
}

// place is the first byte of an expression.
type place struct {
	file string
	at   int
}

// layOut returns the parts of a template whose text is laid out as a whole. Layout keeps zero bytes, which the text has
// for each value.
func layOut(parts []templatePart, layout func(string) string) (out []templatePart) {
	var text strings.Builder
	for _, p := range parts {
		if p.isText {
			text.WriteString(p.text)
		} else {
			text.WriteByte(0)
		}
	}
	texts := strings.Split(layout(text.String()), "\x00")
	for _, p := range parts {
		if p.isText {
			continue
		}
		out = append(out, templatePart{true, texts[0]}, p)
		texts = texts[1:]
	}
	return append(out, templatePart{true, strings.Join(texts, "")})
}

// escapeTemplate returns a text as it is written in a template.
func escapeTemplate(text string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(text)
}

// templatePart is a part of a template: a text, or what stands for a value, with its braces.
type templatePart struct {
	isText bool
	text   string
}

// plainWord matches a text that is the same in every part of a request: in the address nothing of it is escaped.
var plainWord = lazyregexp.New(`^[A-Za-z0-9_-]+$`)

// constantWord returns the text of a part of a template of a request that is a constant word, such as a local: it is
// the same as the word in the text around it. It is not so in a statement of SQL, which binds it, and in a script.
func (s *source) constantWord(part hclsyntax.Expression) (text string, ok bool) {
	if !s.inline {
		return "", false
	}
	text, ok = constantText(s.follow(part))
	return text, ok && plainWord.MatchString(text)
}

func (s *source) templateParts(parts []hclsyntax.Expression) (out []templatePart) {
	value := func(text string) { out = append(out, templatePart{text: text}) }
	branch := func(e hclsyntax.Expression) { out = append(out, s.branchParts(e)...) }
	for _, part := range parts {
		written := s.text(part.Range())
		switch e := part.(type) {
		case *hclsyntax.LiteralValueExpr:
			if text, ok := literalText(e); ok && !strings.HasPrefix(written, "${") {
				if last := len(out) - 1; last >= 0 && out[last].isText {
					out[last].text += text
				} else {
					out = append(out, templatePart{true, text})
				}
				continue
			}
		case *hclsyntax.ConditionalExpr:
			if strings.HasPrefix(written, "%{") {
				value("%{if " + s.form(e.Condition) + "}")
				branch(e.TrueResult)
				value("%{else}")
				branch(e.FalseResult)
				value("%{endif}")
				continue
			}
		case *hclsyntax.TemplateJoinExpr:
			loop := e.Tuple.(*hclsyntax.ForExpr)
			inner := s.inLoop(loop)
			body := inner.branchParts(loop.ValExpr)
			var values strings.Builder
			for _, p := range body {
				values.WriteString(p.text)
			}
			names, rename := inner.loopNames(loop, values.String())
			value("%{for " + names + " in " + s.form(loop.CollExpr) + "}")
			for _, p := range body {
				out = append(out, templatePart{p.isText, rename.Replace(p.text)})
			}
			value("%{endfor}")
			continue
		}
		if text, ok := s.constantWord(part); ok {
			out = append(out, templatePart{true, text})
			continue
		}
		value("${" + s.form(part) + "}")
	}
	return out
}

// branchParts returns the parts of what is between two directives.
func (s *source) branchParts(e hclsyntax.Expression) []templatePart {
	if t, ok := e.(*hclsyntax.TemplateExpr); ok {
		return s.templateParts(t.Parts)
	}
	return s.templateParts([]hclsyntax.Expression{e})
}

// steps returns the steps of a traversal.
func steps(t hclv2.Traversal) string {
	var b strings.Builder
	for _, step := range t {
		if name, ok := hclexpr.TraverserName(step); ok {
			b.WriteString(memberStep(name))
		} else if index, ok := step.(hclv2.TraverseIndex); ok {
			b.WriteString("[" + index.Key.AsBigFloat().Text('f', -1) + "]")
		}
	}
	return b.String()
}

func memberStep(name string) string {
	if hclsyntax.ValidIdentifier(name) {
		return "." + name
	}
	return "[" + string(value.AppendCanonicalString(nil, name)) + "]"
}

// traversalForm returns the normal form of a traversal. The value of a local, or of a member of one that is written as
// an object, stands for it.
func (s *source) traversalForm(t hclv2.Traversal) string {
	r := t.SourceRange()
	for _, read := range s.reads[r.Filename].In(r.Start.Byte, r.Start.Byte+1) {
		path := eval.SplitPath(read.Path)
		if path[0] != t.RootName() {
			continue
		}
		if text := s.programValue(path); text != "" {
			return text + steps(t[len(path):])
		}
	}
	if mark := s.loop[t.RootName()]; mark != "" {
		return mark + steps(t[1:])
	}
	return t.RootName() + steps(t[1:]) // a value of a call
}

// programValue returns the normal form of the value of a traversal; empty for a value of a call.
func (s *source) programValue(path []string) string {
	switch path[0] {
	case "local":
		if len(path) == 1 {
			return "{local of " + s.digestOf(s.locals) + "}"
		}
		e, rest := s.localAt(path[1:])
		if e == nil {
			return ""
		}
		text := s.valueForm(e)
		if len(rest) > 0 || needsParentheses(e) {
			text = "(" + text + ")"
		}
		for _, name := range rest {
			text += memberStep(name)
		}
		return text
	case "var":
		if len(path) == 1 {
			return "{var of " + s.digestOf(s.variables) + "}"
		}
		text := "var." + path[1]
		if e := s.variables[path[1]]; e != nil {
			text = "{" + text + " = " + s.valueForm(e) + "}"
		}
		for _, name := range path[2:] {
			text += memberStep(name)
		}
		return text
	}
	return ""
}

// needsParentheses reports whether an expression is an operation.
func needsParentheses(e hclsyntax.Expression) bool {
	switch e := e.(type) {
	case *hclsyntax.ConditionalExpr, *hclsyntax.BinaryOpExpr, *hclsyntax.UnaryOpExpr, *hclsyntax.SplatExpr:
		return true
	case *hclsyntax.ParenthesesExpr:
		return needsParentheses(e.Expression)
	case *hclsyntax.TemplateWrapExpr:
		return needsParentheses(e.Wrapped)
	}
	return false
}

// digestOf returns the digest of values by their names.
func (s *source) digestOf(values map[string]hclsyntax.Expression) string {
	forms := map[string]string{}
	for name, e := range values {
		forms[name] = ""
		if e != nil {
			forms[name] = s.valueForm(e)
		}
	}
	return digest(canonical(forms))
}

// localAt returns the expression of a local, or of a member of one that is written as an object, and the names of the
// path that are left; nil for none.
func (s *source) localAt(path []string) (e hclsyntax.Expression, rest []string) {
	e = s.locals[path[0]]
	for rest = path[1:]; len(rest) > 0 && e != nil; rest = rest[1:] {
		member := s.member(e, rest[0])
		if member == nil {
			break
		}
		e = member
	}
	return e, rest
}

// member returns the expression of a member; nil unless e is written as an object whose names are all constant.
func (s *source) member(e hclsyntax.Expression, name string) (found hclsyntax.Expression) {
	switch x := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return s.member(x.Expression, name)
	case *hclsyntax.ObjectConsExpr:
		for _, item := range x.Items {
			key, constant := s.memberName(item.KeyExpr)
			if !constant {
				return nil
			}
			if key == name {
				found = item.ValueExpr
			}
		}
	}
	return found
}

// isLiteral reports whether an expression is a literal or a text.
func isLiteral(e hclsyntax.Expression) bool {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return isLiteral(e.Expression)
	case *hclsyntax.LiteralValueExpr, *hclsyntax.TemplateExpr:
		return true
	}
	return false
}

// follow returns the expression that a reference to a local, or one in parentheses, stands for; e itself for anything
// else.
func (s *source) follow(e hclsyntax.Expression) hclsyntax.Expression {
	for range maxFollowed {
		switch x := e.(type) {
		case *hclsyntax.ParenthesesExpr:
			e = x.Expression
			continue
		case *hclsyntax.TemplateWrapExpr:
			if !isLiteral(x.Wrapped) {
				e = x.Wrapped
				continue
			}
		}
		t := hclexpr.Traversal(e)
		if t == nil {
			return e
		}
		r := t.SourceRange()
		reads := s.reads[r.Filename].In(r.Start.Byte, r.Start.Byte+1)
		i := slices.IndexFunc(reads, func(x eval.Read) bool { return strings.HasPrefix(x.Path, "local.") })
		if i < 0 {
			return e
		}
		path := eval.SplitPath(reads[i].Path)
		if t.RootName() != "local" || len(path) != len(t) {
			return e
		}
		local, rest := s.localAt(path[1:])
		if local == nil || len(rest) > 0 {
			return e
		}
		e = local
	}
	return e
}

// maxFollowed bounds how far locals are followed that are references to others.
const maxFollowed = 100
