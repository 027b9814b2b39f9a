package surface

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
)

func (b *builder) tool(t *hcl.Tool) {
	out := &Tool{Annotations: Annotations{t.ReadOnly, t.Destructive, t.Idempotent, t.OpenWorld}}
	if t.BuiltIn {
		b.builtInTool(out, t)
		return
	}
	block, own := b.operation(&out.Operation, &t.Operation, "tool", toolCovered, "text", "error")
	out.Title, out.Description, out.Listed = t.Title, t.Description, t.Listed
	for _, a := range t.Approvals {
		approval := own.approval(a)
		out.May.Approval = append(out.May.Approval, approval)
		own.addMessage(b, out.Texts, block, t.Name, "approval "+approval.String(), a.Range)
	}
	out.May.Limit = limitOf(t.Limit)
	out.Output, out.Answer = decodeSchema(t.Returns), answerOf(t)
	for _, m := range t.MaskedMembers(t.ResultType()) {
		names := make([]string, len(m.Masks))
		for i, mask := range m.Masks {
			names[i] = mask.Name
		}
		out.Masked = append(out.Masked, m.Path+" by "+strings.Join(names, ", "))
	}
	slices.Sort(out.Masked)
	out.Digest = digest(canonical(out))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.out.Tools[t.Name] = out
}

// builtInTool adds a tool that no tool block declares.
func (b *builder) builtInTool(out *Tool, t *hcl.Tool) {
	out.Title, out.Description, out.Listed, out.Input = t.Title, t.Description, t.Listed, decodeSchema(t.Input)
	out.Output, out.Does = decodeSchema(t.View.Result), []string{"read which calls of the caller wait for approval"}
	for _, p := range b.config.Policies {
		if p.AppliesToTool(t.Name) {
			out.May.Policies = append(out.May.Policies, p.Name)
		}
	}
	b.place(t.Name, t.Range)
	out.Digest = digest(canonical(out))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.out.Tools[t.Name] = out
}

