package lint

import (
	"fmt"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// checkMasks finds statements by which callers can try values of masked columns, and members of masks that nothing has.
func (c *checker) checkMasks() {
	if len(c.config.Masks) == 0 {
		return
	}
	outputs := map[*hcl.Mask]*maskedOutputs{}
	collect := func(list string, op *hcl.Operation) {
		eachStep(op, func(_ string, step *hcl.Step) {
			c.checkOracles(step.Backend)
			for _, m := range c.config.Masks {
				if len(m.Members) > 0 && m.AppliesTo(list, op.Name, step.Backend.Connection) {
					if outputs[m] == nil {
						outputs[m] = &maskedOutputs{names: map[string]bool{}}
					}
					outputs[m].add(step.Backend)
				}
			}
		})
	}
	for _, t := range c.config.Tools {
		collect("tools", &t.Operation)
	}
	for _, p := range c.config.Prompts {
		collect("prompts", &p.Operation)
	}
	for _, r := range c.config.Resources {
		collect("resources", &r.Operation)
	}
	for _, m := range c.config.Masks {
		if found := outputs[m]; found != nil && !found.unknown {
			c.checkMembers(m, found)
		}
	}
}

// checkOracles reports the values that statements compare with masked columns.
func (c *checker) checkOracles(b *hcl.Backend) {
	statements, ok := b.Config.(hcl.MaskedStatements)
	if !ok {
		return
	}
	for _, m := range b.Masks {
		for _, at := range statements.ComparedWithMasked(m.Mask.Mask) {
			c.report("mask-oracle", diag.Warning, at, "Masked column compared", fmt.Sprintf(
				"The statement compares what mask %q masks with a value that callers choose. A caller who tries "+
					"values learns from the rows that come back what the column holds. Choose rows by another column; "+
					"or give the tool a limit, and allow this with # lint:allow mask-oracle.", m.Name))
		}
	}
}

// checkMembers reports the members of a mask that no output has. Of statements, a member that they do not name may be a
// column of what their views read, so only one that is nearly a name is reported.
func (c *checker) checkMembers(m *hcl.Mask, found *maskedOutputs) {
	for _, member := range m.Members {
		one := &eval.Mask{}
		one.SetMembers([]string{member})
		matches := false
		for name := range found.names {
			matches = matches || one.NamesPart(name)
		}
		if !matches {
			last := member[strings.LastIndexByte(member, '.')+1:]
			near := diag.SuggestOr(last, diag.SortedNames(found.names), "")
			if found.views && !near.IsFix() {
				continue
			}
			c.report("mask", diag.Warning, m.Range, "Mask matches nothing", fmt.Sprintf(
				"No output to which mask %q applies has %q.%s", m.Name, member, near))
		}
	}
}

// maskedOutputs are the names of the members of outputs of backends.
type maskedOutputs struct {
	names   map[string]bool
	unknown bool // there may be others
	views   bool // statements may read views, whose columns are made of others
}

func (o *maskedOutputs) add(b *hcl.Backend) {
	if b.Effects.Output == nil {
		return
	}
	if statements, ok := b.Config.(hcl.MaskedStatements); ok {
		names, all := statements.StatementNames()
		for _, name := range names {
			o.names[name] = true
		}
		o.unknown, o.views = o.unknown || !all, true
		return
	}
	for _, m := range b.Effects.Output.Unfolded().Members {
		o.addType(m.Type, 0)
	}
	o.unknown = o.unknown || b.Effects.Output.Kind != schema.Object
}

// maxMaskedDepth is how deep types are looked at. A type may contain itself.
const maxMaskedDepth = 16

func (o *maskedOutputs) addType(t *schema.Type, depth int) {
	if depth > maxMaskedDepth {
		return
	}
	t = t.Unfolded()
	o.unknown = o.unknown || t.Kind == schema.Any && t.OneOf == nil || t.Kind == schema.Map || t.Open ||
		t.Kind == schema.String
	if t.Elem != nil {
		o.addType(t.Elem, depth+1)
	}
	for _, one := range t.OneOf {
		o.addType(one, depth+1)
	}
	for _, m := range t.Members {
		o.names[m.Name] = true
		o.addType(m.Type, depth+1)
	}
}
