package hcl

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// Prompt is one prompt block.
type Prompt struct {
	Operation
	Title       string
	Description string
	Icons       []*Icon
	Meta        []byte // of its entry in lists, an object as encoded JSON; nil for none
	Messages    []*PromptMessage
	Error       *TextTemplate
}

// promptDecoder decodes a prompt block.
type promptDecoder struct {
	*operationDecoder
	prompt *Prompt
}

func newPromptDecoder(l *loader, b sourceBlock) *promptDecoder {
	p := &promptDecoder{prompt: &Prompt{}}
	p.operationDecoder = newOperationDecoder(l, b, "prompt", &p.prompt.Operation)
	p.result = p.prompt
	p.inputs.noun, p.inputs.texts = "argument", &textInputs{"an argument of a prompt", true}
	return p
}

// decodePrompts decodes the prompt blocks. The tools are complete by now.
func (l *loader) decodePrompts() {
	l.decodeOperations("prompt", func(b sourceBlock) *operationDecoder { return newPromptDecoder(l, b).decode() })
}

// promptSpec is the spec of a prompt block without its backend, in the order of the reference.
func promptSpec(p *promptDecoder) decode.Spec {
	return decode.Join(p.headSpec(), p.bodySpec(), p.messageSpec(), errorSpec(&p.prompt.Error, "a failure"))
}

func (p *promptDecoder) headSpec() decode.Spec {
	return decode.Spec{
		decode.Attr(&p.prompt.Title, "title", "The display name."),
		decode.Attr(&p.prompt.Description, "description",
			"The purpose of the prompt, for the user who chooses it.").Require(),
		p.timeoutField("The timeout for producing the messages."),
		p.requiresField(),
		p.enabledField(),
		iconsField(&p.prompt.Icons, "Icons of the prompt."),
		metaField(&p.prompt.Meta, "the prompt"),
		decode.Blocks("argument", "name",
			"One argument, filled in by the user. It is sent as a string and read as input.name.", argumentSpec,
			p.inputs.decodeInput),
	}
}

func (p *promptDecoder) messageSpec() decode.Spec {
	return decode.Spec{messageBlocks(&p.prompt.Messages,
		"One message, in written order. The label is user or assistant.").Require()}
}

func (p *promptDecoder) decode() *operationDecoder {
	d, b := p.dec, p.block
	p.decodeName()
	head, body, said, failure := p.headSpec(), p.bodySpec(), p.messageSpec(), errorSpec(&p.prompt.Error, "a failure")
	d.CheckNames(b.Block, head, body, said, failure, p.loader.blockSpecs.operation)
	d.Fields(b.Block, head)
	p.inputs.buildInputType()
	d.Scope = p.scope()
	d.Fields(b.Block, body)
	p.decodeSteps()
	d.Fields(b.Block, said)
	p.decodeErrorText(failure)
	p.requireReadOnly("A prompt is chosen by the user")
	p.checkDescription(p.prompt.Description)
	p.decodeCompletions()
	p.warnUnusedInputs()
	p.requireWhole()
	p.prompt.Digest = p.digest()
	p.digestCalls()
	return p.operationDecoder
}

// PromptArgument is an argument of a prompt as clients see it.
type PromptArgument struct {
	Name        string
	Title       string
	Description string
	Required    bool
}

// Arguments returns the arguments in written order. Clients receive no types, so the descriptions
// explain how values are written.
func (p *Prompt) Arguments() []PromptArgument {
	out := make([]PromptArgument, len(p.Input.Members))
	for i, m := range p.Input.Members {
		out[i] = PromptArgument{Name: m.Name, Title: m.Type.Title, Description: describeArgument(m.Type),
			Required: !m.Optional}
	}
	return out
}

// describeArgument returns the description of a type, including how its values are written.
func describeArgument(t *schema.Type) string {
	form := ""
	switch {
	case len(t.Enum) > 0:
		form = "One of " + strings.Join(enumTexts(t), ", ") + "."
	case t.Kind == schema.Integer:
		form = "An integer."
	case t.Kind == schema.Number:
		form = "A number."
	case t.Kind == schema.Bool:
		form = "true or false."
	case t.Kind != schema.String:
		form = "Written as JSON: " + eval.TypePhrase(t) + "."
	}
	said := strings.TrimSpace(t.Description)
	if said != "" && form != "" && !strings.ContainsAny(said[len(said)-1:], ".!?") {
		said += "."
	}
	return strings.TrimSpace(said + " " + form)
}

// enumTexts returns the values of an enum as strings.
func enumTexts(t *schema.Type) (texts []string) {
	for _, e := range t.Enum {
		text, err := value.Text(e.Value)
		if err == nil {
			texts = append(texts, text)
		}
	}
	return texts
}

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
			hint = hint.Says(" For a system prompt, write the first message of the user, or in a sample block " +
				"system = \"…\".")
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
