package hcl

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
)

// PromptMessage is one message block of a prompt: one message of the protocol for every content
// item.
type PromptMessage struct {
	Role    string // "user" or "assistant"
	When    *Condition
	Each    *Expr // repeats the message for every element of a list or map; nil for one message
	Content []*Content
	Range   Range
}

// messageBlock is a message block being decoded; text is short for one content item.
type messageBlock struct {
	*PromptMessage
	Text *TextTemplate
}

// messageBlocks declares the message blocks of a prompt or a sample block.
func messageBlocks(dst *[]*PromptMessage, doc string) decode.Field {
	return decode.Blocks("message", "role", doc,
		func() decode.Spec { return (&messageBlock{PromptMessage: &PromptMessage{}}).spec() },
		func(d *decode.Decoder, b *hclsyntax.Block) {
			if m := decodeMessage(d, b); m != nil {
				*dst = append(*dst, m)
			}
		})
}

func (m *messageBlock) spec() decode.Spec {
	return decode.Spec{
		decode.EachField(&m.Each, "each",
			"A list or map: the message is repeated for every element, which it reads as each.key and each.value."),
		decode.Guard(&m.When, "when",
			"The message is omitted when this is false; with each, evaluated for every element."),
		decode.Attr(&m.Text, "text", "The text; short for one content \"text\" block."),
		contentBlocks(&m.Content, "One content item, in written order. The label is text, image, audio, resource or "+
			"link. Clients receive one message for each."),
	}
}

// decodeMessage decodes one message block; nil for an invalid role.
func decodeMessage(d *decode.Decoder, b *hclsyntax.Block) *PromptMessage {
	if len(b.Labels) != 1 {
		d.Errorf(b.TypeRange, "Wrong number of labels", "A message block is written `message \"user\" {`.")
		return nil
	}
	m := &messageBlock{PromptMessage: &PromptMessage{Role: b.Labels[0], Range: headerRange(b)}}
	if !slices.Contains(roles, m.Role) {
		hint := diag.DidYouMean(m.Role, roles)
		if m.Role == "system" {
			hint = " For a system prompt, write the first message of the user, or in a sample block system = \"…\"."
		}
		d.Errorf(b.LabelRanges[0], "Unknown role", "The role of a message is \"user\" or \"assistant\", not %q.%s",
			m.Role, hint)
	}
	d.Body(b, m.spec())
	written, text := b.Body.Attributes["text"]
	switch {
	case text && len(m.Content) > 0:
		d.Errorf(written.NameRange, "Text and content",
			"text is short for one content \"text\" block, and there are content blocks. Write it as one of them.")
	case text:
		m.Content = []*Content{{Kind: "text", Text: m.Text, Range: diag.RangeOf(written.SrcRange)}}
	case len(m.Content) == 0 && len(b.Body.Blocks) == 0 && !slices.Contains(d.Typos, "text"):
		d.Errorf(b.DefRange(), "Empty message", "A message needs a text or content blocks.")
	}
	return m.PromptMessage
}
