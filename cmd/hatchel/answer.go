package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/internal/osfile"
)

// answerHelp is the part about questions in the help of a command with the flag --answer.
const answerHelp = `A call may ask questions. Each is answered with --answer:

  --answer key='{"field": "value"}'   accept a form
  --answer key=accept                 accept a question without fields, or a URL
  --answer key=decline                decline; key=cancel dismisses the question
  --answer key='text'                 answer in place of the model
  --answer key='["/a/directory"]'     list the roots

On a terminal the other questions are asked there. The end of the input (Ctrl-D)
dismisses a question, and Ctrl-C ends the call. Without a terminal, a question without
an answer uses its fallback, or the call fails and names the missing answers.`

// parseAnswer converts the value of --answer to the answer that a client sends. It checks the types
// of the question, before the call begins.
func parseAnswer(ask *hcl.Ask, text string) (map[string]any, error) {
	answer, err := decodeAnswer(ask, text)
	if err != nil {
		return nil, err
	}
	var wrong *hcl.InvalidAnswerError
	if _, err := ask.ParseResponse(answer, schema.Unlimited); errors.As(err, &wrong) {
		return nil, fmt.Errorf("the answer to %q is not valid: %s", ask.Key, wrong)
	}
	return answer, nil
}

func decodeAnswer(ask *hcl.Ask, text string) (map[string]any, error) {
	v, _ := value.Decode([]byte(text)) // nil for a text that is not JSON
	switch {
	case ask.Sample != nil:
		if s, ok := v.(string); ok {
			text = s
		}
		return sampleAnswer(text), nil
	case ask.Roots != nil:
		if list, ok := v.([]any); ok {
			return rootsAnswer(list)
		}
	case text == "decline" || text == "cancel":
		return map[string]any{"action": text}, nil
	case text == "accept":
		return acceptAnswer(map[string]any{}), nil
	default:
		if content, ok := v.(map[string]any); ok {
			return acceptAnswer(content), checkFields(ask, content)
		}
	}
	return nil, fmt.Errorf("--answer %s=%s is not valid: write --answer %[1]s=%[3]s", ask.Key, text, exampleAnswer(ask))
}

// checkFields refuses fields that the form does not have. A server would ignore them.
func checkFields(ask *hcl.Ask, content map[string]any) error {
	form := ask.Elicit.Fields
	for _, name := range value.Keys(content) {
		if form == nil {
			return fmt.Errorf("the question %q has no fields, and got %q", ask.Key, name)
		}
		if _, ok := form.Lookup(name); !ok {
			return fmt.Errorf("the question %q has no field %q. Its fields are %s",
				ask.Key, name, strings.Join(form.MemberNames(), ", "))
		}
	}
	return nil
}

func acceptAnswer(content map[string]any) map[string]any {
	return map[string]any{"action": "accept", "content": content}
}

func sampleAnswer(text string) map[string]any {
	content := map[string]any{"type": "text", "text": text}
	return map[string]any{"role": "assistant", "model": "person", "content": content}
}

// rootsAnswer converts a list of URIs, directories, or objects with uri and name.
func rootsAnswer(list []any) (map[string]any, error) {
	roots := make([]any, len(list))
	for i, r := range list {
		text, ok := r.(string)
		if !ok {
			roots[i] = r
			continue
		}
		uri, err := rootURI(text)
		if err != nil {
			return nil, err
		}
		roots[i] = map[string]any{"uri": uri}
	}
	return map[string]any{"roots": roots}, nil
}

// rootURI returns the URI of a directory. A URI stays as it is.
func rootURI(text string) (string, error) {
	if strings.Contains(text, "://") {
		return text, nil
	}
	path, err := filepath.Abs(text)
	if err != nil {
		return "", fmt.Errorf("%s cannot be found: %s", text, err)
	}
	return osfile.URI(path), nil
}

// exampleAnswer returns a value for --answer KEY=, quoted for a shell.
func exampleAnswer(ask *hcl.Ask) string {
	switch {
	case ask.Sample != nil:
		return "'text of the model'"
	case ask.Roots != nil:
		return `'["/a/directory"]'`
	case ask.Elicit.Fields == nil || len(ask.Elicit.Fields.Members) == 0:
		return "accept"
	}
	return "'" + exampleFields(ask.Elicit.Fields) + "'"
}

// exampleFields fills in the required fields of a form, or its first field when all are optional.
func exampleFields(form *schema.Type) string {
	var fields []string
	for _, m := range form.Members {
		if !m.Optional {
			fields = append(fields, exampleField(m))
		}
	}
	if fields == nil {
		fields = []string{exampleField(form.Members[0])}
	}
	return "{" + strings.Join(fields, ", ") + "}"
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
		panic(err) // the values of enumerations are strings
	}
	return string(out)
}
