package hclexpr

import (
	"fmt"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// checkSent reports a value that is masked for some callers and would be sent to another system.
func (c *Compiler) checkSent(n eval.TypedExpr, r hclv2.Range) {
	to := c.Scope.Sink
	if to == nil {
		return
	}
	masks := n.HeldMasks()
	if masks == nil {
		return
	}
	source := c.sourceText(r)
	why := fmt.Sprintf("%s is masked by %s for callers who may not see it, and ", source, eval.NameMasks(masks))
	switch {
	case to.Tool != "":
		c.Errorf(r, "Masked value would be sent", "%sthe tool %q would work with what stands in its place. Pass on "+
			"another value, by which the tool finds it.", why, to.Tool)
	case to.Connection == "":
		c.Errorf(r, "Masked value would be sent", "%sthis block would send what stands in its place. Give the block a "+
			"connection, name it in reveal_to of the mask, and write unmasked(%s).", why, source)
	default:
		c.Errorf(r, "Masked value would be sent", "%s%q would get what stands in its place. Write unmasked(%s)%s.",
			why, to.Connection, source, revealHint(to.Connection, masks))
	}
}

// checkWhenSent returns the computation of a value of which the load does not know whether it has masked parts. In a
// call that would send one to another system, it fails.
func (c *Compiler) checkWhenSent(n eval.TypedExpr, r hclv2.Range) eval.Func {
	compute := n.Eval
	if c.Scope.Sink == nil {
		return compute
	}
	masks := n.UnknownMasks()
	if masks == nil {
		return compute
	}
	source := c.sourceText(r)
	if c.SendsParts && n.IsOf("body") && n.Type.Kind == schema.Any {
		c.warnf(r, "Type not known", "A part of %s may be masked by %s, and nothing says which parts it has. Each "+
			"call is checked, and fails if it would send one that is masked. Declare response in the block that "+
			"reads it.", source, eval.NameMasks(masks))
	}
	return func(f *eval.Frame) (any, error) {
		v, err := compute(f)
		isHidden := func(m *eval.Mask) bool { return !slices.Contains(f.Lifted, m) }
		if err != nil || !slices.ContainsFunc(masks, isHidden) {
			return v, err
		}
		if part, hidden := n.HiddenPart(v, f.Lifted); hidden {
			return nil, fmt.Errorf("%s%s is masked for this caller and would be sent; this is a mistake in the tool's "+
				"definition, not in the arguments", source, part)
		}
		return v, nil
	}
}

// revealHint says which masks do not name a connection in reveal_to.
func revealHint(connection string, masks []*eval.Mask) string {
	masks = slices.DeleteFunc(slices.Clone(masks), func(m *eval.Mask) bool {
		return slices.Contains(m.RevealTo, connection)
	})
	if len(masks) == 0 {
		return ""
	}
	return fmt.Sprintf(", and name %q in reveal_to of %s", connection, eval.NameMasks(masks))
}

// compileUnmasked compiles unmasked(x), which gives x without masks to the backend that sends it.
func (c *Compiler) compileUnmasked(e *hclsyntax.FunctionCallExpr, in LexicalEnv) eval.TypedExpr {
	to := c.Scope.Sink
	if len(e.Args) != 1 {
		c.Errorf(e.Range(), "Wrong number of arguments", "unmasked takes one value, as in unmasked(step.to.row.email).")
		return eval.Broken()
	}
	if to == nil || to.Tool != "" {
		c.Errorf(e.NameRange, "Function not available here", "unmasked does not apply here: a value without masks is "+
			"only sent to a connection, in the arguments of a backend that uses it.")
		return eval.Broken()
	}
	t := Traversal(e.Args[0])
	step := ""
	switch {
	case len(t) > 1 && t.RootName() == "step":
		step, _ = TraverserName(t[1])
	case len(t) > 1 && t.RootName() == "each":
	default:
		known := len(c.Diags)
		if c.Compile(e.Args[0], in); len(c.Diags) > known {
			return eval.Broken()
		}
		c.Errorf(e.Args[0].Range(), "Output of a step needed", "unmasked takes what a step has read, as in "+
			"unmasked(step.to.row.email) or unmasked(each.value.email).")
		return eval.Broken()
	}
	n := c.compileInner(e.Args[0], in)
	masks := n.PossibleMasks()
	c.recordRead(n.Read, n.HeldCuts(), nil, e.Range())
	n.Read = ""
	if hint := revealHint(to.Connection, masks); to.Connection == "" || hint != "" {
		what := strings.TrimPrefix(hint, ", and ")
		if what == "" {
			what = "give this block a connection that a mask can name in reveal_to"
		}
		c.Errorf(e.Range(), "Masked value would be sent", "The value may not be sent without masks: %s.", what)
		return eval.Broken()
	}
	if why := to.Reveal(step); why != "" {
		c.Errorf(e.Range(), "Value not kept", "%s", why)
		return eval.Broken()
	}
	inner := n.Eval
	n.Masked, n.Covers, n.Members, n.Elem, n.Path = nil, nil, nil, nil, ""
	n.Phrase = "unmasked(…)"
	n.Eval = func(f *eval.Frame) (any, error) {
		if f.Raw == nil {
			return eval.MaskedText, nil
		}
		raw := *f
		raw.Steps = f.Raw
		if f.Each != nil {
			raw.Each = &eval.Each{Key: f.Each.Key, Value: f.Each.Raw}
		}
		v, err := inner(&raw)
		f.Functions.Memory = raw.Functions.Memory
		isHidden := func(m *eval.Mask) bool { return !slices.Contains(f.Lifted, m) }
		if f.Revealed != nil && err == nil && slices.ContainsFunc(masks, isHidden) {
			f.Revealed.Add(v)
		}
		return v, err
	}
	return n
}
