package main

import (
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// answerOf is what a flag says in answer to a question, as a client sends it. It is held to the types of the question at once, while nothing is done yet.
func answerOf(a *hcl.Ask, text string) (map[string]any, error) {
	answer, err := readAnswer(a, text)
	if err != nil {
		return nil, err
	}
	var wrong *hcl.InvalidAnswerError
	if _, err := a.ParseResponse(answer); errors.As(err, &wrong) {
		return nil, misusef("the answer to %q does not fit: %s", a.Key, wrong)
	}
	return answer, nil
}

func readAnswer(a *hcl.Ask, text string) (map[string]any, error) {
	v, err := value.Decode([]byte(text))
	if err != nil {
		v = nil
	}
	switch {
	case a.Sample != nil:
		if said, ok := v.(string); ok {
			text = said
		}
		return sampled(text), nil
	case a.Roots != nil:
		if list, ok := v.([]any); ok {
			return rooted(list)
		}
	case text == "decline" || text == "cancel":
		return map[string]any{"action": text}, nil
	case text == "accept":
		return accepted(map[string]any{}), nil
	default:
		if content, ok := v.(map[string]any); ok {
			return accepted(content), onlyFields(a, content)
		}
	}
	return nil, misusef("%q is answered as in --answer %s=%s, and got %s", a.Key, a.Key, exampleOf(a), text)
}

// onlyFields refuses what the form does not ask for: a server leaves it out, and it was written for a reason.
func onlyFields(a *hcl.Ask, content map[string]any) error {
	form := a.Elicit.Fields
	for _, name := range value.Keys(content) {
		if form == nil {
			return misusef("%q asks to open a page, which has no fields, and got %q", a.Key, name)
		}
		if _, ok := form.Lookup(name); !ok {
			return misusef("%q does not ask for %q. It asks for %s", a.Key, name, strings.Join(form.MemberNames(), ", "))
		}
	}
	return nil
}

func accepted(content map[string]any) map[string]any {
	return map[string]any{"action": "accept", "content": content}
}

func sampled(text string) map[string]any {
	return map[string]any{"role": "assistant", "model": "person", "content": map[string]any{"type": "text", "text": text}}
}

// rooted is a list of URIs, of folders, or of objects with uri and name.
func rooted(list []any) (map[string]any, error) {
	roots := make([]any, len(list))
	for i, r := range list {
		text, ok := r.(string)
		if !ok {
			roots[i] = r
			continue
		}
		uri, err := folderURI(text)
		if err != nil {
			return nil, err
		}
		roots[i] = map[string]any{"uri": uri}
	}
	return map[string]any{"roots": roots}, nil
}

// folderURI is a URI as it is, and that of a folder.
func folderURI(text string) (string, error) {
	if strings.Contains(text, "://") {
		return text, nil
	}
	path, err := filepath.Abs(text)
	if err != nil {
		return "", failf("%s cannot be found: %s", text, reason(err))
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String(), nil
}

// exampleOf is an answer as it is written after --answer KEY=, quoted for a shell.
func exampleOf(a *hcl.Ask) string {
	switch {
	case a.Sample != nil:
		return "'text of the model'"
	case a.Roots != nil:
		return `'["/a/folder"]'`
	case a.Elicit.Fields == nil || len(a.Elicit.Fields.Members) == 0:
		return "accept"
	}
	return "'" + exampleFields(a.Elicit.Fields) + "'"
}

// exampleFields fills in what a form must have, or its first field when it may all be left out.
func exampleFields(form *schema.Type) string {
	var parts []string
	for _, m := range form.Members {
		if !m.Optional {
			parts = append(parts, exampleField(m))
		}
	}
	if parts == nil {
		parts = []string{exampleField(form.Members[0])}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func exampleField(m *schema.Member) string {
	var v any = "..."
	switch t := m.Type; {
	case len(t.Enum) > 0:
		v = t.Enum[0].Value
	case t.Kind == schema.Bool:
		v = true
	case t.Kind == schema.Number, t.Kind == schema.Integer:
		v = 1
	case t.Kind == schema.List:
		v = []any{t.Elem.Enum[0].Value}
	}
	name, _ := json.Marshal(m.Name)
	out, err := value.AppendJSON(append(name, ": "...), v)
	if err != nil {
		panic(err) // the values of an enumeration are texts
	}
	return string(out)
}
