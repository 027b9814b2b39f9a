package hcl

import (
	"math"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
)

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
