package surface

import (
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
	return build(c, nil, parallel)
}

// build returns the surface of a configuration with these operations.
func build(c *hcl.Config, with selection, parallel func(int, func(int))) *Surface {
	if parallel == nil {
		parallel = sequentially
	}
	b := &builder{source: readSource(c, with.filesOf(c), parallel), config: c, out: &Surface{
		Tools: map[string]*Tool{}, Prompts: map[string]*Prompt{}, Resources: map[string]*Resource{},
		Skills: map[string]*Skill{}, Toolsets: map[string]*Toolset{}, Policies: map[string]*Policy{},
		Masks: map[string]*Mask{}, Connections: map[string]*Connection{},
		Settings: map[string]*Setting{}, positions: map[string]hcl.Range{},
	}}
	b.server()
	for _, conn := range c.Connections {
		b.connection(conn)
	}
	tools := slices.DeleteFunc(slices.Clone(c.Tools), func(t *hcl.Tool) bool { return !with.has(&t.Operation) })
	parallel(len(tools), func(i int) { b.tool(tools[i]) })
	for _, p := range c.Prompts {
		if with.has(&p.Operation) {
			b.prompt(p)
		}
	}
	for _, r := range c.Resources {
		if with.has(&r.Operation) {
			b.resource(r)
		}
	}
	for _, s := range c.Skills {
		if with.has(&s.Operation) {
			b.skill(s)
		}
	}
	for _, t := range c.Toolsets {
		b.toolset(t)
	}
	for _, p := range c.Policies {
		if p.AppliesToAny(c) { // one that names only what is disabled changes nothing
			b.policy(p)
		}
	}
	for _, m := range c.Masks {
		b.mask(m)
	}
	b.settings()
	return b.out
}

// sequentially calls do for 0 to n-1.
func sequentially(n int, do func(int)) {
	for i := range n {
		do(i)
	}
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
	for _, s := range b.config.Skills {
		if t.HasSkill(s.Name) {
			out.Skills = append(out.Skills, s.Name)
		}
	}
	if s := t.Search; s != nil {
		out.Search = &Search{Areas: s.Areas, Pinned: slices.Sorted(slices.Values(s.Pinned)), Results: s.Results}
		b.place("toolset "+t.Name+".search", s.Range)
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