// The arguments and blocks that a surface shows as they are; the digest of the steps covers the others.
var (
	operationCovered = []string{"title", "description", "scopes", "allow", "requires", "listed", "enabled", "schema",
		"error"}
	toolCovered = slices.Concat([]string{"read_only", "destructive", "idempotent", "open_world", "limit", "returns",
		"text"}, answerCovered, operationCovered)
	resourceCovered = append([]string{"uri", "uri_template", "mime_type", "text"}, operationCovered...)
	skillCovered    = append([]string{"directory", "path"}, operationCovered...)
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

// operation sets what tools, prompts, resources and skills share, with these arguments as texts, and returns the block
// and the source as it reads it.
func (b *builder) operation(
	out *Operation, op *hcl.Operation, kind string, covered []string, texts ...string,
) (operationBlock, *source) {
	name := kind + " " + op.Name
	block := b.blockOf(name)
	b.place(name, op.Range)
	if kind == "tool" {
		name = op.Name
		b.place(name, op.Range)
	}
	b.placeArguments(name, block.Block)
	own := b.withLocals(block.locals)
	out.Input, out.Order = decodeSchema(op.Input), op.Input.MemberNames()
	out.Requires = slices.Sorted(slices.Values(op.Requires))
	out.May.Scopes = slices.Sorted(slices.Values(op.Scopes))
	out.May.Allow = own.condition(op.Allow)
	for _, p := range b.config.Policies {
		if kind == "tool" && p.AppliesToTool(op.Name) || kind == "prompt" && p.AppliesToPrompt(op.Name) ||
			kind == "resource" && p.AppliesToResource(op.Name) || kind == "skill" && p.AppliesToSkill(op.Name) {
			out.May.Policies = append(out.May.Policies, p.Name)
		}
	}
	out.Texts = own.texts(block, texts...)
	for _, c := range op.Checks {
		check := own.condition(c.That)
		out.May.Checks = append(out.May.Checks, check)
		own.addMessage(b, out.Texts, block, name, "check "+check.String(), c.Range)
	}
	slices.SortFunc(out.May.Checks, func(x, y *eval.Formula) int { return strings.Compare(x.String(), y.String()) })
	b.steps(out, op, own, block, name)
	out.Guards, out.Sensitive = own.guards(block.Block, covered), sensitiveInputs(op.Input)
	if !op.HasNamedSteps() {
		covered = slices.Clone(covered)
		for _, step := range op.Steps {
			covered = append(covered, step.Backend.Kind)
		}
	}
	out.Rest = own.rest(block.Block, covered)
	return block, own
}

// steps adds the steps of an operation, and those of its completions and approvals.
func (b *builder) steps(out *Operation, op *hcl.Operation, own *source, block operationBlock, name string) {
	add := func(step *hcl.Step, called string) {
		s := own.step(step, block, called)
		lines := append(slices.Clone(s.Does), s.decides()...)
		for _, line := range lines {
			b.place(name+".does "+line, step.Backend.Range)
		}
		out.Steps, out.Does = append(out.Steps, s), append(out.Does, lines...)
		out.Reads = append(out.Reads, own.secretReads(step, block.nested[step.Backend.Range], s.Does)...)
	}
	for _, step := range op.Steps {
		add(step, step.Name)
	}
	for _, input := range diag.SortedNames(op.Completions) {
		for _, step := range op.Completions[input].Steps {
			add(step, "complete "+input)
		}
	}
	for _, before := range op.Before {
		for _, step := range before.Steps {
			add(step, "before "+before.Label)
		}
	}
	out.Does = append(out.Does, own.filesOf(block.Block)...)
	for _, list := range []*[]string{&out.Does, &out.Reads} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

// addMessage adds the message of a nested block, which models or approvers read, to the texts of an operation.
func (s *source) addMessage(b *builder, texts map[string]string, block operationBlock, name, key string, r hcl.Range) {
	b.place(name+"."+key, r)
	nested := block.nested[r]
	if nested == nil {
		return
	}
	text := strings.Join(nested.Labels, " ")
	if e := attribute(nested, "message"); e != nil {
		text = s.message(e)
	}
	texts[key] = text
}

// rest returns the arguments of a block that are not covered elsewhere, by path; nil for none.
func (s *source) rest(block *hclsyntax.Block, covered []string) map[string]string {
	out := map[string]string{}
	s.addRest(out, "", block, covered)
	if len(out) == 0 {
		return nil
	}
	return out
}

// stepBlocks are the blocks that Steps show, and those whose values their readers show.
var stepBlocks = []string{"step", "expect", "locals", "complete", "before"}

func (s *source) addRest(out map[string]string, at string, block *hclsyntax.Block, covered []string) {
	skip := append(slices.Clone(covered), stepBlocks...)
	count := map[string]int{}
	for _, nested := range block.Body.Blocks {
		if shown, known := shownParts[nested.Type]; known {
			path := at + header(nested)
			if count[path]++; count[path] > 1 {
				path += "#" + strconv.Itoa(count[path])
			}
			s.addRest(out, path+".", nested, shown)
			skip = append(skip, nested.Type)
		}
	}
	s.arguments(out, at, block, skip...)
}

// texts returns the templates of a block.
func (s *source) texts(block operationBlock, names ...string) map[string]string {
	texts := map[string]string{}
	for _, name := range names {
		if e := attribute(block.Block, name); e != nil {
			texts[name] = s.message(e)
		}
	}
	return texts
}

func (b *builder) prompt(p *hcl.Prompt) {
	out := &Prompt{}
	block, own := b.operation(&out.Operation, &p.Operation, "prompt", promptCovered, "error")
	out.Title, out.Description, out.Listed = p.Title, p.Description, true
	n := 0
	for _, m := range block.Body.Blocks {
		if m.Type != "message" {
			continue
		}
		n++
		text := own.message(attribute(m, "text"))
		if rest := own.rest(m, []string{"text"}); rest != nil {
			text += "\n" + string(canonical(rest))
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
