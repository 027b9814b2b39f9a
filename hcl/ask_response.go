package hcl

import (
	"fmt"
	"strings"

	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// DeclinedError ends a call whose user declined or cancelled a question without on_decline =
// "continue". Its text is for the model.
type DeclinedError struct{ Key, Action string }

func (d *DeclinedError) Error() string {
	if d.Action == "cancel" {
		return fmt.Sprintf("The user dismissed the question %q without answering.", d.Key)
	}
	return fmt.Sprintf("The user declined to answer the question %q.", d.Key)
}

// InvalidAnswerError is an answer that does not match its question, so that the question can be
// repeated. Its text is for the user who answered.
type InvalidAnswerError struct {
	Key        string
	Violations []schema.Violation
}

func (w *InvalidAnswerError) Error() string { return joinViolations(w.Violations) }

func joinViolations(violations []schema.Violation) string {
	texts := make([]string, len(violations))
	for i, v := range violations {
		texts[i] = v.String()
	}
	return strings.Join(texts, "; ")
}

var (
	rootType = schema.ObjectOf(&schema.Member{Name: "uri", Type: eval.StringType},
		&schema.Member{Name: "name", Type: eval.StringType.AsNullable(), Optional: true, HasDefault: true})
	rootsType    = schema.ListOf(rootType)
	samplingType = schema.ObjectOf(
		&schema.Member{Name: "text", Type: eval.StringType},
		&schema.Member{Name: "model", Type: eval.StringType.AsNullable()},
		&schema.Member{Name: "stop_reason", Type: eval.StringType.AsNullable()},
		&schema.Member{Name: "role", Type: eval.StringType},
		&schema.Member{Name: "content", Type: eval.AnyType},
	)
	emptyContentType = schema.ObjectOf()
)

// outputType returns the type of the answer.
func (a *Ask) outputType() *schema.Type {
	switch {
	case a.Sample != nil:
		return samplingType
	case a.Roots != nil:
		return schema.ObjectOf(&schema.Member{Name: "roots", Type: rootsType})
	case a.Elicit == nil:
		return eval.AnyType // the mistake was reported
	}
	actions := []string{"accept"}
	if a.Elicit.ContinueOnDecline {
		actions = append(actions, "decline", "cancel")
	}
	if a.Fallback != nil {
		actions = append(actions, "fallback")
	}
	action := &schema.Member{Name: "action", Type: enumOf(actions...)}
	if a.Elicit.Fields == nil {
		return schema.ObjectOf(action)
	}
	content := a.Elicit.Fields
	if a.Elicit.ContinueOnDecline {
		content = content.AsNullable()
	}
	return schema.ObjectOf(action, &schema.Member{Name: "content", Type: content})
}

// fallbackType returns the type of the fallback.
func (a *Ask) fallbackType() *schema.Type {
	switch {
	case a.Sample != nil:
		return eval.StringType
	case a.Roots != nil:
		return rootsType
	case a.Elicit == nil:
		return nil
	case a.Elicit.Fields == nil:
		return emptyContentType
	}
	return a.Elicit.Fields
}

// fallbackPhrase describes the expected fallback within a sentence.
func (a *Ask) fallbackPhrase() string {
	switch {
	case a.Sample != nil:
		return "a string in place of the model's text"
	case a.Roots != nil:
		return "a list of roots, as in [{ uri = \"file:///home\" }]"
	case a.Elicit.Fields == nil:
		return "{ }, because a page returns no content"
	}
	return "an object in place of the user's input"
}

// FallbackAnswer returns the answer for a client that cannot be asked. It must be called only with
// a Fallback. Its error is for the model.
func (a *Ask) FallbackAnswer(f *eval.Frame) (map[string]any, error) {
	v, err := a.Fallback.Eval(f)
	if err != nil {
		return nil, err
	}
	v, violations, err := a.fallback.Check(v, f.Budget())
	if err != nil {
		return nil, err
	}
	if len(violations) > 0 {
		return nil, fmt.Errorf("the fallback of the question %q does not answer it: %s", a.Key, violations[0])
	}
	switch {
	case a.Sample != nil:
		return map[string]any{"text": v, "model": nil, "stop_reason": nil, "role": "assistant",
			"content": map[string]any{"type": "text", "text": v}}, nil
	case a.Roots != nil:
		return map[string]any{"roots": v}, nil
	case a.Elicit.Fields == nil:
		return map[string]any{"action": "fallback"}, nil
	}
	return map[string]any{"action": "fallback", "content": v}, nil
}

// ParseResponse converts the decoded response of the client into the answer that steps read. The
// error is a *DeclinedError, an *InvalidAnswerError, or one of the time.
func (a *Ask) ParseResponse(sent any, time schema.Time) (map[string]any, error) {
	m, ok := sent.(map[string]any)
	if !ok {
		return nil, a.invalidAnswer("", "must be an object")
	}
	switch {
	case a.Sample != nil:
		return a.decodeSampling(m)
	case a.Roots != nil:
		return a.decodeRoots(m)
	}
	return a.decodeElicitation(m, time)
}

func (a *Ask) invalidAnswer(path, message string) error {
	return &InvalidAnswerError{a.Key, []schema.Violation{{Path: path, Message: message}}}
}

func (a *Ask) decodeElicitation(m map[string]any, time schema.Time) (map[string]any, error) {
	action, _ := m["action"].(string)
	answer := map[string]any{"action": action}
	if a.Elicit.Fields != nil {
		answer["content"] = nil
	}
	switch action {
	case "accept":
	case "decline", "cancel":
		if !a.Elicit.ContinueOnDecline {
			return nil, &DeclinedError{a.Key, action}
		}
		return answer, nil
	default:
		return nil, a.invalidAnswer("action", `must be "accept", "decline" or "cancel"`)
	}
	if a.Elicit.Fields == nil {
		return answer, nil
	}
	content, violations, err := a.Elicit.Validator.Check(dropUnasked(a.Elicit.Fields, m["content"]), time)
	if err != nil {
		return nil, err
	}
	if len(violations) > 0 {
		return nil, &InvalidAnswerError{a.Key, violations}
	}
	answer["content"] = content
	return answer, nil
}

// dropUnasked removes members that the form does not have: the schema of a form cannot forbid
// additional members.
func dropUnasked(form *schema.Type, content any) any {
	m, ok := content.(map[string]any)
	if !ok && content != nil {
		return content
	}
	out := make(map[string]any, len(m))
	for name, v := range m {
		if _, asked := form.Lookup(name); asked {
			out[name] = v
		}
	}
	return out
}

func (a *Ask) decodeRoots(m map[string]any) (map[string]any, error) {
	list, ok := m["roots"].([]any)
	if !ok {
		return nil, a.invalidAnswer("roots", "must be a list")
	}
	roots := make([]any, len(list))
	for i, r := range list {
		root, _ := r.(map[string]any)
		uri, ok := root["uri"].(string)
		if !ok {
			return nil, a.invalidAnswer(fmt.Sprintf("roots[%d].uri", i), "must be a string")
		}
		name, _ := root["name"].(string)
		roots[i] = map[string]any{"uri": uri, "name": nullIfEmpty(name)}
	}
	return map[string]any{"roots": roots}, nil
}

func nullIfEmpty(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (a *Ask) decodeSampling(m map[string]any) (map[string]any, error) {
	blocks, ok := m["content"].([]any)
	if one, is := m["content"].(map[string]any); is {
		blocks, ok = []any{one}, true
	}
	if !ok {
		return nil, a.invalidAnswer("content", "must be an object or a list of objects")
	}
	var text strings.Builder
	for i, b := range blocks {
		block, _ := b.(map[string]any)
		kind, ok := block["type"].(string)
		part, isText := block["text"].(string)
		switch {
		case !ok:
			return nil, a.invalidAnswer(fmt.Sprintf("content[%d].type", i), "must be a string")
		case kind == "text" && !isText:
			return nil, a.invalidAnswer(fmt.Sprintf("content[%d].text", i), "must be a string")
		case kind == "text":
			text.WriteString(part)
		}
	}
	model, _ := m["model"].(string)
	stop, _ := m["stopReason"].(string)
	role, ok := m["role"].(string)
	if !ok {
		role = "assistant"
	}
	return map[string]any{"text": text.String(), "model": nullIfEmpty(model), "stop_reason": nullIfEmpty(stop),
		"role": role, "content": m["content"]}, nil
}
