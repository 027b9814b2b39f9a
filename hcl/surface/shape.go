package surface

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl"
	"hatchel/hcl/value"
)

// maxShape is the maximum length of a shape that is shown whole, in bytes.
const maxShape = 1000

// shape returns an expression as people read it, with its values as names: "/orders/{id}" for "/orders/${input.id}".
func (s *source) shape(e hclsyntax.Expression) string { return clip(s.shapeOf(e), maxShape) }

func (s *source) shapeOf(e hclsyntax.Expression) string {
	if e == nil {
		return "{…}"
	}
	switch e := s.follow(e).(type) {
	case *hclsyntax.LiteralValueExpr:
		return s.form(e)
	case *hclsyntax.TemplateExpr:
		return s.textShape(e)
	case *hclsyntax.TupleConsExpr:
		if len(e.Exprs) > 0 && !isWord(s.follow(e.Exprs[0])) { // the stages of a pipe
			return s.join(e.Exprs, " | ", s.shapeOf)
		}
		return s.join(e.Exprs, " ", s.wordShape)
	case *hclsyntax.ObjectConsExpr: // a stage with more than its words
		shapes := make([]string, len(e.Items))
		for i, item := range e.Items {
			shapes[i] = "{" + s.keyForm(item.KeyExpr) + " = " + s.form(item.ValueExpr) + "}"
			if name, _ := s.memberName(item.KeyExpr); name == "command" {
				shapes[i] = s.shapeOf(item.ValueExpr)
			}
		}
		return strings.Join(shapes, " ")
	}
	return shapeOfForm(s.form(e))
}

// shapeOfForm returns a normal form in braces: a value of an input by its name alone.
func shapeOfForm(form string) string {
	form = strings.TrimPrefix(form, "input.")
	if strings.HasPrefix(form, "{") && strings.HasSuffix(form, "}") {
		return form
	}
	return "{" + form + "}"
}

// textShape returns a template. Braces in its text are doubled.
func (s *source) textShape(e *hclsyntax.TemplateExpr) string {
	parts := s.templateParts(e.Parts)
	if layout := s.layouts[place{e.SrcRange.Filename, e.SrcRange.Start.Byte}]; layout != nil {
		parts = layOut(parts, layout)
	}
	var b strings.Builder
	for _, p := range parts {
		switch value, isValue := strings.CutPrefix(p.text, "${"); {
		case p.isText:
			b.WriteString(strings.NewReplacer("{", "{{", "}", "}}").Replace(p.text))
		case isValue:
			b.WriteString(shapeOfForm(strings.TrimSuffix(value, "}")))
		default:
			b.WriteString(p.text) // a directive
		}
	}
	return b.String()
}

func isWord(e hclsyntax.Expression) bool {
	switch e.(type) {
	case *hclsyntax.TupleConsExpr, *hclsyntax.ObjectConsExpr:
		return false
	}
	return true
}

// wordShape returns a word of a command, in quotes if it is not evidently one word.
func (s *source) wordShape(e hclsyntax.Expression) string {
	shape := s.shapeOf(e)
	template, ok := s.follow(e).(*hclsyntax.TemplateExpr)
	if !ok {
		return shape
	}
	for _, p := range s.templateParts(template.Parts) {
		if p.isText && strings.ContainsAny(p.text, " \t\r\n\"|") {
			return string(value.AppendCanonicalString(nil, shape))
		}
	}
	if shape == "" {
		return `""`
	}
	return shape
}

func (s *source) join(parts []hclsyntax.Expression, separator string, shape func(hclsyntax.Expression) string) string {
	shapes := make([]string, len(parts))
	for i, p := range parts {
		shapes[i] = shape(p)
	}
	return strings.Join(shapes, separator)
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
		case name != "" && a.Layout != nil:
			place = name + ": " + place
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

// layoutsOf returns the layouts of the texts of effects, by their places.
func layoutsOf(effects []hcl.Effect, at func(any) (hcl.Range, bool)) map[place]func(string) string {
	var layouts map[place]func(string) string
	for _, a := range effects {
		for _, field := range a.Source {
			if r, ok := at(field); ok && a.Layout != nil {
				if layouts == nil {
					layouts = map[place]func(string) string{}
				}
				layouts[place{r.File, r.Start.Byte}] = a.Layout
			}
		}
	}
	return layouts
}
