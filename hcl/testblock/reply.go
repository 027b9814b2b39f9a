package testblock

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/schema"
)

// failures are the values of the argument fail of a reply.
var failures = []string{"refused", "timeout", "reset"}

// check reports values of a reply that no backend answers.
func (r *replyBlock) check(values map[string]any, e *element) {
	refuse := func(name string, ok bool, format string, args ...any) {
		if !ok {
			e.diags.Errorf(r.values.ranges()[name], "Invalid reply", format, args...)
		}
	}
	if status, ok := values["status"].(int); ok {
		refuse("status", status >= 200 && status <= 599, "status is a number from 200 to 599, not %d.", status)
	}
	if code, ok := values["exit"].(int); ok {
		refuse("exit", code >= 0 && code <= 255, "exit is a number from 0 to 255, not %d.", code)
	}
	if fail, ok := values["fail"].(string); ok {
		refuse("fail", slices.Contains(failures, fail), "fail must be one of %s, and is %q.",
			strings.Join(failures, ", "), fail)
	}
	if delay, ok := values["delay"].(string); ok {
		d, err := time.ParseDuration(delay)
		refuse("delay", err == nil && d >= 0, "delay is a duration such as \"2s\", not %q.", delay)
	}
	if file, ok := values["file"].(string); ok {
		refuse("file", validFile(file),
			"file is a file in the configuration directory, such as \"order.json\", not %q.", file)
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
			b.checkStatement(m, m.replies[k], t.Mocks[i], r, e)
			for _, name := range []string{"json", "rows"} {
				v, ok := r[name]
				status, hasStatus := r["status"].(int)
				if ok && (!hasStatus || status < 300) {
					b.checkAnswer(m, m.replies[k], t.Mocks[i], name, v, e)
				}
			}
		}
	}
}

// checkAnswer reports an answer that the types of all backends refuse that the mock may answer for. It is placed at the
// part of the answer that is wrong.
func (b *block) checkAnswer(m *mockBlock, r *replyBlock, mock *Mock, name string, v any, e *element) {
	var found []schema.Violation
	var declared string
	fits := false
	b.operations(func(op *hcl.Operation) {
		for _, s := range op.Steps {
			if !m.mayAnswer(s.Backend, mock, b.cfg) {
				continue
			}
			t, what := b.answerType(op, s, name)
			if t == nil {
				fits = true
				continue
			}
			_, violations, _ := t.Compile().Check(v, schema.Unlimited)
			fits = fits || violations == nil
			if found == nil {
				found, declared = violations, what
			}
		}
	})
	if fits {
		return
	}
	at := r.body.Attributes[name].Expr
	for _, violation := range found {
		e.diags.Errorf(diag.RangeOf(placeOf(at, violation.Path).Range()), "Mock contradicts the tool",
			"%s contradicts the declared %s: %s. A test that expects this failure says so in an expect block, with "+
				"error or error_matches.", name, declared, violation)
	}
}

// checkStatement reports a part of an answer that no statement has that the mock may answer: rows of one that returns
// none, and changes of one that only reads.
func (b *block) checkStatement(m *mockBlock, r *replyBlock, mock *Mock, reply map[string]any, e *element) {
	if m.kind != "sql" {
		return
	}
	for _, name := range []string{"rows", "affected", "last_id"} {
		if _, ok := reply[name]; !ok {
			continue
		}
		reached, fits := false, false
		b.operations(func(op *hcl.Operation) {
			for _, s := range op.Steps {
				if m.mayAnswer(s.Backend, mock, b.cfg) {
					reached, fits = true, fits || hasAnswer(s.Backend.Effects.Output, name)
				}
			}
		})
		if reached && !fits {
			what := "returns no rows: it is an exec without RETURNING"
			if name != "rows" {
				what = "changes nothing: it is a query"
			}
			e.diags.Errorf(r.values.ranges()[name], "Mock contradicts the tool", "The reply has %s, and the statement "+
				"%s.", name, what)
		}
	}
}

// hasAnswer reports whether the output of statements can have a member. Statements of a list share one type.
func hasAnswer(output *schema.Type, name string) bool {
	if results, ok := output.Lookup("results"); ok {
		output = results.Type.Elem
	}
	_, ok := output.Lookup(name)
	return ok || output.Kind == schema.Any
}

// mayAnswer reports whether the mock may answer for a backend: it has its kind, its connection and its method, and the
// path begins as the address does.
func (m *mockBlock) mayAnswer(backend *hcl.Backend, mock *Mock, cfg *hcl.Config) bool {
	connection := ""
	if backend.Connection != nil {
		connection = backend.Connection.Name
	}
	if backend.Kind != m.kind || connection != m.connection {
		return false
	}
	method, ok := mock.Request["method"].(string)
	lister, lists := backend.Config.(hcl.EffectLister)
	if !ok || !lists {
		return true
	}
	path, _ := mock.Request["path"].(string)
	for _, effect := range lister.Effects(backend.Connection) {
		if effect.Verb != method || len(effect.Source) == 0 {
			continue
		}
		at, written := backend.SourceOf(effect.Source[0])
		src := cfg.Sources[at.File]
		if !written || at.End.Byte > len(src) {
			return true
		}
		address, _, _ := strings.Cut(strings.Trim(string(src[at.Start.Byte:at.End.Byte]), `"`), "${")
		path, _, _ = strings.Cut(path, "*")
		n := min(len(address), len(path))
		return address[:n] == path[:n]
	}
	return false
}

// answerType returns the type that an answer must have, and what declares it; nil for any.
func (b *block) answerType(op *hcl.Operation, s *hcl.Step, name string) (t *schema.Type, declared string) {
	effects := s.Backend.Effects
	member := map[string]string{"json": "body", "rows": "rows"}[name]
	if b.toolDecl != nil && op == b.op && b.toolDecl.Returns != nil && b.toolDecl.Result == nil && len(op.Steps) == 1 &&
		!b.toolDecl.HasNamedSteps() && effects.Default.Member == member {
		return b.toolDecl.Returns, "returns"
	}
	if m, ok := effects.Output.Lookup(member); ok && name == "json" && m.Type.Kind != schema.Any {
		return m.Type, "response"
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
