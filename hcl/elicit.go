package hcl

import (
	"math"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/schema"
	"hatchel/internal/credential"
)

// Elicit asks the user to fill in a form, or to open a URL.
type Elicit struct {
	Message *TextTemplate
	// the fields of the form, an empty object for a confirmation; nil with a URL
	Fields    *schema.Type
	Validator *schema.Validator
	URL       *RequestURL // instead of a form
	// on_decline = "continue": declining and cancelling are answers; otherwise they end the call
	ContinueOnDecline bool
}

// AppendSchema appends the form as the requestedSchema of the protocol.
func (e *Elicit) AppendSchema(dst []byte) []byte { return e.Fields.AppendForm(dst) }

func (e *Elicit) spec() decode.Spec {
	e.setForm(&schema.Type{Kind: schema.Object})
	return decode.Join(
		decode.Spec{decode.MessageAttr(&e.Message, "message", "The question to the user.").Require()},
		decode.AtMostOneOf("the question",
			decode.Custom("fields", "type", "The fields of the form: an object of strings, numbers, bools, enums and "+
				"lists of enums. Without fields the user only confirms.", e.decodeFields),
			e.urlField()),
		decode.Spec{decode.BoolChoice(&e.ContinueOnDecline, "on_decline",
			`"fail" ends the call when the user declines or cancels; "continue" continues without content.`, "fail",
			"continue").DefaultDoc("fail")},
	)
}

func (e *Elicit) setForm(t *schema.Type) { e.Fields, e.Validator = t, t.Compile() }

func (e *Elicit) decodeFields(d *decode.Decoder, x hclsyntax.Expression) {
	before := len(d.Diags)
	t := d.DecodeType(x)
	if len(d.Diags) > before && t.Kind != schema.Object {
		return
	}
	if t.Kind != schema.Object || t.Nullable || t.OneOf != nil {
		d.Errorf(x.Range(), "Not a form",
			"A form is an object with its fields: object({ name = string(\"Full name\") }).")
		return
	}
	e.setForm(t)
	for _, m := range t.Members {
		if problem := m.FormError(); problem != "" {
			d.Errorf(rangeWithin(x.Range(), m.Range), "Not in a form", "%s", problem)
		}
		if credential.IsAskedName(m.Name) {
			d.Diags.Warnf(diag.RangeOf(rangeWithin(x.Range(), m.Range)), "Secret in a form",
				"%q looks like a secret. The client and its model may see the user's input, so the protocol "+
					"forbids asking for secrets: send the user to your own page, url = \"https://…\".", m.Name)
		}
	}
}

// rangeWithin returns part if it lies within whole, else whole: a type may be declared elsewhere.
func rangeWithin(whole, part hclv2.Range) hclv2.Range {
	if part.Filename == whole.Filename && part.Start.Byte >= whole.Start.Byte && part.End.Byte <= whole.End.Byte {
		return part
	}
	return whole
}

func (e *Elicit) urlField() decode.Field {
	f := decode.Attr(&e.URL, "url",
		"A page to open instead of a form. The host is constant; arguments can be part of the path or query.")
	return f.Page().Check(func(*decode.Decoder, Range) { e.Fields, e.Validator = nil, nil })
}

// Sample asks the model of the client.
type Sample struct {
	Messages     []*PromptMessage
	System       *TextTemplate // nil for none
	MaxTokens    int
	Temperature  *float64
	Stop         []string
	Models       []string // hints, preferred first
	Cost         *float64 // priorities, from 0 to 1
	Speed        *float64
	Intelligence *float64
	Include      string // "none", "thisServer" or "allServers"; empty leaves it to the client
}

func (s *Sample) spec() decode.Spec {
	s.MaxTokens = 1000
	return decode.Join(
		decode.ExactlyOneOf("the messages for the model", s.promptField(), s.messagesField()),
		decode.Spec{
			decode.MessageAttr(&s.System, "system", "The system prompt."),
			decode.PositiveInt(&s.MaxTokens, "max_tokens",
				"The maximum number of tokens in the answer.").DefaultDoc("1000"),
			decode.RangedFloat(&s.Temperature, "temperature", "The sampling temperature.", math.Inf(1)),
			decode.Attr(&s.Stop, "stop", "Stop sequences."),
			decode.Attr(&s.Models, "models",
				"Hints for the model: names or parts of names, preferred first. The client decides."),
			decode.RangedFloat(&s.Cost, "cost", "The priority of low cost, from 0 to 1.", 1),
			decode.RangedFloat(&s.Speed, "speed", "The priority of speed, from 0 to 1.", 1),
			decode.RangedFloat(&s.Intelligence, "intelligence", "The priority of capability, from 0 to 1.", 1),
			decode.Choice(&s.Include, "include", "The context of other conversations that the client may include.",
				"none", "thisServer", "allServers"),
		},
	)
}

func (s *Sample) promptField() decode.Field {
	var text *TextTemplate
	return decode.MessageAttr(&text, "prompt", "The text of one user message; short for one message block.").Then(
		func(_ *decode.Decoder, r Range) {
			content := []*Content{{Kind: "text", Text: text, Range: r}}
			s.Messages = []*PromptMessage{{Role: "user", Content: content, Range: r}}
		})
}

// messagesField declares message blocks and rejects content that models of clients cannot read.
func (s *Sample) messagesField() decode.Field {
	return messageBlocks(&s.Messages, "One message of the conversation, in written order. The label is user or "+
		"assistant; the last one must be from the user.").CheckBlock(func(d *decode.Decoder, b *hclsyntax.Block) {
		for _, nested := range b.Body.Blocks {
			if kind := nested.Labels[0]; kind == "resource" || kind == "link" {
				d.Errorf(nested.LabelRanges[0], "Unknown content type",
					"The model of the client accepts text, image and audio, not %s. Send it as text.", kind)
			}
		}
	})
}
