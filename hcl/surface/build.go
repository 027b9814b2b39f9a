package surface

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl"
	"hatchel/hcl/diag"
)

// Of returns the surface of a configuration that was loaded without errors. It contains no secret, and
// where a call goes it names variables instead of their values. Parallel calls do for 0 to n-1 as that of
// hcl.Options does; nil for sequential calls.
func Of(c *hcl.Config, parallel func(n int, do func(i int))) *Surface {
	if parallel == nil {
		parallel = func(n int, do func(int)) {
			for i := range n {
				do(i)
			}
		}
	}
	b := &builder{source: readSource(c.Sources, parallel), config: c, out: &Surface{
		Tools: map[string]*Tool{}, Prompts: map[string]*Prompt{}, Resources: map[string]*Resource{},
		Toolsets: map[string]*Toolset{}, Policies: map[string]*Policy{}, Connections: map[string]*Connection{},
		Settings: map[string]*Setting{}, positions: map[string]hcl.Range{},
	}}
	b.server()
	for _, conn := range c.Connections {
		b.connection(conn)
	}
	parallel(len(c.Tools), func(i int) { b.tool(c.Tools[i]) })
	for _, p := range c.Prompts {
		b.prompt(p)
	}
	for _, r := range c.Resources {
		b.resource(r)
	}
	for _, t := range c.Toolsets {
		b.toolset(t)
	}
	for _, p := range c.Policies {
		b.policy(p)
	}
	b.settings()
	return b.out
}

// builder builds the surface of one configuration.
type builder struct {
	*source
	config *hcl.Config
	out    *Surface
	mu     sync.Mutex // guards the maps of out while tools are added
}

// place records where something is written.
func (b *builder) place(name string, r hcl.Range) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.out.positions[name] = r
}

// placeArguments records where the arguments and the labelled blocks of a block are written.
func (b *builder) placeArguments(name string, block *hclsyntax.Block) {
	for _, a := range block.Body.Attributes {
		b.place(name+"."+a.Name, diag.RangeOf(a.SrcRange))
	}
	for _, nested := range block.Body.Blocks {
		at := name + "." + strings.Join(append([]string{nested.Type}, nested.Labels...), ".")
		b.place(at, diag.RangeOf(nested.DefRange()))
		if nested.Type == "input" || nested.Type == "argument" {
			for _, a := range nested.Body.Attributes {
				b.place(at+"."+a.Name, diag.RangeOf(a.SrcRange))
			}
		}
	}
}

func (b *builder) tool(t *hcl.Tool) {
	out := &Tool{Annotations: Annotations{t.ReadOnly, t.Destructive, t.Idempotent, t.OpenWorld}}
	block := b.operation(&out.Operation, &t.Operation, "tool", toolCovered)
	out.Title, out.Description, out.Listed = t.Title, t.Description, t.Listed
	for _, a := range t.Approvals {
		out.May.Approval = append(out.May.Approval, describeApproval(a))
	}
	out.May.Limit = limitOf(t.Limit)
	out.Output = decodeSchema(t.Returns)
	out.Texts = b.texts(block, "text", "error")
	out.Digest = digest(canonical(out))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.out.Tools[t.Name] = out
}

// The arguments and blocks that a surface shows as they are; the digest of the steps covers the others.
var (
	operationCovered = []string{"title", "description", "scopes", "allow", "requires", "listed", "enabled", "input",
		"argument", "schema", "error", "icons"}
	toolCovered = append([]string{"read_only", "destructive", "idempotent", "open_world", "limit", "approval",
		"returns", "text"}, operationCovered...)
	resourceCovered = append([]string{"uri", "uri_template", "mime_type", "text"}, operationCovered...)
	promptCovered   = append([]string{"message"}, operationCovered...)
)

// operation sets what tools, prompts and resources share and returns the block.
func (b *builder) operation(out *Operation, op *hcl.Operation, kind string, covered []string) *hclsyntax.Block {
	name := kind + " " + op.Name
	block := b.blocks[name]
	b.place(name, op.Range)
	if kind == "tool" {
		name = op.Name
		b.place(name, op.Range)
	}
	out.Input, out.Order = decodeSchema(op.Input), op.Input.MemberNames()
	out.Requires = slices.Sorted(slices.Values(op.Requires))
	out.May.Scopes = slices.Sorted(slices.Values(op.Scopes))
	out.May.Allow = conditionText(op.Allow)
	for _, p := range b.config.Policies {
		if kind == "tool" && p.AppliesToTool(op.Name) || kind == "prompt" && p.AppliesToPrompt(op.Name) ||
			kind == "resource" && p.AppliesToResource(op.Name) {
			out.May.Policies = append(out.May.Policies, p.Name)
		}
	}
	steps := op.Steps
	for _, input := range diag.SortedNames(op.Completions) {
		steps = append(slices.Clone(steps), op.Completions[input].Steps...)
	}
	for _, step := range steps {
		for _, line := range b.stepDoes(step) {
			out.Does = append(out.Does, line)
			b.place(name+".does "+line, step.Backend.Range)
		}
	}
	slices.Sort(out.Does)
	out.Does = slices.Compact(out.Does)
	if block != nil {
		b.placeArguments(name, block)
		out.Reads, out.Steps = b.reads(block, op), b.rest(block, covered)
	}
	return block
}

