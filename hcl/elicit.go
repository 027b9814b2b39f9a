package hcl

import (
	"regexp"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
)

// Elicit asks the user to fill in a form, or to open a URL.
type Elicit struct {
	Message  *Message
	Fields   *schema.Type // of the form, an object without members when there is nothing to fill in; nil with a URL
	Answer   *schema.Validator
	URL      *Address // instead of a form
	Declined bool     // on_decline = "continue": that the user declined or cancelled is an answer; otherwise it ends the call
}

// AppendSchema appends the form as a client understands it: the requestedSchema of the protocol.
func (e *Elicit) AppendSchema(dst []byte) []byte { return e.Fields.AppendForm(dst) }

func (e *Elicit) spec() Spec {
	e.form(&schema.Type{Kind: schema.Object})
	return Join(
		Spec{said(&e.Message, "message", "What the user is asked.").Require()},
		AtMost("what is asked for",
			special("fields", "type", "What there is to fill in: an object of texts, numbers, bools, choices and lists of choices. Without it the user only agrees.", e.fields),
			special("url", "URL", "A page to open instead. Its host is the author's; what a caller sends can be a part of its path or query.", e.page)),
		Spec{either(&e.Declined, "on_decline", `"fail" ends the call when the user declines or cancels; "continue" goes on without content.`, "fail", "continue").Or("fail")},
	)
}

func (e *Elicit) form(t *schema.Type) { e.Fields, e.Answer = t, t.Compile() }

func (e *Elicit) fields(d *decoder, x hclsyntax.Expression) {
	before := len(d.diags)
	t := d.typ(x)
	if len(d.diags) > before && t.Kind != schema.Object {
		return
	}
	if t.Kind != schema.Object || t.Nullable {
		d.errorf(x.Range(), "Not a form", "A form is an object of what there is to fill in: object({ name = string(\"Full name\") }).")
		return
	}
	e.form(t)
	for _, m := range t.FormMistakes() {
		d.errorf(inside(x.Range(), m.Range), "Not in a form", "%s", m.Detail)
	}
	for _, m := range t.Members {
		if secretName.MatchString(m.Name) {
			d.diags.warnf(at(inside(x.Range(), m.Range)), "Secret in a form", "%q looks like a secret. The client and its model may see what is filled in, so the protocol forbids to ask for secrets: send the user to a page of your own, url = \"https://…\".", m.Name)
		}
	}
}

// secretName is what a secret is called.
var secretName = regexp.MustCompile(`(?i)(^|_)(password|passwd|passphrase|secret|pin|cvv|cvc|api_?key|private_?key|access_?token|card_?number)($|_)`)

// inside is a range that lies in another, or that other: a type may be declared elsewhere.
func inside(whole, part hclv2.Range) hclv2.Range {
	if part.Filename == whole.Filename && part.Start.Byte >= whole.Start.Byte && part.End.Byte <= whole.End.Byte {
		return part
	}
	return whole
}

func (e *Elicit) page(d *decoder, x hclsyntax.Expression) {
	before := len(d.diags)
	d.computed(&e.URL, x, Field{Name: "url"})
	e.Fields, e.Answer = nil, nil
	const host = "Host depends on a call"
	if len(d.diags) == before && e.URL.NeedsHosts() {
		d.errorf(x.Range(), host, "")
	}
	d.diags[before:].reword(map[string]string{ // a page is no request: what helps there does not help here
		host:              "The user is sent to a host that the author has chosen, and nobody else: write \"https://host/${…}\".",
		"URL has no host": "A user opens a whole URL: write \"https://host/path\".",
		"User in a URL":   "A user or password has no place in a URL that is shown to people.",
	})
}
