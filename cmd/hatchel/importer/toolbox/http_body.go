package toolbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hatchel/cmd/hatchel/importer"
)

// body returns the argument for the body: JSON with values of parameters, or a constant text.
func (r *httpRequest) body(text string, headers map[string]string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if expr, err := r.json(text); err == nil {
		return []string{"json = " + expr}, nil
	} else if strings.Contains(text, "{{") {
		return nil, fmt.Errorf("its requestBody is no JSON in which each {{.name}} is a value: %w", err)
	}
	for name := range headers {
		if strings.EqualFold(name, "Content-Type") {
			return []string{"body = " + importer.Quote(text)}, nil
		}
	}
	return nil, errors.New("its requestBody is no JSON, and no header names its type")
}

// jsonMark stands for a parameter in JSON.
const jsonMark = "\uE000"

// json writes a JSON document with actions as an expression.
func (r *httpRequest) json(text string) (string, error) {
	if strings.Contains(text, jsonMark) {
		return "", errors.New("it has private characters")
	}
	var marked strings.Builder
	at, quoted := 0, false
	for _, m := range goAction.FindAllStringSubmatchIndex(text, -1) {
		for i := at; i < m[0]; i++ {
			if text[i] == '\\' {
				i++
			} else if text[i] == '"' {
				quoted = !quoted
			}
		}
		name := text[m[4]:m[5]]
		p, ok := r.params[name]
		asJSON := m[2] >= 0
		switch {
		case !ok:
			return "", fmt.Errorf("there is no parameter %s", name)
		case quoted && asJSON:
			return "", errors.New("{{json}} stands in quotes")
		case !quoted && !asJSON && (p.Type == "string" || p.Type == "" || p.Type == "array" || p.Type == "map"):
			return "", fmt.Errorf("%s stands without quotes and without json", name)
		}
		marker := jsonMark + name + jsonMark
		if !quoted {
			marker = `"` + jsonMark + marker + `"`
		}
		marked.WriteString(text[at:m[0]] + marker)
		at = m[1]
	}
	if marked.WriteString(text[at:]); strings.Contains(marked.String(), "{{") {
		return "", errors.New("another template has no counterpart")
	}
	d := json.NewDecoder(strings.NewReader(marked.String()))
	d.UseNumber()
	expr, err := r.expression(d)
	if err == nil && d.More() {
		err = errors.New("it has more than one value")
	}
	return expr, err
}

// expression writes the next value of a decoder, with its members in their order.
func (r *httpRequest) expression(d *json.Decoder) (string, error) {
	t, err := d.Token()
	if err != nil {
		return "", err
	}
	switch v := t.(type) {
	case json.Delim:
		return r.collection(d, v)
	case string:
		return r.text(v), nil
	case nil:
		return "null", nil
	}
	return fmt.Sprint(t), nil
}

func (r *httpRequest) collection(d *json.Decoder, open json.Delim) (string, error) {
	var entries []string
	for d.More() {
		key := ""
		if open == '{' {
			t, err := d.Token()
			if err != nil {
				return "", err
			}
			name := t.(string)
			if strings.Contains(name, jsonMark) {
				return "", errors.New("a name is computed")
			}
			key = importer.Key(name) + " = "
		}
		expr, err := r.expression(d)
		if err != nil {
			return "", err
		}
		entries = append(entries, key+expr)
	}
	if _, err := d.Token(); err != nil {
		return "", err
	}
	if open == '[' {
		return "[" + strings.Join(entries, ", ") + "]", nil
	}
	return "{\n" + strings.Join(entries, "\n") + "\n}", nil
}

// text writes a string of JSON: an action alone is the value itself.
func (r *httpRequest) text(s string) string {
	parts := strings.Split(s, jsonMark)
	switch {
	case len(parts) == 1:
		return importer.Quote(s)
	case len(parts) == 4 && s == jsonMark+jsonMark+parts[2]+jsonMark:
		return r.value(r.params[parts[2]])
	case len(parts) == 3 && parts[0] == "" && parts[2] == "" && r.params[parts[1]].Type == "string":
		return r.value(r.params[parts[1]])
	}
	out := `"`
	for i, part := range parts {
		if i%2 == 0 {
			out += quoteInner(part)
		} else {
			out += "${" + r.value(r.params[part]) + "}"
		}
	}
	return out + `"`
}
