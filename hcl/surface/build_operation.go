package surface

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl"
	"hatchel/hcl/diag"
)

func (b *builder) tool(t *hcl.Tool) {
	out := &Tool{Annotations: Annotations{t.ReadOnly, t.Destructive, t.Idempotent, t.OpenWorld}}
	block := b.operation(&out.Operation, &t.Operation, "tool", toolCovered, "text", "error")
	out.Title, out.Description, out.Listed = t.Title, t.Description, t.Listed
	for _, a := range t.Approvals {
		line := b.describeApproval(a, block.locals)
		out.May.Approval = append(out.May.Approval, line)
		b.addMessage(out.Texts, block, t.Name, "approval "+line, a.Range)
	}
	out.May.Limit = limitOf(t.Limit)
	out.Output = decodeSchema(t.Returns)
	out.Digest = digest(canonical(out))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.out.Tools[t.Name] = out
}

// The arguments and blocks that a surface shows as they are; the digest of the steps covers the others.
var (
	operationCovered = []string{"title", "description", "scopes", "allow", "requires", "listed", "enabled", "schema",
		"error"}
	toolCovered = append([]string{"read_only", "destructive", "idempotent", "open_world", "limit", "returns", "text"},
		operationCovered...)
	resourceCovered = append([]string{"uri", "uri_template", "mime_type", "text"}, operationCovered...)
	promptCovered   = append([]string{"message"}, operationCovered...)
)

// shownParts are the arguments of nested blocks that a surface shows as they are.
var shownParts = map[string][]string{
	"input": {"type"}, "argument": {"type"}, "check": {"that", "message"}, "approval": {"when", "by", "message"},
}

// operationBlock is the block of an operation, with the blocks in it at every depth.
type operationBlock struct {
	*hclsyntax.Block
	nested map[hcl.Range]*hclsyntax.Block // by their first line
	locals map[string]hclsyntax.Expression
}

// blockOf returns a block of a file that was read.
func (b *builder) blockOf(name string) operationBlock {
	out := operationBlock{b.blocks[name], map[hcl.Range]*hclsyntax.Block{}, map[string]hclsyntax.Expression{}}
	var walk func(body *hclsyntax.Body)
	walk = func(body *hclsyntax.Body) {
		for _, nested := range body.Blocks {
			out.nested[diag.RangeOf(nested.DefRange())] = nested
			walk(nested.Body)
		}
	}
	walk(out.Body)
	for _, nested := range out.Body.Blocks {
		if nested.Type == "locals" {
			for name, a := range nested.Body.Attributes {
				out.locals[name] = a.Expr
			}
		}
	}
	return out
}

// operation sets what tools, prompts and resources share, with these arguments as texts, and returns the block.
func (b *builder) operation(
	out *Operation, op *hcl.Operation, kind string, covered []string, texts ...string,
) operationBlock {
	name := kind + " " + op.Name
	block := b.blockOf(name)
	b.place(name, op.Range)
	if kind == "tool" {
		name = op.Name
		b.place(name, op.Range)
	}
	b.placeArguments(name, block.Block)
	out.Input, out.Order = decodeSchema(op.Input), op.Input.MemberNames()
	out.Requires = slices.Sorted(slices.Values(op.Requires))
	out.May.Scopes = slices.Sorted(slices.Values(op.Scopes))
	out.May.Allow = b.condition(op.Allow, block.locals)
	for _, p := range b.config.Policies {
		if kind == "tool" && p.AppliesToTool(op.Name) || kind == "prompt" && p.AppliesToPrompt(op.Name) ||
			kind == "resource" && p.AppliesToResource(op.Name) {
			out.May.Policies = append(out.May.Policies, p.Name)
		}
	}
	out.Texts = b.texts(block, texts...)
	for _, c := range op.Checks {
		line := b.condition(c.That, block.locals)
		out.May.Checks = append(out.May.Checks, line)
		b.addMessage(out.Texts, block, name, "check "+line, c.Range)
	}
	steps := op.Steps
	for _, input := range diag.SortedNames(op.Completions) {
		steps = append(slices.Clone(steps), op.Completions[input].Steps...)
	}
	for _, before := range op.Before {
		steps = append(slices.Clone(steps), before.Steps...)
	}
	own := b.withLocals(block.locals)
	for _, step := range steps {
		lines := own.stepDoes(step, block.nested[step.Backend.Range])
		for _, line := range lines {
			b.place(name+".does "+line, step.Backend.Range)
		}
		out.Does = append(out.Does, lines...)
		out.Reads = append(out.Reads, own.reads(step, block.nested[step.Backend.Range], lines)...)
	}
	for _, list := range []*[]string{&out.Does, &out.Reads, &out.May.Checks} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	out.Guards, out.Sensitive = own.guards(block.Block, covered), sensitiveInputs(op.Input)
	out.Steps = b.rest(block.Block, covered)
	return block
}

