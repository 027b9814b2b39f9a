package main

import (
	"fmt"
	"strings"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// typedArguments returns the JSON object of arguments, name=value, for inputs. A name that is repeated is a list.
// With an upload function name=@file uploads a file for an input that takes one; its errors are returned as they are.
func typedArguments(inputs *schema.Type, texts []string, upload func(file string) (any, error)) ([]byte, error) {
	values, repeated := map[string]any{}, map[string][]any{}
	for _, arg := range texts {
		name, text, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("an argument is NAME=VALUE, and got %q", arg)
		}
		var t *schema.Type
		if m, ok := inputs.Lookup(name); ok {
			t = m.Type
		}
		v, isList := parseArgument(t, text)
		if path, isPath := strings.CutPrefix(text, "@"); isPath && takesFile(t) && upload != nil {
			var err error
			if v, err = upload(path); err != nil {
				return nil, err
			}
		}
		repeated[name] = append(repeated[name], v)
		values[name] = v
		if len(repeated[name]) > 1 || isSequence(t) && !isList {
			values[name] = repeated[name]
		}
	}
	out, err := value.AppendJSON(nil, values)
	if err != nil {
		return nil, fmt.Errorf("the arguments cannot be encoded as JSON: %s", err)
	}
	return out, nil
}

// takesFile reports whether an input takes a file or a list of files.
func takesFile(t *schema.Type) bool {
	return t != nil && (t.Kind == schema.File || isSequence(t) && t.Elem.Kind == schema.File)
}

// parseArgument parses a text for an input, whose type may be nil: as a string where the input is
// one, otherwise as JSON where the text is valid JSON. For a list the text is the whole list or one
// element.
func parseArgument(t *schema.Type, text string) (v any, isList bool) {
	if isSequence(t) {
		if v, err := value.Decode([]byte(text)); err == nil {
			if _, isList := v.([]any); isList {
				return v, true
			}
		}
		t = t.Elem
	}
	if t != nil && t.Kind == schema.String {
		return text, false
	}
	if v, err := value.Decode([]byte(text)); err == nil {
		return v, false
	}
	return text, false
}

// isSequence reports whether a type, which may be nil, is a list or a set.
func isSequence(t *schema.Type) bool {
	return t != nil && (t.Kind == schema.List || t.Kind == schema.Set)
}
