package console

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"hatchel/adapters/scrub"
	"hatchel/hcl"
	"hatchel/hcl/functions"
	"hatchel/runtime/edge/mcp"
	output "hatchel/runtime/stage/result"
)

// documentTry is the part of the page of a prompt or a resource where it is tried.
type documentTry struct {
	Plan, Call string // where the form posts to; Call is empty where nothing is called
	Verb       string // what the button does
	Form       *field
	HasPlan    bool
	Effects    []effectView // of the plan
	Refused    string       // why there is neither a plan nor a result
	URI        string       // that was read; empty for a prompt
	Result     *result
}

// HasMistakes reports whether a field has a mistake.
func (t *documentTry) HasMistakes() bool { return t.Form.hasProblems() }

// newDocumentTry returns the form of a prompt or a resource with what was posted; nil where nothing is tried.
func newDocumentTry(q *request, d *document, posted url.Values) (*documentTry, error) {
	if q.block.Try == hcl.TryNone || d.resource != nil && d.resource.Skill != nil {
		return nil, nil
	}
	try := &documentTry{Plan: d.Path() + "/plan", Verb: "Read"}
	if d.prompt != nil {
		try.Verb = "Get"
	}
	if q.block.Try == hcl.TryCall {
		try.Call = d.Path() + "/call"
	}
	var fits bool
	if try.Form, fits = newForm(d.Input, posted); !fits {
		return nil, errRows
	}
	return try, nil
}

// tryDocument reads the form of a prompt or a resource and, if it has no mistakes, makes the request or its plan.
func tryDocument(kind string, call bool) func(*Console, *request) (*answer, error) {
	return func(c *Console, q *request) (*answer, error) {
		g, err := c.admit(q)
		if err != nil {
			return nil, err
		}
		data, err := c.newDocumentData(q, g, kind)
		if err != nil {
			return nil, err
		}
		if data.Try, err = newDocumentTry(q, data.document, q.PostForm); err != nil {
			return nil, err
		}
		out := &answer{template: "document", title: data.Name, data: data}
		if q.PostForm.Has("add") || q.PostForm.Has("remove") {
			return out, nil
		}
		texts, hidden := data.Try.texts(q.Context(), data.document)
		if data.Try.HasMistakes() {
			out.status = http.StatusUnprocessableEntity
			return out, nil
		}
		if call {
			return out, c.showDocumentResult(q, data, texts, hidden)
		}
		effects, err := data.plan(q, texts)
		if err != nil {
			data.Try.Refused = hidden.Text(err.Error())
			return out, nil
		}
		for i := range effects {
			effects[i] = effects[i].Map(hidden.Text)
		}
		data.Try.HasPlan, data.Try.Effects = true, viewEffects(effects)
		return out, nil
	}
}

// texts returns what was entered as the texts that clients send, and what removes the sensitive ones from a text.
// Mistakes are put beside their fields. Checking them ends with the timeout of the operation.
func (t *documentTry) texts(ctx context.Context, d *document) (map[string]string, *scrub.Scrubber) {
	var members map[string]json.RawMessage
	json.Unmarshal(t.Form.arguments(), &members) // the form writes it
	texts := map[string]string{}
	for name, value := range members {
		if text := cellText(value); string(value) != "null" {
			texts[name] = text
		}
	}
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	values, violations, err := d.ParseTexts(texts, formBudget{&functions.Context{Call: ctx}})
	if err != nil {
		const text = "Checking the arguments took longer than the timeout."
		t.Form.Problems = append(t.Form.Problems, text)
	}
	t.Form.addViolations(violations)
	return texts, scrub.New(output.SensitiveTexts(nil, values, d.Input, false))
}

// showDocumentResult makes the request, and shows what it gives.
func (c *Console) showDocumentResult(
	q *request, data *documentData, texts map[string]string, hidden *scrub.Scrubber,
) error {
	http.NewResponseController(q.writer).SetReadDeadline(time.Time{}) // the form was read, and a call may take long
	if data.resource != nil {
		data.Try.URI = hidden.Text(data.uri(texts))
	}
	document, err := c.get(q, data.document, texts)
	var protocol *mcp.Error
	switch {
	case errors.As(err, &protocol):
		data.Try.Refused = hidden.Text(protocol.Message)
		return nil
	case err != nil:
		return err
	}
	data.Try.Result = c.newDocumentResult(q, &document, hidden)
	return nil
}

// documentPart is the content of a message or of a resource, as the protocol has it.
type documentPart struct {
	Type, Text, Data, MimeType, URI, Blob string
	Resource                              *documentPart
}

func (c *Console) newDocumentResult(q *request, d *mcp.Document, hidden *scrub.Scrubber) *result {
	if d.Questions != nil {
		const word = "it asks its client a question, which the console cannot answer"
		return &result{condition: condition{"warn", word}}
	}
	encoded := d.Members.AppendJSON([]byte("{"))
	if d.Meta != nil {
		encoded = d.Meta.AppendJSON(append(encoded, `,"_meta":`...))
	}
	var decoded struct {
		Messages []struct {
			Role    string
			Content documentPart
		}
		Contents []documentPart
		Meta     output.Meta `json:"_meta"`
	}
	out := &result{condition: condition{"ok", "ok"}}
	if err := json.Unmarshal(append(encoded, '}'), &decoded); err != nil {
		return &result{condition: condition{"bad", "the result is not JSON"}}
	}
	w := resultWriter{console: c, request: q, hidden: hidden, texts: maxShownTexts, images: maxShownImages}
	if said := decoded.Meta.String(); said != "" {
		out.condition = stateOf(decoded.Meta.Outcome)
		w.addText("Failures", said)
	}
	for _, m := range decoded.Messages {
		w.addDocument(m.Role, &m.Content)
	}
	for i := range decoded.Contents {
		w.addDocument("Content", &decoded.Contents[i])
	}
	out.Parts = w.parts
	return out
}

// addDocument adds a text, JSON or an image with a label.
func (w *resultWriter) addDocument(label string, p *documentPart) {
	if p.Resource != nil {
		w.addDocument(label+", "+w.hidden.Text(p.Resource.URI), p.Resource)
		return
	}
	if p.MimeType != "" {
		label += ", " + p.MimeType
	}
	data := p.Data + p.Blob // one of them
	switch {
	case data != "":
		w.addImage(data)
		last := &w.parts[len(w.parts)-1]
		if last.Label = label; last.Image == "" {
			bytes, _ := base64.StdEncoding.DecodeString(data)
			last.Text = count(len(bytes), "byte") + ", which the console does not show"
		}
	case p.Type == "resource_link":
		w.addText(label, "a link to "+p.URI)
	case strings.HasSuffix(p.MimeType, "json") && json.Valid([]byte(p.Text)):
		w.addJSON(label, json.RawMessage(p.Text))
	default:
		w.addText(label, p.Text)
	}
}
