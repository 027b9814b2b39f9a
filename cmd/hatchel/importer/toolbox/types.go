package toolbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/lazyregexp"
)

// parameter is one parameter as it is written.
type parameter struct {
	Name           string
	Type           string
	Description    string
	Default        any
	Required       *bool
	AllowedValues  []any `yaml:"allowedValues"`
	ExcludedValues []any `yaml:"excludedValues"`
	MinValue       any   `yaml:"minValue"`
	MaxValue       any   `yaml:"maxValue"`
	Items          *parameter
	ValueType      string                         `yaml:"valueType"`
	AuthServices   []struct{ Name, Field string } `yaml:"authServices"`
	EmbeddedBy     string                         `yaml:"embeddedBy"`
	ValueFromParam string                         `yaml:"valueFromParam"`
	Escape         string                         // of a template parameter
	Secure         bool
}

var scalarTypes = map[string]string{"string": "string", "integer": "integer", "float": "number", "boolean": "bool",
	"number": "number", "int": "integer", "bool": "bool"}

// inputType returns the type of the input of a parameter. Names are always one of their values.
func (p *parameter) inputType(isName bool) (string, error) {
	typ, err := p.valueType()
	switch {
	case err != nil:
		return "", err
	case p.Default != nil:
		literal, err := literal(p.Default)
		return importer.Optional(typ, literal), err
	case p.Required != nil && !*p.Required && (!isName || len(p.AllowedValues) == 0):
		return "optional(" + typ + ")", nil
	}
	return typ, nil
}

func (p *parameter) valueType() (string, error) {
	description := importer.Sentence(p.Description, 500)
	switch p.Type {
	case "array":
		element := "any"
		if p.Items != nil {
			items := *p.Items
			items.Description = ""
			var err error
			if element, err = items.valueType(); err != nil {
				return "", err
			}
		}
		return call("list", []string{element}, description, nil), nil
	case "map", "object":
		element := scalarTypes[p.ValueType]
		if element == "" {
			element = "any"
		}
		return call("map", []string{element}, description, nil), nil
	}
	name := scalarTypes[p.Type]
	if name == "" {
		return "", fmt.Errorf("the type %q is not known", p.Type)
	}
	var rules []string
	if len(p.AllowedValues) > 0 {
		rule, err := allowed(name, p.AllowedValues)
		if err != nil {
			return "", err
		}
		rules = append(rules, rule)
	}
	for _, bound := range []struct {
		name  string
		value any
	}{{"min", p.MinValue}, {"max", p.MaxValue}} {
		if bound.value != nil {
			text, err := literal(bound.value)
			if err != nil {
				return "", err
			}
			rules = append(rules, bound.name+" = "+text)
		}
	}
	return call(name, nil, description, rules), nil
}

func call(name string, args []string, description string, rules []string) string {
	if description != "" {
		args = append(args, importer.Quote(description))
	}
	if len(rules) > 0 {
		args = append(args, "{ "+strings.Join(rules, ", ")+" }")
	}
	if len(args) == 0 {
		return name
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

// plainValue matches an allowed value that is no regular expression.
var plainValue = lazyregexp.New(`^[^\\^$*+?\[\](){}|]*$`)

// allowed returns the keyword for allowedValues, each of which is a value or a regular expression for whole values.
func allowed(typ string, values []any) (string, error) {
	var list, patterns []string
	for _, v := range values {
		text, err := literal(v)
		if err != nil {
			return "", err
		}
		list = append(list, text)
		s, isText := v.(string)
		if isText && !plainValue.MatchString(s) {
			patterns = append(patterns, s)
		} else if isText {
			s = regexp.QuoteMeta(s)
		}
		if isText && len(patterns) > 0 && s != patterns[len(patterns)-1] {
			patterns = append(patterns, s)
		}
	}
	switch {
	case len(patterns) == 0:
		return "enum = [" + strings.Join(list, ", ") + "]", nil
	case typ != "string" || len(patterns) != len(values):
		return "", errors.New("its allowedValues mix values and regular expressions")
	}
	return "pattern = " + importer.Quote("^(?:"+strings.Join(patterns, "|")+")$"), nil
}

// literal returns a value of YAML in the notation of the language.
func literal(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return importer.Quote(v), nil
	case bool, int, int64, uint64:
		return fmt.Sprint(v), nil
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return "", errors.New("a number is not finite")
		}
		text, err := json.Marshal(v)
		return string(text), err
	case []any:
		var list []string
		for _, e := range v {
			text, err := literal(e)
			if err != nil {
				return "", err
			}
			list = append(list, text)
		}
		return "[" + strings.Join(list, ", ") + "]", nil
	case map[string]any:
		if len(v) == 0 {
			return "{}", nil
		}
	}
	return "", errors.New("its default has no notation here")
}
