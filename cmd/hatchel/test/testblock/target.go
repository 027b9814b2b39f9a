package testblock

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl"
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

func validFile(name string) bool { return name != "." && fs.ValidPath(name) }

// findTarget finds what is tested.
func (b *block) findTarget() {
	body := b.src.Body.Attributes
	for _, kind := range []string{"tool", "prompt", "resource"} {
		if a := body[kind]; a != nil {
			b.kind, b.targeting = kind, diag.RangeOf(a.Expr.Range())
		}
	}
	switch b.kind {
	case "tool":
		for _, t := range b.cfg.Tools {
			if t.Name == b.tool {
				b.toolDecl, b.op = t, &t.Operation
			}
		}
	case "prompt":
		for _, p := range b.cfg.Prompts {
			if p.Name == b.prompt {
				b.op = &p.Operation
			}
		}
	}
	b.noteTarget()
	name := b.tool + b.prompt
	if b.op != nil || b.kind == "resource" || name == "" || b.cfg.Partial {
		return
	}
	var names []string
	for _, t := range b.cfg.Tools {
		if b.kind == "tool" {
			names = append(names, t.Name)
		}
	}
	for _, p := range b.cfg.Prompts {
		if b.kind == "prompt" {
			names = append(names, p.Name)
		}
	}
	b.d.Diags.Errorf(b.targeting, "Unknown "+b.kind, "There is no %s %q.%s", b.kind, name,
		diag.SuggestOr(name, names, diag.ListAre(names)))
}

// operations calls do with what is tested, and with the tools that its steps call. A test of a resource reaches all
// resources.
func (b *block) operations(do func(*hcl.Operation)) {
	seen := map[*hcl.Operation]bool{}
	var visit func(*hcl.Operation)
	visit = func(op *hcl.Operation) {
		if seen[op] {
			return
		}
		seen[op] = true
		do(op)
		for _, before := range op.Before {
			visit(&before.Operation)
		}
		for _, s := range op.Steps {
			if call, ok := s.Backend.Config.(*hcl.ToolCall); ok && call.Tool != nil {
				visit(&call.Tool.Operation)
			}
		}
	}
	if b.op != nil {
		visit(b.op)
		return
	}
	for _, r := range b.cfg.Resources {
		visit(&r.Operation)
	}
}

// findAsk returns the question of an answer, and reports one that is never asked. It returns nil for a question of an
// MCP server, which mocks ask.
func (b *block) findAsk(d *decode.Decoder, n *hclsyntax.Block) (ask *hcl.Ask) {
	var keys []string
	b.operations(func(op *hcl.Operation) {
		for _, s := range op.Steps {
			group, _ := s.Backend.Config.(*hcl.AskGroup)
			if group == nil {
				continue
			}
			for _, a := range group.Asks {
				if keys = append(keys, a.Key); a.Key == n.Labels[0] {
					ask = a
				}
			}
		}
	})
	if ask == nil && !b.op.UpstreamAsks(n.Labels[0]) {
		d.Errorf(n.LabelRanges[0], "Unknown question", "The %s %q asks no question %q.%s", b.kind, b.op.Name,
			n.Labels[0], diag.SuggestOr(n.Labels[0], keys, diag.ListAre(keys)))
	}
	return ask
}

// setAnswers sets what the client and an operator answer.
func (b *block) setAnswers(t *Test, e *element) {
	t.Answers = map[string]map[string]any{}
	for _, a := range b.answers {
		v := a.values.values(e)
		switch accepted, _ := v["accept"].(map[string]any); {
		case v["approve"] != nil:
			approve := v["approve"] == true
			t.Approve = &approve
		case v["decline"] == true:
			t.Answers[a.key] = map[string]any{"action": "decline"}
		case v["cancel"] == true:
			t.Answers[a.key] = map[string]any{"action": "cancel"}
		case v["text"] != nil:
			t.Answers[a.key] = map[string]any{"role": "assistant", "model": "test",
				"content": map[string]any{"type": "text", "text": v["text"]}}
		case v["roots"] != nil:
			roots := []any{}
			for _, uri := range v["roots"].([]any) {
				roots = append(roots, map[string]any{"uri": uri})
			}
			t.Answers[a.key] = map[string]any{"roots": roots}
		default:
			t.Answers[a.key] = map[string]any{"action": "accept", "content": accepted}
		}
		var invalid *hcl.InvalidAnswerError
		if a.ask == nil || b.d.Diags.HasErrors() {
			continue
		}
		if _, err := a.ask.ParseResponse(t.Answers[a.key], schema.Unlimited); errors.As(err, &invalid) {
			b.d.Diags.Errorf(a.at, "Answer refused", "The question %q refuses this answer: %v.", a.key, invalid)
		}
	}
}

// checkArguments reports arguments that the call refuses, where the test does not expect that.
func (b *block) checkArguments(t *Test) {
	expected := func(e *Expect) bool { return e.Values["refused"] != nil || e.Values["fault"] != nil }
	if b.op == nil || slices.ContainsFunc(t.Expects, expected) {
		return
	}
	at, given := b.values.ranges()["args"]
	if !given {
		at = b.targeting
	}
	for _, name := range value.Keys(t.Args) {
		if _, ok := b.op.Input.Lookup(name); !ok && b.op.Input.Kind == schema.Object {
			names := b.op.Input.MemberNames()
			b.d.Diags.Errorf(at, "Unknown argument", "The %s %q has no argument %q.%s", b.kind, b.op.Name, name,
				diag.SuggestOr(name, names, diag.ListAre(names)))
			return
		}
	}
	if b.kind != "tool" || b.op.Input.HoldsFile() {
		return
	}
	args := map[string]any{}
	if t.Args != nil {
		args = t.Args
	}
	_, violations, _ := b.op.Validator.Check(args, schema.Unlimited)
	var texts []string
	for _, v := range violations {
		texts = append(texts, v.String())
	}
	if texts != nil {
		b.d.Diags.Errorf(at, "Arguments refused", "The tool %q refuses these arguments: %s. To test that, write "+
			"refused = %q in an expect block.", b.op.Name, strings.Join(texts, "; "), violations[0].Path)
	}
}
