package mcpshell

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/cmd/hatchel/importer/yamlfile"
)

// readParams reads the parameters in their order.
func (t *tool) readParams() error {
	t.params, t.order, t.inherited = map[string]*parameter{}, nil, nil
	names := importer.Names{}
	for i := 0; i+1 < len(t.Params.Content); i += 2 {
		p := &parameter{name: t.Params.Content[i].Value, rules: rules{maxLength: -1}}
		if err := yamlfile.Decode(t.Params.Content[i+1], p); err != nil {
			return fmt.Errorf("parameter %s cannot be read", p.name)
		}
		if p.kind = map[string]string{"": "string", "string": "string", "number": "number", "integer": "integer",
			"boolean": "bool"}[p.Type]; p.kind == "" {
			return fmt.Errorf("parameter %s has the type %q, which is not known", p.name, p.Type)
		}
		if t.params[p.name] != nil {
			return fmt.Errorf("parameter %s is declared twice", p.name)
		}
		p.input = p.name
		if !envName.MatchString(p.input) {
			p.input = importer.Identifier(p.name)
		}
		p.input = names.Take(p.input, 60)
		t.params[p.name] = p
		t.order = append(t.order, p)
	}
	return nil
}

// nullable reports whether the input is null when it is absent.
func (p *parameter) nullable() bool { return !p.Required && p.Default == nil && p.kind != "bool" }

// inputType returns the type of an input.
func (g *generator) inputType(t *tool, p *parameter) (string, error) {
	words, err := p.rules.keywords()
	if err != nil {
		return "", err
	}
	typ := p.kind
	if p.rules.integer && typ == "number" {
		typ = "integer"
	}
	var args []string
	if text := g.describe(t, p.name, p.Description, 500); text != "" {
		args = append(args, importer.Quote(text))
	}
	if len(words) > 0 {
		args = append(args, "{ "+strings.Join(words, ", ")+" }")
	}
	if len(args) > 0 {
		typ += "(" + strings.Join(args, ", ") + ")"
	}
	switch {
	case p.Default != nil:
		text, err := literalOf(p)
		return importer.Optional(typ, text), err
	case p.Required:
		return typ, nil
	case p.kind == "bool":
		return "optional(" + typ + ", false)", nil
	}
	return "optional(" + typ + ")", nil
}

// literalOf returns the default of a parameter.
func literalOf(p *parameter) (string, error) {
	switch v := p.Default.(type) {
	case string:
		if p.kind == "string" {
			return importer.Quote(v), nil
		}
	case bool:
		if p.kind == "bool" {
			return fmt.Sprint(v), nil
		}
	case int:
		if p.kind == "number" || p.kind == "integer" {
			return fmt.Sprint(v), nil
		}
	case float64:
		if text := fmt.Sprintf("%v", v); p.kind == "number" && decimal.MatchString(text) {
			return text, nil
		}
	}
	if p.kind == "string" {
		return importer.Quote(fmt.Sprint(p.Default)), nil
	}
	return "", errors.New("its default has another type")
}

var decimal = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// constraints adds the constraints to the types of the inputs, and returns checks for the others. A constraint that
// cannot be written costs the tool.
func (g *generator) constraints(t *tool) (checks string, err error) {
	var void []string
	for _, src := range t.Constraints {
		n, err := parseConstraint(src)
		if err != nil {
			return "", fmt.Errorf("its constraint %q: %w", src, err)
		}
		for _, part := range n.conjuncts() {
			switch {
			case part.op == "name" && part.text == "true":
				continue
			case part.isVoid():
				void = append(void, src)
				continue
			case part.lift(t.params):
				continue
			}
			that, err := part.program(func(name string) (string, error) { return t.inProgram(name) })
			if err != nil {
				return "", fmt.Errorf("its constraint %q: %w", src, err)
			}
			if importer.Hidden(src) {
				return "", errors.New("a constraint has characters that a reviewer cannot see")
			}
			message := "the arguments must fulfil " + strings.ReplaceAll(src, "`", "'")
			checks += "check " + importer.Quote(importer.Sentence(message, 200)) + " { that = " + importer.Quote(that) +
				" }\n"
		}
	}
	for _, p := range t.order {
		if p.nullable() && p.refusesAbsence() {
			p.Required = true
			g.lose(t.Name, "parameter required", p.name+": its constraints refuse that it is absent", t.line)
		}
	}
	if void != nil {
		g.lose(t.Name, "constraint left out", fmt.Sprintf("no shell reads a value, so there is no use for %s",
			strings.Join(void, ", ")), t.line)
	}
	return checks, nil
}
