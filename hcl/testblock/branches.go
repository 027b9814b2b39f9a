package testblock

import (
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/syntax"
	"hatchel/hcl/value"
)

// Branch is a condition that a call takes one of two ways.
type Branch struct {
	Range diag.Range // of the condition, or of the header of a step that goes on after a failure
	Text  string     // the condition, on one line
	Step  bool       // it is such a step
	Owner diag.Range // the header of the tool, prompt, resource or policy that has it
}

// conditionArguments are the arguments that hold conditions, by the block that they stand in.
var conditionArguments = map[string][]string{
	"tool": {"allow"}, "prompt": {"allow"}, "resource": {"allow"}, "policy": {"allow", "deny", "approve"},
	"check": {"that"}, "expect": {"that"}, "step": {"when"}, "approval": {"when"}, "repeat": {"until"},
}

// Branches returns the conditions of the tools, prompts, resources and policies of a configuration, in the order of
// the files.
func Branches(cfg *hcl.Config) []Branch {
	served := map[diag.Range]bool{}
	for _, t := range cfg.Tools {
		served[t.Range] = true
	}
	for _, p := range cfg.Prompts {
		served[p.Range] = true
	}
	for _, r := range cfg.Resources {
		served[r.Range] = true
	}
	for _, p := range cfg.Policies {
		served[p.Range] = true
	}
	w := &branchWalker{}
	sources := make(map[string]any, len(cfg.Sources))
	for name := range cfg.Sources {
		sources[name] = nil
	}
	for _, name := range value.Keys(sources) {
		w.src = cfg.Sources[name]
		body, _ := syntax.Parse(name, w.src)
		for _, b := range body.Blocks {
			if served[diag.RangeOf(b.DefRange())] {
				w.owner = diag.RangeOf(b.DefRange())
				w.walkBlock(b)
			}
		}
	}
	return w.found
}

type branchWalker struct {
	src   []byte
	owner diag.Range // of what is walked
	found []Branch
}

func (w *branchWalker) add(r diag.Range, text string, step bool) {
	w.found = append(w.found, Branch{r, strings.Join(strings.Fields(text), " "), step, w.owner})
}

func (w *branchWalker) walkBlock(b *hclsyntax.Block) {
	for _, name := range conditionArguments[b.Type] {
		if a := b.Body.Attributes[name]; a != nil {
			text := string(a.Expr.Range().SliceBytes(w.src))
			w.add(diag.RangeOf(a.Expr.Range()), strings.Trim(text, `"`), false)
		}
	}
	if a := b.Body.Attributes["on_error"]; a != nil && b.Type == "step" {
		if v, _ := a.Expr.Value(nil); v.Type().FriendlyName() == "string" && v.AsString() == "continue" {
			w.add(diag.RangeOf(b.DefRange()), "a failure, with on_error = \"continue\"", true)
		}
	}
	for _, a := range b.Body.Attributes {
		hclsyntax.VisitAll(a.Expr, w.visit)
	}
	for _, nested := range b.Body.Blocks {
		w.walkBlock(nested)
	}
}

// visit finds the %{if} of templates.
func (w *branchWalker) visit(n hclsyntax.Node) hclv2.Diagnostics {
	choice, ok := n.(*hclsyntax.ConditionalExpr)
	if ok && strings.HasPrefix(string(w.src[choice.SrcRange.Start.Byte:]), "%{") {
		r := choice.Condition.Range()
		w.add(diag.RangeOf(r), "%{if "+string(r.SliceBytes(w.src))+"}", false)
	}
	return nil
}
