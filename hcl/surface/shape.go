package surface

import (
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"hatchel/hcl"
)

var stringType = cty.String

// maxShape is the maximum length of a shape in bytes; a longer one ends with an ellipsis and a digest.
const maxShape = 400

// shape returns an expression with its values as names: "/orders/{id}" for "/orders/${input.id}". A
// local is replaced by its own shape, and a variable has its default with it, so that a change of
// either is a change of the shape.
func (s *source) shape(e hclsyntax.Expression) string {
	return clip(redact(s.shapeOf(e, 0)))
}

// clip shortens a text to maxShape.
func clip(text string) string {
	if len(text) > maxShape {
		return text[:maxShape] + "… " + digest([]byte(text))[:len("sha256:")+16]
	}
	return text
}

// maxShapeDepth bounds how far locals are followed.
const maxShapeDepth = 20

func (s *source) shapeOf(e hclsyntax.Expression, depth int) string {
	if depth > maxShapeDepth {
		return "{…}"
	}
	switch e := e.(type) {
	case nil:
		return "{…}"
	case *hclsyntax.TemplateExpr:
		return s.join(e.Parts, "", depth)
	case *hclsyntax.TemplateWrapExpr:
		return s.shapeOf(e.Wrapped, depth+1)
	case *hclsyntax.ParenthesesExpr:
		return s.shapeOf(e.Expression, depth+1)
	case *hclsyntax.LiteralValueExpr:
		if text, ok := literalText(e); ok {
			return text
		}
		return s.text(e.SrcRange)
	case *hclsyntax.TupleConsExpr:
		if len(e.Exprs) > 0 && !isWord(e.Exprs[0]) { // the stages of a pipe
			return s.join(e.Exprs, " | ", depth)
		}
		return s.join(e.Exprs, " ", depth)
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			if hclv2.ExprAsKeyword(item.KeyExpr) == "command" {
				return s.shapeOf(item.ValueExpr, depth+1)
			}
		}
	case *hclsyntax.ScopeTraversalExpr:
		return s.reference(e.Traversal, depth)
	case *hclsyntax.ConditionalExpr:
		return "{" + s.shapeOf(e.TrueResult, depth+1) + " or " + s.shapeOf(e.FalseResult, depth+1) + "}"
	case *hclsyntax.FunctionCallExpr:
		return "{" + e.Name + "(" + s.join(e.Args, ", ", depth) + ")}"
	}
	text := strings.Join(strings.Fields(s.normalize(e.Range())), " ")
	return "{" + strings.TrimSpace(s.withDefaults(spacedDot.ReplaceAllString(text, "."), depth)) + "}"
}

func isWord(e hclsyntax.Expression) bool {
	switch e.(type) {
	case *hclsyntax.TupleConsExpr, *hclsyntax.ObjectConsExpr:
		return false
	}
	return true
}

func (s *source) join(parts []hclsyntax.Expression, separator string, depth int) string {
	shapes := make([]string, len(parts))
	for i, p := range parts {
		shapes[i] = s.shapeOf(p, depth+1)
	}
	return strings.Join(shapes, separator)
}

// reference returns the shape of a reference.
func (s *source) reference(t hclv2.Traversal, depth int) string {
	name := ""
	for _, step := range t[1:] {
		if a, ok := step.(hclv2.TraverseAttr); ok {
			name += "." + a.Name
		} else {
			name += "[…]"
		}
	}
	name = strings.TrimPrefix(name, ".")
	switch root := t.RootName(); root {
	case "input":
		return "{" + name + "}"
	case "local":
		if e := s.localAt(t); e != nil {
			return s.shapeOf(e, depth+1)
		}
		read := s.closure("local." + name)
		return "{local." + name + " of " + digest([]byte(read))[:len("sha256:")+16] + "}"
	case "var":
		if e := s.variables[name]; e != nil {
			return "{var." + name + " = " + s.shapeOf(e, depth+1) + "}"
		}
		return "{var." + name + "}"
	default:
		return "{" + root + strings.TrimSuffix("."+name, ".") + "}"
	}
}

// withDefaults appends the defaults of the variables and locals that an expression reads.
func (s *source) withDefaults(text string, depth int) string {
	for _, m := range variableName.FindAllStringSubmatch(text, -1) {
		if e := s.variables[m[1]]; e != nil {
			text += "; " + m[0] + " = " + s.shapeOf(e, depth+1)
		}
	}
	for _, m := range localName.FindAllStringSubmatch(text, -1) {
		if e := s.locals[m[1]]; e != nil {
			text += "; " + m[0] + " = " + s.shapeOf(e, depth+1)
		}
	}
	return text
}

// unplaced are the verbs of effects that do not go to the connection of their backend.
var unplaced = []string{"DIR", "HOST", "INHERIT", "SANDBOX"}

// does returns effects as lines. Kind and name are those of the connection of a backend, or empty.
func (s *source) does(effects []hcl.Effect, kind, name string, at func(any) (hcl.Range, bool)) (lines []string) {
	for _, a := range effects {
		if a.Values != nil {
			if r, ok := at(a.Values); ok {
				lines = append(lines, s.sentValues(a.Verb, s.at(r), false)...)
			}
			continue
		}
		var places []string
		for _, field := range a.Source {
			if r, ok := at(field); ok {
				places = append(places, s.shape(s.at(r)))
			}
		}
		place := strings.Join(places, "/")
		switch {
		case slices.Contains(unplaced, a.Verb):
			place = strings.TrimSpace(a.What + " " + place)
		case name != "" && place != "":
			place = strings.TrimSpace(name + ":" + place + " " + a.What)
		case name != "":
			place = strings.TrimSpace(kind + ":" + name + " " + a.What)
		default:
			place = strings.TrimSpace(place + " " + a.What)
		}
		lines = append(lines, a.Verb+" "+place)
	}
	return lines
}
