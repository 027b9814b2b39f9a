package hcl

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// PromptMessage is one message block of a prompt: one message of the protocol for every piece of its content.
type PromptMessage struct {
	Role    string // "user" or "assistant"
	When    *Condition
	Each    *Expr // nil, or a list or map for every element of which the message is written
	Content []*Content
	Range   Range
}

// A messageBlock is a message being decoded: text is short for one piece of content.
type messageBlock struct {
	*PromptMessage
	Text *Message
}

// messages declares the message blocks of a prompt, or of what the client's model is asked.
func messages(dst *[]*PromptMessage, doc string) Field {
	return labelled("message", "role", doc, func() Spec { return (&messageBlock{PromptMessage: &PromptMessage{}}).spec() }, func(d *decoder, b *hclsyntax.Block) {
		if m := d.promptMessage(b); m != nil {
			*dst = append(*dst, m)
		}
	})
}

func (m *messageBlock) spec() Spec {
	return Join(m.eachSpec(), m.guardSpec(), m.holdSpec())
}

func (m *messageBlock) eachSpec() Spec {
	return Spec{Attr(&m.Each, "each", "A list or map: the message is written for every element, which it reads as each.key and each.value.").AllowFile()}
}

func (m *messageBlock) guardSpec() Spec {
	return Spec{Attr(&m.When, "when", "The message is left out when this is false; with each it is asked for every element.")}
}

func (m *messageBlock) holdSpec() Spec {
	return Spec{
		Attr(&m.Text, "text", "A text, short for one content \"text\" block."),
		labelled("content", "kind", "One piece of content, in written order. The label is text, image, audio, resource or link. Clients get a message for each.", func() Spec { return contentSpec(&Content{}) }, func(d *decoder, b *hclsyntax.Block) {
			if c := d.content(b); c != nil {
				m.Content = append(m.Content, c)
			}
		}),
	}
}

// promptMessage decodes one message block; nil when nobody says it.
func (d *decoder) promptMessage(b *hclsyntax.Block) *PromptMessage {
	if len(b.Labels) != 1 {
		d.errorf(b.TypeRange, "Wrong number of labels", "A message block is written `message \"user\" {`.")
		return nil
	}
	m := &messageBlock{PromptMessage: &PromptMessage{Role: b.Labels[0], Range: at(b.DefRange())}}
	if !slices.Contains(roles, m.Role) {
		hint := didYouMean(m.Role, roles)
		if m.Role == "system" {
			hint = " What a model is told beforehand is the first message of the user, or in a sample block its system = \"…\"."
		}
		d.errorf(b.LabelRanges[0], "Unknown role", "A message is said by the \"user\" or the \"assistant\", and this is %q.%s", m.Role, hint)
	}
	d.unknown(b.Body, m.spec())
	around, known := d.scope, d.facts
	d.fields(b.Body, m.eachSpec(), b.DefRange())
	if m.Each != nil {
		key, elem := d.eachTypes(m.Each)
		d.scope = around.with("each", eachRoot(key, elem))
	}
	d.fields(b.Body, m.guardSpec(), b.DefRange())
	d.facts = known.and(m.When)
	d.fields(b.Body, m.holdSpec(), b.DefRange())
	d.scope, d.facts = around, known
	written, text := b.Body.Attributes["text"]
	switch {
	case text && len(m.Content) > 0:
		d.errorf(written.NameRange, "Text beside content", "text is short for one content \"text\" block, and there are content blocks. Write it as one of them, in its place.")
	case text:
		m.Content = []*Content{{Kind: "text", Text: m.Text, Range: at(written.SrcRange)}}
	case len(m.Content) == 0 && len(b.Body.Blocks) == 0 && !d.typos["text"]:
		d.errorf(b.DefRange(), "Empty message", "A message holds a text, or content blocks.")
	}
	return m.PromptMessage
}
