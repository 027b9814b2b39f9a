package hcl

import (
	"hatchel/hcl/decode"
	"hatchel/hcl/eval/hclexpr"
	"sort"
)

// Prompt is one prompt block.
type Prompt struct {
	Operation
	Title       string
	Description string
	Icons       []*Icon
	Messages    []*PromptMessage
	Error       *hclexpr.TextTemplate
}

// promptDecoder is a prompt being decoded.
type promptDecoder struct {
	*operationDecoder
	prompt *Prompt
}

func newPromptDecoder(l *loader, b sourceBlock) *promptDecoder {
	p := &promptDecoder{prompt: &Prompt{}}
	p.operationDecoder = newOperationDecoder(l, b, "prompt", &p.prompt.Operation)
	p.inputs.noun, p.inputs.texts = "argument", &textInputs{"an argument of a prompt", true}
	return p
}

// decodePrompts decodes the prompt blocks. The tools are complete by now.
func (l *loader) decodePrompts(tools map[string]*toolDecoder) {
	blocks := l.blocks["prompt"]
	decls := make([]*promptDecoder, len(blocks))
	l.opts.Parallel(len(decls), func(i int) {
		if w := cachedOperation(blocks[i]); w != nil {
			decls[i] = &promptDecoder{prompt: w.cached.result.(*Prompt), operationDecoder: w}
			return
		}
		decls[i] = newPromptDecoder(l, blocks[i])
		decls[i].tools = tools
		decls[i].decode()
		decls[i].dropBody()
	})
	for _, p := range decls {
		l.commit(p.operationDecoder, p.prompt, tools)
		l.diags = append(l.diags, p.checkCalledToolsAsk()...)
		if l.declare("prompt", p.prompt.Name, p.block) && p.enabled {
			l.config.Prompts = append(l.config.Prompts, p.prompt)
		}
	}
	sort.Slice(l.config.Prompts, func(i, j int) bool { return l.config.Prompts[i].Name < l.config.Prompts[j].Name })
}

// promptSpec is everything a prompt block may hold except its backend, in the order of the reference.
func promptSpec(p *promptDecoder) decode.Spec {
	return decode.Join(p.headSpec(), p.bodySpec(), p.messageSpec(), errorSpec(&p.prompt.Error, "a failure"))
}

func (p *promptDecoder) headSpec() decode.Spec {
	return decode.Spec{
		decode.Attr(&p.prompt.Title, "title", "The name as a person reads it."),
		decode.Attr(&p.prompt.Description, "description", "What the prompt is for. A person chooses by this text.").Require(),
		p.timeoutField("How long making the messages may take."),
		p.requiresField(),
		p.enabledField(),
		iconsField(&p.prompt.Icons, "Pictures of the prompt, for clients that show some."),
		decode.Blocks("argument", "name", "One argument, which a person fills in. It arrives as a text and is read as input.name.", argumentSpec, p.inputs.decodeInput),
	}
}

func (p *promptDecoder) messageSpec() decode.Spec {
	return decode.Spec{messageBlocks(&p.prompt.Messages, "What is said, in written order. The label is user or assistant.").Require()}
}

func (p *promptDecoder) decode() {
	d, b := p.dec, p.block
	p.checkName()
	head, body, said, failure := p.headSpec(), p.bodySpec(), p.messageSpec(), errorSpec(&p.prompt.Error, "a failure")
	d.CheckNames(b.Body, head, body, said, failure, p.loader.blockSpecs.operation)
	d.Fields(b.Body, head, b.DefRange())
	p.checkTimeout()
	p.inputs.buildInputType()
	d.Scope = p.scope()
	d.Fields(b.Body, body, b.DefRange())
	d.NonNull = d.NonNull.AddPaths(p.prompt.Allow.NonNullWhenTrue())
	p.decodeSteps()
	d.Fields(b.Body, said, b.DefRange())
	p.decodeErrorText(failure)
	p.requireReadOnly("A prompt is what a person chooses to say")
	p.checkDescription(p.prompt.Description)
	p.decodeCompletions()
	p.warnUnusedInputs()
	p.prompt.Digest = p.digest()
	p.digestCalls()
}
