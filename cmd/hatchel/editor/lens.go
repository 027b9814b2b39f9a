package editor

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/schema"
)

// ToolBlock is a tool of a file and its block.
type ToolBlock struct {
	*hcl.Tool
	Block *hclsyntax.Block
}

// ToolBlocks returns the tools of a file that the load knows, in the order of the file.
func (p *Project) ToolBlocks(f *File) (all []ToolBlock) {
	if f.Broken() {
		return nil
	}
	for _, b := range f.Body.Blocks {
		if b.Type != "tool" || len(b.Labels) != 1 {
			continue
		}
		for _, t := range p.Config.Tools {
			if t.Name == b.Labels[0] && t.Range.File == f.Name {
				all = append(all, ToolBlock{t, b})
			}
		}
	}
	return all
}

// Header is the span of the first line of the block.
func (t ToolBlock) Header() Span { return spanOf(t.Block.DefRange()) }

// CountTests returns the number of test blocks of each tool.
func (p *Project) CountTests() map[string]int {
	count := map[string]int{}
	for _, b := range p.Config.Tests {
		if a := b.Body.Attributes["tool"]; a != nil {
			if text, ok := a.Expr.(*hclsyntax.TemplateExpr); ok && text.IsStringLiteral() {
				name, _ := hclexpr.LiteralValue(text.Parts[0].(*hclsyntax.LiteralValueExpr).Val).(string)
				count[name]++
			}
		}
	}
	return count
}

// ExampleArguments returns arguments for a first call of a tool, one for each required input: an example, a value of an
// enum, the minimum of a number, or an empty value.
func (t ToolBlock) ExampleArguments() map[string]any {
	args := map[string]any{}
	for _, m := range t.Input.Members {
		if !m.Optional {
			args[m.Name] = exampleOf(m.Type)
		}
	}
	return args
}

func exampleOf(t *schema.Type) any {
	t = t.Unfolded()
	switch {
	case len(t.Examples) > 0:
		return t.Examples[0]
	case len(t.Enum) > 0:
		return t.Enum[0].Value
	case t.Nullable:
		return nil
	case t.Min != nil:
		return t.Min
	}
	switch t.Kind {
	case schema.Integer, schema.Number:
		return 0
	case schema.Bool:
		return false
	case schema.List, schema.Set:
		return []any{}
	case schema.Map, schema.Any:
		return map[string]any{}
	case schema.Object:
		out := map[string]any{}
		for _, m := range t.Members {
			if !m.Optional && eval.IsNumeric(m.Type) {
				out[m.Name] = 0
			} else if !m.Optional {
				out[m.Name] = ""
			}
		}
		return out
	}
	return ""
}

// DerivedAnnotations returns the annotations of a tool that hold and that its block does not write, as clients receive
// them.
func (t ToolBlock) DerivedAnnotations() string {
	written := func(name string) bool { return t.Block.Body.Attributes[name] != nil }
	var said []string
	add := func(name, text string, holds bool) {
		if holds && !written(name) {
			said = append(said, text)
		}
	}
	add("read_only", "read_only", t.ReadOnly)
	add("read_only", "not read_only", !t.ReadOnly)
	add("destructive", "destructive", t.Destructive)
	add("idempotent", "idempotent", t.Idempotent && !t.ReadOnly)
	add("open_world", "open_world", t.OpenWorld)
	return strings.Join(said, ", ")
}
