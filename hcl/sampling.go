package hcl

import (
	"math"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval/hclexpr"
)

// Sample asks the model of the client.
type Sample struct {
	Messages     []*PromptMessage
	System       *hclexpr.TextTemplate // nil for none
	MaxTokens    int
	Temperature  *float64
	Stop         []string
	Models       []string // hints, the best first
	Cost         *float64 // how much each matters, from 0 to 1
	Speed        *float64
	Intelligence *float64
	Include      string // "none", "thisServer" or "allServers"; empty leaves it to the client
}

const defaultMaxTokens = 1000

func (s *Sample) spec() decode.Spec {
	s.MaxTokens = defaultMaxTokens
	return decode.Join(
		decode.ExactlyOneOf("what the model reads",
			decode.Custom("prompt", "template", "A text of the user, short for one message block.", s.decodePrompt),
			s.messagesField()),
		decode.Spec{
			decode.MessageAttr(&s.System, "system", "What the model is told about its task beforehand."),
			decode.PositiveInt(&s.MaxTokens, "max_tokens", "How long the answer may be at most.").DefaultDoc("1000"),
			decode.RangedFloat(&s.Temperature, "temperature", "How much the answer varies: 0 hardly at all.", math.Inf(1)),
			decode.Attr(&s.Stop, "stop", "Texts at which the answer ends."),
			decode.Attr(&s.Models, "models", "Names of models, or parts of names, the best first. The client decides."),
			decode.RangedFloat(&s.Cost, "cost", "How much a low price matters.", 1),
			decode.RangedFloat(&s.Speed, "speed", "How much a fast answer matters.", 1),
			decode.RangedFloat(&s.Intelligence, "intelligence", "How much a good answer matters.", 1),
			decode.Choice(&s.Include, "include", "What the model may see of other conversations.", "none", "thisServer", "allServers"),
		},
	)
}

func (s *Sample) decodePrompt(d *decode.Decoder, e hclsyntax.Expression) {
	var text *hclexpr.TextTemplate
	decode.MessageAttr(&text, "prompt", "").DecodeAttr(d, e, decode.Field{})
	r := diag.RangeOf(e.Range())
	s.Messages = []*PromptMessage{{Role: "user", Content: []*Content{{Kind: "text", Text: text, Range: r}}, Range: r}}
}

// messagesField declares message blocks, less what a model of a client cannot read.
func (s *Sample) messagesField() decode.Field {
	f := messageBlocks(&s.Messages, "One message of a dialogue, in written order. The label is user or assistant; the last is the user's.")
	inner := f.DecodeBlock
	f.DecodeBlock = func(d *decode.Decoder, b *hclsyntax.Block) {
		inner(d, b)
		for _, nested := range b.Body.Blocks {
			if nested.Type == "content" && len(nested.Labels) == 1 && (nested.Labels[0] == "resource" || nested.Labels[0] == "link") {
				d.Errorf(nested.LabelRanges[0], "Unknown kind of content", "A model of the client reads text, image and audio, and no %s. Write what it holds as text.", nested.Labels[0])
			}
		}
	}
	return f
}
