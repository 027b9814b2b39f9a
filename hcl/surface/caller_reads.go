package surface

import (
	"maps"
	"slices"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl"
)

// CallerReads says on which values of the caller the parts of a configuration depend.
type CallerReads struct{ builder *builder }

// NewCallerReads reads a configuration that was loaded without errors. Parallel is as for Of.
func NewCallerReads(c *hcl.Config, parallel func(n int, do func(i int))) *CallerReads {
	if parallel == nil {
		parallel = sequentially
	}
	return &CallerReads{&builder{source: readSource(c, selection(nil).filesOf(c), parallel), config: c}}
}

// Identity returns what the calls of a connection need of their caller, by the path of the argument; nil for nothing.
func (r *CallerReads) Identity(c *hcl.Connection) map[string]*IdentityPart {
	return r.builder.identity(c)
}

// SampleCaller returns the members of a caller who has what calls over these connections need; nil if they need
// nothing.
func (r *CallerReads) SampleCaller(connections []*hcl.Connection) map[string]any {
	samples := map[string]any{} // by what is needed
	for _, c := range connections {
		parts := r.Identity(c)
		for _, argument := range slices.Sorted(maps.Keys(parts)) {
			for _, name := range parts[argument].Needs {
				if samples[name] == nil {
					samples[name] = slices.Concat(parts[argument].Accepts, []string{"acme"})[0]
				}
			}
		}
	}
	if len(samples) == 0 {
		return nil
	}
	members := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		path := splitShown(name)
		if path[1] == "groups" || path[1] == "scopes" {
			members[path[1]] = []any{samples[name]}
			continue
		}
		setMember(members, path[1:], samples[name])
	}
	return members
}

// splitShown returns the path that showPath has shown.
func splitShown(shown string) (path []string) {
	traversal, _ := hclsyntax.ParseTraversalAbs([]byte(shown), "", hclv2.InitialPos)
	for _, step := range traversal {
		switch step := step.(type) {
		case hclv2.TraverseRoot:
			path = append(path, step.Name)
		case hclv2.TraverseAttr:
			path = append(path, step.Name)
		case hclv2.TraverseIndex:
			path = append(path, step.Key.AsString())
		}
	}
	return path
}

// OperationCallerReads are the CallerReads of an operation.
type OperationCallerReads struct {
	*source
	block operationBlock
	steps []*hcl.Step
}

// Of returns the reads of an operation, of the kind tool, prompt or resource.
func (r *CallerReads) Of(kind string, op *hcl.Operation) *OperationCallerReads {
	block := r.builder.blockOf(kind + " " + op.Name)
	return &OperationCallerReads{r.builder.withLocals(block.locals), block, op.Steps}
}

// In returns the values of the caller on which a part of an argument of a step depends, sorted, as in
// "caller.claims.tenant": also through locals, loops, elements of each, and results of steps that depend on them. It
// leaves out what a client says of itself, which proves nothing.
func (r *OperationCallerReads) In(step *hcl.Step, part, argument hcl.Range) (members []string) {
	r.follow(step, toHCL(part), toHCL(argument), map[string]bool{}, func(path []string) {
		if len(path) < 2 || path[1] != "client" && path[1] != "capabilities" {
			members = append(members, showPath(path))
		}
	})
	slices.Sort(members)
	return slices.Compact(members)
}

// follow calls visit with the path of each read of the caller. Seen are the steps and arguments that were followed.
func (r *OperationCallerReads) follow(
	step *hcl.Step, part, argument hclv2.Range, seen map[string]bool, visit func(path []string),
) {
	once := func(name string, do func()) {
		if !seen[name] {
			seen[name] = true
			do()
		}
	}
	backend, reads := r.block.nested[step.Backend.Range], false
	whole := func() {
		once(argument.String(), func() { r.follow(step, argument, argument, seen, visit) })
	}
	r.visitReads(part, func(path []string) {
		reads = true
		switch path[0] {
		case "caller":
			visit(path)
		case "input", "local", "var", "secret":
		case "step":
			for _, other := range r.steps {
				if len(path) > 1 && other.Name == path[1] {
					once("step "+other.Name, func() { r.followBlock(other, seen, visit) })
				}
			}
		case "each":
			for _, around := range []*hclsyntax.Block{backend, r.block.nested[step.Range]} {
				if e := attribute(around, "each"); e != nil {
					once("each "+e.Range().String(), func() { r.follow(step, e.Range(), argument, seen, visit) })
				}
			}
		default: // the results of the statements before it
			whole()
		}
	})
	if !reads { // a variable of a loop around it
		whole()
	}
}

// followBlock follows the backend of a step.
func (r *OperationCallerReads) followBlock(step *hcl.Step, seen map[string]bool, visit func(path []string)) {
	if b := r.block.nested[step.Backend.Range]; b != nil {
		r.follow(step, b.Range(), b.Range(), seen, visit)
	}
}

func toHCL(r hcl.Range) hclv2.Range {
	return hclv2.Range{
		Filename: r.File, Start: hclv2.Pos{Line: r.Start.Line, Column: r.Start.Column, Byte: r.Start.Byte},
		End: hclv2.Pos{Line: r.End.Line, Column: r.End.Column, Byte: r.End.Byte},
	}
}
