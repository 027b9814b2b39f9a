package surface

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// An address alone does not say what a request asks for: a parameter, a header or a member of the body may name the
// operation, as a mutation of GraphQL does. Only the service knows which, so a surface shows all that an author wrote.

// sentValues returns a line for each value in an expression, such as "QUERY action show". Members of objects and
// elements of lists have lines of their own. What only passes on values of a call has none, unless all is set.
func (s *source) sentValues(verb string, e hclsyntax.Expression, all bool) (lines []string) {
	var walk func(name string, e hclsyntax.Expression)
	walk = func(name string, e hclsyntax.Expression) {
		switch e := s.follow(e).(type) {
		case *hclsyntax.ObjectConsExpr:
			for _, item := range e.Items {
				walk(strings.TrimPrefix(name+"."+s.keyForm(item.KeyExpr), "."), item.ValueExpr)
			}
			return
		case *hclsyntax.TupleConsExpr:
			for _, element := range e.Exprs {
				walk(name+"[]", element)
			}
			return
		case *hclsyntax.FunctionCallExpr:
			if slices.Contains([]string{"merge", "compact", "jsonencode"}, e.Name) {
				for _, argument := range e.Args {
					walk(name, argument)
				}
				return
			}
		}
		if all || !passesOn(e) {
			lines = append(lines, strings.TrimSpace(verb+" "+name)+" "+orEmptyText(s.shape(e)))
		}
	}
	walk("", e)
	return lines
}

func orEmptyText(shape string) string {
	if shape == "" {
		return `""`
	}
	return shape
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
