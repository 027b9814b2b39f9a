package hcl

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/schema"
	"hatchel/hcl/spelling"
)

// ToolCall is the backend block `tool`: another tool as a step.
type ToolCall struct {
	Name   string // of the other tool
	Tool   *Tool  // set after all tools are decoded
	Inputs *KeyValues
}

// toolCallSite is a step that calls another tool, recorded to find cycles.
type toolCallSite struct {
	call       *ToolCall
	labelRange Range
}

// decodeToolCall decodes the backend `tool`: its arguments are the inputs of the other tool.
func (w *operationDecoder) decodeToolCall(b *hclsyntax.Block) *Backend {
	d := w.dec
	out := &Backend{Kind: "tool", Range: headerRange(b), ranges: map[any]Range{},
		Effects: Effects{Output: toolOutput, Facts: CutMembers("result", "text"),
			Default: DefaultResult{Member: "result"}}}
	if len(b.Labels) != 1 {
		d.Errorf(b.TypeRange, "Missing tool name", "A tool block in a step names the tool to call: `tool \"name\" {`.")
		return out
	}
	target := w.loader.tools[b.Labels[0]]
	if target == nil {
		if names := diag.SortedNames(w.loader.tools); !w.loader.partial {
			d.Errorf(b.LabelRanges[0], "Unknown tool", "There is no tool %q.%s", b.Labels[0],
				diag.SuggestOr(b.Labels[0], names, diag.ListAre(names)))
		}
		return out
	}
	if target.tool.Page != nil {
		d.Errorf(b.LabelRanges[0], "Page of a step", "The tool %q answers in pages, whose cursors belong to the "+
			"client that calls it. Write a block with its backend in this step.", target.tool.Name)
		return out
	}
	d.NoteReference(eval.Reference{At: labelRange(b), Kind: "tool", Name: target.tool.Name})
	call := &ToolCall{Name: target.tool.Name, Tool: target.tool, Inputs: w.decodeToolInputs(target.tool, b)}
	out.Config = call
	w.calls = append(w.calls, &toolCallSite{call, labelRange(b)})
	return out
}

var toolOutput = schema.ObjectOf(
	&schema.Member{Name: "result", Type: eval.AnyType}, &schema.Member{Name: "text", Type: eval.StringType},
)

// decodeToolInputs checks the arguments of a call of another tool against its inputs.
func (w *operationDecoder) decodeToolInputs(target *Tool, b *hclsyntax.Block) *KeyValues {
	d := w.dec
	out := &KeyValues{Range: headerRange(b)}
	for _, nested := range b.Body.Blocks {
		d.Errorf(nested.TypeRange, "Unexpected block",
			"A tool block in a step holds the inputs of the tool: `name = value`.")
	}
	given := map[string]bool{}
	around := d.Scope
	d.Scope = d.Scope.To(&eval.Sink{Tool: target.Name})
	defer func() { d.Scope = around }()
	for _, a := range sortedAttributes(b.Body.Attributes) {
		given[a.Name] = true
		c := d.Compiler(decode.Field{Name: a.Name})
		c.Nulls = eval.PropagateNull
		n := c.Compile(a.Expr, hclexpr.LexicalEnv{NonNull: d.NonNull})
		d.Diags = append(d.Diags, c.Diags...)
		if a.Name == KeyInput && target.Idempotency != nil {
			d.Errorf(a.NameRange, "Key of a step", "An idempotency key belongs to the call of a client, not to a "+
				"step. Use idempotency in the tool that clients call; its backends receive derived keys.")
			continue
		}
		m, ok := target.Input.Lookup(a.Name)
		if !ok && !target.Input.Open {
			d.Errorf(a.NameRange, "Unknown input", "The tool %q has no input %q.%s", target.Name, a.Name,
				diag.SuggestOr(a.Name, target.Input.MemberNames(), diag.ListHas(target.Input.MemberNames())))
			continue
		}
		if ok {
			d.NoteReference(eval.Reference{At: diag.RangeOf(a.NameRange), Kind: "input", Name: a.Name,
				Owner: "tool " + target.Name})
			if why := schema.Mismatch(n.Type, m.Type); why != "" {
				d.Errorf(a.Expr.Range(), "Wrong type", "The input %q of the tool %q does not take this value: %s.",
					a.Name, target.Name, why)
			} else if n.NullReason != "" && !m.Optional && !m.Type.AllowsNull() {
				d.Errorf(a.Expr.Range(), "Value may be null", "%s, and the input %q of the tool %q is required.",
					eval.NullSentence(n), a.Name, target.Name)
			}
		}
		out.Add(a.Name, n, diag.RangeOf(a.Expr.Range()))
	}
	for _, m := range target.Input.Members {
		near := spelling.Nearest(m.Name, diag.SortedNames(given))
		if _, isInput := target.Input.Lookup(near); !m.Optional && !given[m.Name] && (near == "" || isInput) {
			d.Errorf(b.DefRange(), "Missing input", "The tool %q needs the input %q.", target.Name,
				diag.OneOf([]string{m.Name}, m.Name))
			d.Diags.Mark(diag.MissingArgument)
		}
	}
	return out
}

