package testblock

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/mock"
	"hatchel/hcl/schema"
)

// check reports values of a reply that no backend answers.
func (r *replyBlock) check(values map[string]any, e *element) {
	for _, a := range r.values.of {
		v := values[a.Name]
		if v == nil || a.Check == nil {
			continue
		}
		if what := a.Check(v); what != "" {
			e.diags.Errorf(r.values.ranges()[a.Name], "Invalid reply", "%s", what)
		}
	}
}

// checkReplies reports answers that contradict what the tool declares: the response of a request, or the result that
// they become. A test that expects a failure may have them.
func (b *block) checkReplies(t *Test, e *element) {
	if b.op == nil || slices.ContainsFunc(t.Expects, (*Expect).Fails) {
		return
	}
	for i, m := range b.mocks {
		for k, r := range t.Mocks[i].Replies {
			for _, a := range m.Replied() {
				v, ok := r[a.Name]
				if !ok || a.Member == "" {
					continue
				}
				b.checkPresent(m, m.replies[k], t.Mocks[i], a, e)
				if m.Fails == nil || !m.Fails(r) {
					b.checkAnswer(m, m.replies[k], t.Mocks[i], a, v, e)
				}
			}
		}
	}
}

// checkAnswer reports an answer that the types of all backends refuse that the mock may answer for. It is placed at the
// part of the answer that is wrong.
func (b *block) checkAnswer(m *mockBlock, r *replyBlock, of *mock.Mock, a mock.Argument, v any, e *element) {
	var found []schema.Violation
	var declared string
	fits := false
	b.operations(func(op *hcl.Operation) {
		for _, s := range op.Steps {
			if !m.mayAnswer(s.Backend, of, b.cfg) {
				continue
			}
			t, what := b.answerType(op, s, a)
			if t == nil {
				fits = true
				continue
			}
			answered := v
			if what == "returns" { // a call leaves out what the tool does not declare
				answered = t.WithoutUndeclared(v)
			}
			_, violations, _ := t.Compile().Check(answered, schema.Unlimited)
			fits = fits || violations == nil
			if found == nil {
				found, declared = violations, what
			}
		}
	})
	if fits {
		return
	}
	at := r.body.Attributes[a.Name].Expr
	for _, violation := range found {
		e.diags.Errorf(diag.RangeOf(placeOf(at, violation.Path).Range()), "Mock contradicts the tool",
			"%s contradicts the declared %s: %s. A test that expects this failure says so in an expect block, with "+
				"error or error_matches.", a.Name, declared, violation)
	}
}

// checkPresent reports a part of an answer that no block has that the mock may answer, such as rows of a statement that
// returns none.
func (b *block) checkPresent(m *mockBlock, r *replyBlock, of *mock.Mock, a mock.Argument, e *element) {
	reached, fits := a.Absent == "", a.Absent == ""
	b.operations(func(op *hcl.Operation) {
		for _, s := range op.Steps {
			if a.Absent != "" && m.mayAnswer(s.Backend, of, b.cfg) {
				reached, fits = true, fits || m.hasMember(s.Backend.Effects.Output, a.Member)
			}
		}
	})
	if reached && !fits {
		e.diags.Errorf(r.values.ranges()[a.Name], "Mock contradicts the tool", "The reply has %s, and %s.",
			a.Name, a.Absent)
	}
}

// hasMember reports whether what one reply becomes can have a member.
func (m *mockBlock) hasMember(output *schema.Type, name string) bool {
	if m.Output != nil {
		output = m.Output(output)
	}
	_, ok := output.Lookup(name)
	return ok || output.Kind == schema.Any
}

// mayAnswer reports whether the mock may answer for a backend: it has its kind, its connection and its method, and the
// path begins as the address does.
func (m *mockBlock) mayAnswer(backend *hcl.Backend, of *mock.Mock, cfg *hcl.Config) bool {
	connection := ""
	if backend.Connection != nil {
		connection = backend.Connection.Name
	}
	if backend.Kind != m.kind || connection != m.connection {
		return false
	}
	lister, lists := backend.Config.(hcl.EffectLister)
	if !lists || m.Effect == nil {
		return true
	}
	verb, path := m.Effect(of.Request)
	if verb == "" {
		return true
	}
	for _, effect := range lister.Effects(backend.Connection) {
		if effect.Verb != verb || len(effect.Source) == 0 {
			continue
		}
		at, written := backend.SourceOf(effect.Source[0])
		src := cfg.Sources[at.File]
		if !written || at.End.Byte > len(src) {
			return true
		}
		address, _, _ := strings.Cut(strings.Trim(string(src[at.Start.Byte:at.End.Byte]), `"`), "${")
		n := min(len(address), len(path))
		return address[:n] == path[:n]
	}
	return false
}

// answerType returns the type that an answer must have, and what declares it; nil for any.
func (b *block) answerType(op *hcl.Operation, s *hcl.Step, a mock.Argument) (t *schema.Type, declared string) {
	effects := s.Backend.Effects
	if b.toolDecl != nil && op == b.op && b.toolDecl.Returns != nil && b.toolDecl.Result == nil && len(op.Steps) == 1 &&
		!b.toolDecl.HasNamedSteps() && effects.Default.Member == a.Member {
		return b.toolDecl.Returns, "returns"
	}
	if m, ok := effects.Output.Lookup(a.Member); ok && a.Declared != "" && m.Type.Kind != schema.Any {
		return m.Type, a.Declared
	}
	return nil, ""
}

// placeOf returns the expression of the part of a value at a path, such as lines[0].sku, as far as it is written.
func placeOf(e hclsyntax.Expression, path string) hclsyntax.Expression {
	for path != "" {
		switch at := e.(type) {
		case *hclsyntax.ObjectConsExpr:
			name := strings.TrimPrefix(path, ".")
			if end := strings.IndexAny(name, ".["); end >= 0 {
				name = name[:end]
			}
			next := memberOf(at, name)
			if next == nil {
				return e
			}
			e, path = next, strings.TrimPrefix(path, ".")[len(name):]
		case *hclsyntax.TupleConsExpr:
			var i int
			if _, err := fmt.Sscanf(path, "[%d]", &i); err != nil || i >= len(at.Exprs) {
				return e
			}
			e, path = at.Exprs[i], path[strings.IndexByte(path, ']')+1:]
		default:
			return e
		}
	}
	return e
}

// memberOf returns the value of a member of an object, or nil.
func memberOf(object *hclsyntax.ObjectConsExpr, name string) hclsyntax.Expression {
	for _, item := range object.Items {
		key, diags := item.KeyExpr.Value(nil)
		if !diags.HasErrors() && key.IsKnown() && !key.IsNull() && key.Type() == cty.String && key.AsString() == name {
			return item.ValueExpr
		}
	}
	return nil
}
