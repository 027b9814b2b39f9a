package hcl

import "sort"

// Prompt is one prompt block.
type Prompt struct {
	Work
	Title       string
	Description string
	Icons       []*Icon
	Messages    []*PromptMessage
	Error       *Message
}

// A promptDecl is a prompt being decoded.
type promptDecl struct {
	*workDecl
	prompt *Prompt
}

func newPromptDecl(l *loader, b block) *promptDecl {
	p := &promptDecl{prompt: &Prompt{}}
	p.workDecl = newWorkDecl(l, b, "prompt", &p.prompt.Work)
	p.inputs.noun, p.inputs.texts = "argument", &texts{"an argument of a prompt", true}
	return p
}

// prompts decodes the prompt blocks. The tools are complete by now.
func (l *loader) prompts(tools map[string]*toolDecl) {
	blocks := l.blocks["prompt"]
	decls := make([]*promptDecl, len(blocks))
	l.opts.Parallel(len(decls), func(i int) {
		if w := keptWork(blocks[i]); w != nil {
			decls[i] = &promptDecl{prompt: w.kept.made.(*Prompt), workDecl: w}
			return
		}
		decls[i] = newPromptDecl(l, blocks[i])
		decls[i].dec.tools = tools
		decls[i].decode()
		decls[i].shed()
	})
	for _, p := range decls {
		l.accept(p.workDecl, p.prompt, tools)
		l.diags = append(l.diags, p.askers()...)
		if l.claim("prompt", p.prompt.Name, p.block) && p.enabled {
			l.config.Prompts = append(l.config.Prompts, p.prompt)
		}
	}
	sort.Slice(l.config.Prompts, func(i, j int) bool { return l.config.Prompts[i].Name < l.config.Prompts[j].Name })
}

// promptSpec is everything a prompt block may hold except its backend, in the order of the reference.
func promptSpec(p *promptDecl) Spec {
	return Join(p.headSpec(), p.bodySpec(), p.messageSpec(), errorSpec(&p.prompt.Error, "a failure"))
}

func (p *promptDecl) headSpec() Spec {
	return Spec{
		Attr(&p.prompt.Title, "title", "The name as a person reads it."),
		Attr(&p.prompt.Description, "description", "What the prompt is for. A person chooses by this text.").Require(),
		p.timeoutField("How long making the messages may take."),
		p.requiresField(),
		p.enabledField(),
		icons(&p.prompt.Icons, "Pictures of the prompt, for clients that show some."),
		labelled("argument", "name", "One argument, which a person fills in. It arrives as a text and is read as input.name.", argumentSpec, p.inputs.input),
	}
}

func (p *promptDecl) messageSpec() Spec {
	return Spec{messages(&p.prompt.Messages, "What is said, in written order. The label is user or assistant.").Require()}
}

func (p *promptDecl) decode() {
	d, b := p.dec, p.block
	p.named()
	head, body, said, failure := p.headSpec(), p.bodySpec(), p.messageSpec(), errorSpec(&p.prompt.Error, "a failure")
	d.unknown(b.Body, head, body, said, failure, d.shared.standing.work)
	d.fields(b.Body, head, b.DefRange())
	p.timed()
	p.inputs.finish()
	d.scope = p.scope()
	d.fields(b.Body, body, b.DefRange())
	d.facts = d.facts.and(p.prompt.Allow)
	p.does()
	d.fields(b.Body, said, b.DefRange())
	p.failing(failure)
	p.onlyReads("A prompt is what a person chooses to say")
	p.described(p.prompt.Description)
	p.completions()
	p.unusedInputs()
	p.prompt.Digest = p.digest()
	p.digestCalls()
}
