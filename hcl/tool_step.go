package hcl

import (
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/schema"
	"hatchel/hcl/spelling"
)

// ToolCall is the backend block `tool`: another tool as a step.
type ToolCall struct {
	Name   string // of the other tool
	Tool   *Tool  // set when the whole configuration is loaded
	Inputs *Entries
}

// A toolCallBlock is a step that calls another tool, kept to look for cycles.
type toolCallBlock struct {
	call *ToolCall
	at   hclv2.Range
}

// toolCall decodes the backend `tool`: its arguments are the inputs of the other tool.
func (w *workDecl) toolCall(b *hclsyntax.Block) *Backend {
	d := w.dec
	out := &Backend{Kind: "tool", Range: at(b.DefRange()), places: map[any]Range{}, Facts: Facts{Output: toolOutput, Default: Default{Member: "result"}}}
	if len(b.Labels) != 1 {
		d.errorf(b.TypeRange, "Missing tool name", "A tool block in a step names the tool to call: `tool \"name\" {`.")
		return out
	}
	target := d.tools[b.Labels[0]]
	if target == nil {
		if !d.shared.partial {
			d.errorf(b.LabelRanges[0], "Unknown tool", "There is no tool %q.%s", b.Labels[0], suggestOr(b.Labels[0], sortedNames(d.tools), thereAre(sortedNames(d.tools))))
		}
		return out
	}
	call := &ToolCall{Name: target.tool.Name, Tool: target.tool, Inputs: w.toolInputs(target.tool, b)}
	out.Config = call
	w.calls = append(w.calls, &toolCallBlock{call, b.LabelRanges[0]})
	return out
}

var toolOutput = schema.ObjectOf(
	&schema.Member{Name: "result", Type: anyType},
	&schema.Member{Name: "text", Type: stringType},
)

func declared(t *Tool, input string) bool {
	_, ok := t.Input.Lookup(input)
	return ok
}

// toolInputs checks the arguments of a call of another tool against its inputs.
func (w *workDecl) toolInputs(target *Tool, b *hclsyntax.Block) *Entries {
	d := w.dec
	out := &Entries{Range: at(b.DefRange())}
	for _, nested := range b.Body.Blocks {
		d.errorf(nested.TypeRange, "Unexpected block", "A tool block in a step holds the inputs of the tool: `name = value`.")
	}
	given := map[string]bool{}
	for _, a := range inOrder(b.Body.Attributes) {
		given[a.Name] = true
		c := d.compiler(Field{Name: a.Name})
		c.nulls = nullPropagates
		n := c.expr(a.Expr, env{facts: d.facts})
		d.diags = append(d.diags, c.diags...)
		if a.Name == KeyInput && target.Idempotency != nil {
			d.errorf(a.NameRange, "Key of a step", "A key belongs to the call of a client, and this is a part of one. Write idempotency in the tool that clients call; its backends get keys of their own.")
			continue
		}
		m, ok := target.Input.Lookup(a.Name)
		if !ok && !target.Input.Open {
			d.errorf(a.NameRange, "Unknown input", "The tool %q has no input %q.%s", target.Name, a.Name, suggestOr(a.Name, memberNames(target.Input), itHas(memberNames(target.Input))))
			continue
		}
		if ok {
			if fits, why := schema.Compatible(n.typ, m.Type); !fits {
				d.errorf(a.Expr.Range(), "Wrong type", "The input %q of the tool %q does not take this value: %s.", a.Name, target.Name, why)
			} else if n.null != "" && !m.Optional && !m.Type.AllowsNull() {
				d.errorf(a.Expr.Range(), "Value may be null", "%s, and the input %q of the tool %q is required.", reason(n), a.Name, target.Name)
			}
		}
		out.written = append(out.written, entry{constant(a.Name), n, at(a.Expr.Range())})
	}
	for _, m := range target.Input.Members {
		if near := spelling.Nearest(m.Name, sortedNames(given)); !m.Optional && !given[m.Name] && (near == "" || declared(target, near)) {
			d.errorf(b.DefRange(), "Missing input", "The tool %q needs the input %q.", target.Name, m.Name)
		}
	}
	return out
}

// cycles reports tools that call themselves through their steps, and derives the effects of a call from the tool that is called.
func (l *loader) cycles(decls []*toolDecl) {
	byTool := map[*Tool]*toolDecl{}
	for _, t := range decls {
		byTool[t.tool] = t
	}
	state := map[*Tool]int{} // 1: on the path, 2: done
	var path []string
	var visit func(t *toolDecl)
	visit = func(t *toolDecl) {
		state[t.tool] = 1
		path = append(path, t.tool.Name)
		l.diags = append(l.diags, t.askers()...)
		for _, c := range t.calls {
			switch state[c.call.Tool] {
			case 1:
				l.errorf(c.at, "Tool calls itself", "%s → %s is a circle: a tool cannot call itself, not even through others.", strings.Join(path, " → "), c.call.Name)
			case 0:
				visit(byTool[c.call.Tool])
			}
		}
		t.inherit()
		path = path[:len(path)-1]
		state[t.tool] = 2
	}
	for _, t := range decls {
		if state[t.tool] == 0 {
			visit(t)
		}
	}
}

// askers reports calls of tools that ask. The tools must be complete.
func (w *workDecl) askers() (diags Diagnostics) {
	for _, c := range w.calls {
		switch {
		case c.call.Tool.Asks():
			diags.errorf(at(c.at), "Called tool asks", "The tool %q asks the client, which a tool can do for itself only. Ask in a step of this %s, before the one that needs the answer.", c.call.Name, w.noun)
		case c.call.Tool.asksCaller():
			diags.errorf(at(c.at), "Called tool asks", "Calls of the tool %q may need the approval of the client's user, which a tool can have for itself only. Write by = \"operator\" there, or move the approval into what clients call.", c.call.Name)
		}
	}
	return diags
}

// inherit takes over what called tools do; their annotations are complete by now.
func (t *toolDecl) inherit() {
	if len(t.calls) == 0 {
		return
	}
	t.digestCalls()
	for _, s := range t.tool.Steps {
		call, ok := s.Backend.Config.(*ToolCall)
		if !ok {
			continue
		}
		f := &s.Backend.Facts
		f.ReadOnly, f.Destructive, f.Idempotent, f.OpenWorld = call.Tool.ReadOnly, call.Tool.Destructive, call.Tool.Idempotent, call.Tool.OpenWorld
	}
	before := len(t.dec.diags)
	t.annotations()
	t.dec.shared.diags = append(t.dec.shared.diags, t.dec.diags[before:]...)
}