// stepDoes returns what a step does.
func (b *builder) stepDoes(s *hcl.Step) (lines []string) {
	backend, kind, name := s.Backend, "", ""
	if backend.Connection != nil {
		kind, name = backend.Connection.Kind, backend.Connection.Name
	}
	switch config := backend.Config.(type) {
	case *hcl.ToolCall:
		return []string{"CALL " + config.Name}
	case *hcl.AskGroup:
		for _, a := range config.Asks {
			lines = append(lines, askLine(a))
		}
		return lines
	case hcl.Actor:
		return b.does(config.Acts(backend.Connection), kind, name, backend.SourceOf)
	}
	return nil
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

// reads returns the secrets in the backends of a block, and where they go, as in "secret.x→shop".
func (b *builder) reads(block *hclsyntax.Block, op *hcl.Operation) (lines []string) {
	if len(b.secrets) == 0 {
		return nil
	}
	var walk func(body *hclsyntax.Body)
	walk = func(body *hclsyntax.Body) {
		for _, nested := range body.Blocks {
			for _, s := range op.Steps {
				if s.Backend.Range == diag.RangeOf(nested.DefRange()) {
					to := nested.Type
					if does := b.stepDoes(s); s.Backend.Connection != nil {
						to = s.Backend.Connection.Name
					} else if len(does) > 0 {
						to = does[0]
					}
					for _, secret := range b.secretsIn(b.closure(b.normalize(nested.Range()))) {
						lines = append(lines, secret+"→"+to)
					}
				}
			}
			walk(nested.Body)
		}
	}
	walk(block.Body)
	slices.Sort(lines)
	return slices.Compact(lines)
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
		if !slices.Contains(covered, nested.Type) {
			parts[nested.TypeRange.Start.Byte] = b.normalize(nested.Range())
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
func (b *builder) texts(block *hclsyntax.Block, names ...string) map[string]string {
	texts := map[string]string{}
	for _, name := range names {
		if e := attribute(block, name); e != nil {
			texts[name] = b.template(e)
		}
	}
	return texts
}

func (b *builder) prompt(p *hcl.Prompt) {
	out := &Prompt{}
	block := b.operation(&out.Operation, &p.Operation, "prompt", promptCovered)
	out.Title, out.Description, out.Listed = p.Title, p.Description, true
	out.Texts = b.texts(block, "error")
	if block != nil {
		n := 0
		for _, m := range block.Body.Blocks {
			if m.Type != "message" {
				continue
			}
			n++
			text := b.template(attribute(m, "text"))
			if rest := b.rest(m, []string{"text"}); rest != "" || text == "" {
				text = strings.TrimSpace(text + "\n" + b.normalize(m.Range()))
			}
			at := fmt.Sprintf("message %d", n)
			out.Texts[at] = strings.Join(m.Labels, " ") + ": " + text
			b.place("prompt "+p.Name+"."+at, diag.RangeOf(m.DefRange()))
		}
	}
	out.Digest = digest(canonical(out))
	b.out.Prompts[p.Name] = out
}

func (b *builder) resource(r *hcl.Resource) {
	out := &Resource{URI: r.URI, MimeType: r.MimeType}
	if r.Template != nil {
		out.URI = r.Template.Raw()
	}
	block := b.operation(&out.Operation, &r.Operation, "resource", resourceCovered)
	out.Title, out.Description, out.Listed = r.Title, r.Description, r.Listed
	out.Texts = b.texts(block, "text", "error")
	out.Digest = digest(canonical(out))
	b.out.Resources[r.Name] = out
}

func (b *builder) toolset(t *hcl.Toolset) {
	out := &Toolset{Title: t.Title, Instructions: t.Instructions}
	for _, tool := range b.config.Tools {
		if t.HasTool(tool.Name) {
			out.Tools = append(out.Tools, tool.Name)
		}
	}
	for _, p := range b.config.Prompts {
		if t.HasPrompt(p.Name) {
			out.Prompts = append(out.Prompts, p.Name)
		}
	}
	for _, r := range b.config.Resources {
		if t.HasResource(r.Name) {
			out.Resources = append(out.Resources, r.Name)
		}
	}
	b.placeBlock("toolset "+t.Name, t.Range)
	b.out.Toolsets[t.Name] = out
}

// placeBlock records where a block and its arguments are written.
func (b *builder) placeBlock(name string, r hcl.Range) {
	b.place(name, r)
	if block := b.blocks[name]; block != nil {
		b.placeArguments(name, block)
	}
}
