package surface

import (
	"maps"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// An address alone does not say what a request asks for: a parameter, a header or a member of the body may name the
// operation, as a mutation of GraphQL does. Only the service knows which, so a surface shows all that an author wrote.

// maxSentDepth bounds how deep the members of a value are followed.
const maxSentDepth = 20

// sentValues returns a line for each value in an expression, such as "QUERY action show". Members of objects and
// elements of lists have lines of their own. What only passes on values of a call has none, unless all is set.
func (s *source) sentValues(verb string, e hclsyntax.Expression, all bool) (lines []string) {
	var walk func(name string, e hclsyntax.Expression, depth int)
	walk = func(name string, e hclsyntax.Expression, depth int) {
		if depth > maxSentDepth {
			lines = append(lines, s.sentValue(verb, name, e))
			return
		}
		switch e := e.(type) {
		case *hclsyntax.ObjectConsExpr:
			for _, item := range e.Items {
				walk(strings.TrimPrefix(name+"."+s.memberName(item.KeyExpr), "."), item.ValueExpr, depth+1)
			}
			return
		case *hclsyntax.TupleConsExpr:
			for _, element := range e.Exprs {
				walk(name+"[]", element, depth+1)
			}
			return
		case *hclsyntax.ScopeTraversalExpr:
			if local := s.localAt(e.Traversal); local != nil {
				walk(name, local, depth+1)
				return
			}
		case *hclsyntax.FunctionCallExpr:
			if slices.Contains([]string{"merge", "compact", "jsonencode"}, e.Name) {
				for _, argument := range e.Args {
					walk(name, argument, depth+1)
				}
				return
			}
		}
		if all || !passesOn(e) {
			lines = append(lines, s.sentValue(verb, name, e))
		}
	}
	walk("", e, 0)
	return lines
}

// sentValue returns the line of one value. What may be a credential is shown as what it reads and a digest.
func (s *source) sentValue(verb, name string, e hclsyntax.Expression) string {
	line := strings.TrimSpace(verb + " " + name)
	text := strings.Join(strings.Fields(s.shapeOf(e, 0)), " ")
	if text == "" {
		text = `""`
	}
	member := name[strings.LastIndexByte(name, '.')+1:]
	if !isCredential(member) || member == "query" || passesOn(e) {
		return line + " " + clip(redact(text))
	}
	for _, read := range references(e) {
		line += " " + read
	}
	return line + " " + digest([]byte(line + text))[:len("sha256:")+16]
}

// references returns what an expression reads.
func references(e hclsyntax.Expression) (names []string) {
	for _, t := range e.Variables() {
		name := t.RootName()
		for _, step := range t[1:] {
			if a, ok := step.(hclv2.TraverseAttr); ok {
				name += "." + a.Name
			}
		}
		names = append(names, "{"+name+"}")
	}
	return names
}

// passesOn reports whether an expression only selects values of a call and secrets, and adds nothing to them.
func passesOn(e hclsyntax.Expression) bool {
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		root := e.Traversal.RootName()
		return root != "local" && root != "var"
	case *hclsyntax.RelativeTraversalExpr:
		return passesOn(e.Source)
	case *hclsyntax.IndexExpr:
		return passesOn(e.Collection)
	case *hclsyntax.SplatExpr:
		return passesOn(e.Source)
	case *hclsyntax.ParenthesesExpr:
		return passesOn(e.Expression)
	case *hclsyntax.TemplateWrapExpr:
		return passesOn(e.Wrapped)
	case *hclsyntax.LiteralValueExpr:
		return e.Val.IsNull()
	case *hclsyntax.BinaryOpExpr:
		return passesOn(e.LHS) && passesOn(e.RHS)
	case *hclsyntax.ConditionalExpr:
		return passesOn(e.Condition) && passesOn(e.TrueResult) && passesOn(e.FalseResult)
	case *hclsyntax.FunctionCallExpr:
		if e.Name == "pick" { // the other arguments are names of members
			return passesOn(e.Args[0])
		}
		return !slices.ContainsFunc(e.Args, func(a hclsyntax.Expression) bool { return !passesOn(a) })
	}
	return false
}

// localAt returns the expression of a local, or of a member of one that is written as an object; nil for none.
func (s *source) localAt(t hclv2.Traversal) (e hclsyntax.Expression) {
	if t.RootName() != "local" {
		return nil
	}
	for i, step := range t[1:] {
		a, ok := step.(hclv2.TraverseAttr)
		if !ok {
			return nil
		}
		if i == 0 {
			e = s.locals[a.Name]
			continue
		}
		object, _ := e.(*hclsyntax.ObjectConsExpr)
		if object == nil {
			return nil
		}
		e = nil
		for _, item := range object.Items {
			if s.memberName(item.KeyExpr) == a.Name {
				e = item.ValueExpr
			}
		}
	}
	return e
}

// withLocals returns the source as a block with locals of its own reads it.
func (s *source) withLocals(own map[string]hclsyntax.Expression) *source {
	if len(own) == 0 {
		return s
	}
	out := *s
	out.locals = maps.Clone(s.locals)
	maps.Copy(out.locals, own)
	return &out
}