// checkCycles reports tools that call themselves through steps, and derives the effects of each
// call from the called tool.
func (l *loader) checkCycles(decls []*toolDecoder) {
	byTool := map[*Tool]*toolDecoder{}
	for _, t := range decls {
		byTool[t.tool] = t
	}
	state := map[*Tool]int{} // 1: on the path, 2: done
	var path []string
	var visit func(t *toolDecoder)
	visit = func(t *toolDecoder) {
		state[t.tool] = 1
		path = append(path, t.tool.Name)
		l.diags = append(l.diags, t.checkCalledToolsAsk()...)
		for _, c := range t.calls {
			switch state[c.call.Tool] {
			case 1:
				l.diags.Errorf(c.labelRange, "Tool calls itself",
					"%s → %s is a cycle: a tool cannot call itself, directly or through other tools.",
					strings.Join(path, " → "), c.call.Name)
			case 0:
				visit(byTool[c.call.Tool])
			}
		}
		t.inheritEffects()
		path = path[:len(path)-1]
		state[t.tool] = 2
	}
	for _, t := range decls {
		if state[t.tool] == 0 {
			visit(t)
		}
	}
}

// checkCalledToolsAsk reports steps that call tools which ask the client. The tools must be
// complete.
func (w *operationDecoder) checkCalledToolsAsk() (diags Diagnostics) {
	for _, c := range w.calls {
		switch {
		case c.call.Tool.Asks():
			diags.Errorf(c.labelRange, "Nested tool asks the client",
				"The tool %q asks the client, and only a tool that the client called can do that. Ask in a "+
					"step of this %s, before the one that needs the answer.", c.call.Name, w.noun)
		case c.call.Tool.asksUser():
			diags.Errorf(c.labelRange, "Nested tool asks the client", "Calls of the tool %q may need "+
				"the approval of the client's user, and only a tool that the client called can ask for that. Write "+
				"by = \"operator\" there, or move the approval into the tool that clients call.", c.call.Name)
		}
	}
	return diags
}

// inheritEffects merges the effects of called tools, whose annotations are complete.
func (t *toolDecoder) inheritEffects() {
	if len(t.calls) == 0 {
		return
	}
	t.digestCalls()
	for _, s := range t.tool.Steps {
		call, ok := s.Backend.Config.(*ToolCall)
		if !ok {
			continue
		}
		f := &s.Backend.Effects
		f.ReadOnly, f.Destructive, f.Idempotent, f.OpenWorld = call.Tool.ReadOnly, call.Tool.Destructive,
			call.Tool.Idempotent, call.Tool.OpenWorld
	}
	before := len(t.dec.Diags)
	t.deriveEffects()
	t.loader.diags = append(t.loader.diags, t.dec.Diags[before:]...)
}