// addMessage adds the message of a nested block, which models or approvers read, to the texts of an operation.
func (b *builder) addMessage(texts map[string]string, block operationBlock, name, key string, r hcl.Range) {
	b.place(name+"."+key, r)
	nested := block.nested[r]
	if nested == nil {
		return
	}
	text := strings.Join(nested.Labels, " ")
	if e := attribute(nested, "message"); e != nil {
		text = b.message(e, block.locals)
	}
	texts[key] = text
}

// stepDoes returns what a step does, whose backend is a block.
func (s *source) stepDoes(step *hcl.Step, block *hclsyntax.Block) (lines []string) {
	backend, kind, name := step.Backend, "", ""
	if backend.Connection != nil {
		kind, name = backend.Connection.Kind, backend.Connection.Name
	}
	switch config := backend.Config.(type) {
	case *hcl.ToolCall:
		lines = []string{"CALL " + config.Name}
		for _, a := range block.Body.Attributes {
			for _, line := range s.sentValues(a.Name, a.Expr, false) {
				lines = append(lines, "CALL "+config.Name+" "+line)
			}
		}
		return lines
	case *hcl.AskGroup:
		for _, a := range config.Asks {
			lines = append(lines, askLine(a))
		}
		return lines
	case hcl.EffectLister:
		lines = s.does(config.Effects(backend.Connection), kind, name, backend.SourceOf)
	}
	for name, digest := range backend.Code {
		lines = append(lines, "CODE "+name+" "+digest)
	}
	return append(lines, s.headers(block)...)
}

func askLine(a *hcl.Ask) string {
	switch {
	case a.Sample != nil:
		return "ASK the model of the client"
	case a.Roots != nil:
		return "ASK for the folders of the user"
	case a.Elicit != nil && a.Elicit.URL != nil:
		return "ASK the user to open a page"
	}
	return "ASK the user"
}

// reads returns the secrets in the backend of a step, and where they go, as in "secret.x→shop".
func (s *source) reads(step *hcl.Step, block *hclsyntax.Block, does []string) (lines []string) {
	if len(s.secrets) == 0 || block == nil {
		return nil
	}
	to := block.Type
	if step.Backend.Connection != nil {
		to = step.Backend.Connection.Name
	} else if len(does) > 0 {
		to = does[0]
	}
	for _, secret := range s.secretsIn(s.closure(s.normalize(block.Range()))) {
		lines = append(lines, secret+"→"+to)
	}
	return lines
}

// rest returns the digest of a block without what is covered elsewhere; empty for nothing.
func (b *builder) rest(block *hclsyntax.Block, covered []string) string {
	parts := map[int]string{}
	for _, a := range block.Body.Attributes {
		if !slices.Contains(covered, a.Name) {
			parts[a.SrcRange.Start.Byte] = b.normalize(a.SrcRange)
		}
	}
	names := slices.Sorted(maps.Values(parts)) // the order of arguments means nothing, that of blocks does
	clear(parts)
	for _, nested := range block.Body.Blocks {
		shown, known := shownParts[nested.Type]
		switch at := nested.TypeRange.Start.Byte; {
		case known:
			if rest := b.rest(nested, shown); rest != "" {
				parts[at] = strings.Join(append([]string{nested.Type}, nested.Labels...), " ") + " " + rest
			}
		case !slices.Contains(covered, nested.Type):
			parts[at] = b.normalize(nested.Range())
		}
	}
	for _, at := range slices.Sorted(maps.Keys(parts)) {
		names = append(names, parts[at])
	}
	if len(names) == 0 {
		return ""
	}
	return digest([]byte(b.closure(strings.Join(names, "\n"))))
}

// texts returns the templates of a block, as they are written.
func (b *builder) texts(block operationBlock, names ...string) map[string]string {
	texts := map[string]string{}
	for _, name := range names {
		if e := attribute(block.Block, name); e != nil {
			texts[name] = b.message(e, block.locals)
		}
	}
	return texts
}

func (b *builder) prompt(p *hcl.Prompt) {
	out := &Prompt{}
	block := b.operation(&out.Operation, &p.Operation, "prompt", promptCovered, "error")
	out.Title, out.Description, out.Listed = p.Title, p.Description, true
	n := 0
	for _, m := range block.Body.Blocks {
		if m.Type != "message" {
			continue
		}
		n++
		text := b.message(attribute(m, "text"), block.locals)
		if rest := b.rest(m, []string{"text"}); rest != "" || text == "" {
			text = strings.TrimSpace(text + "\n" + b.normalize(m.Range()))
		}
		at := fmt.Sprintf("message %d", n)
		out.Texts[at] = strings.Join(m.Labels, " ") + ": " + text
		b.place("prompt "+p.Name+"."+at, diag.RangeOf(m.DefRange()))
	}
	out.Digest = digest(canonical(out))
	b.out.Prompts[p.Name] = out
}

func (b *builder) resource(r *hcl.Resource) {
	out := &Resource{URI: r.URI, MimeType: r.MimeType}
	if r.Template != nil {
		out.URI = r.Template.Raw()
	}
	b.operation(&out.Operation, &r.Operation, "resource", resourceCovered, "text", "error")
	out.Title, out.Description, out.Listed = r.Title, r.Description, r.Listed
	out.Digest = digest(canonical(out))
	b.out.Resources[r.Name] = out
}
