package testblock

import (
	"fmt"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"hatchel/hcl"
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
)

// mockBlock is a mock block being decoded.
type mockBlock struct {
	*mockArguments
	kind, connection string
	asked            *arguments // request, then details
	replies          []*replyBlock
	times            *int // nil if it is not written
	at               diag.Range
}

// replyBlock is a reply block of a mock.
type replyBlock struct {
	values *arguments // answers, then answeredBesides
	body   *hclsyntax.Body
}

func newMock(kind string) *mockBlock {
	m := &mockBlock{kind: kind, mockArguments: mockKinds[kind]}
	m.asked = newArguments(slices.Concat(m.request, of(textType, "tape", tapeDoc), m.details))
	return m
}

func (m *mockBlock) newReply() *replyBlock {
	return &replyBlock{values: newArguments(slices.Concat(m.answers, m.answeredBesides))}
}

func (m *mockBlock) replySpec(r *replyBlock) decode.Spec {
	spec, n := r.values.spec(), len(m.answers)
	return append(decode.AtMostOneOf("the answer", spec[:n]...), spec[n:]...)
}

func (m *mockBlock) spec() decode.Spec {
	spec, n := m.asked.spec(), len(m.request)+1 // with the tape
	choose := decode.ExactlyOneOf
	if m.kind == "sql" {
		choose = decode.AtMostOneOf // because args alone also say what is answered; see checkAsked
	}
	return append(append(choose(m.choice, spec[:n]...), spec[n:]...),
		decode.Custom("times", "integer or any", "How often the mock answers. With several reply blocks, each answers "+
			"once, and the last one again.", m.decodeTimes).DefaultDoc("the number of replies"),
		decode.Blocks("reply", "", "An answer. Several replies are given one after the other.",
			func() decode.Spec { return m.replySpec(m.newReply()) },
			func(d *decode.Decoder, n *hclsyntax.Block) {
				r := m.newReply()
				r.body = n.Body
				m.replies = append(m.replies, r)
				d.Body(n, m.replySpec(r))
			}))
}

func (m *mockBlock) decodeTimes(d *decode.Decoder, e hclsyntax.Expression) {
	m.times = new(int)
	if word, ok := e.(*hclsyntax.ScopeTraversalExpr); ok && len(word.Traversal) == 1 &&
		word.Traversal.RootName() == "any" {
		return
	}
	n := d.CompileKnown(e, decode.Field{})
	times, ok := n.Value.(int)
	if *m.times = times; n.Known && (!ok || times < 1) {
		d.Errorf(e.Range(), "Number out of range", "times is a number from 1, or any.")
	}
}

// decodeMock decodes a mock block.
func (b *block) decodeMock(d *decode.Decoder, n *hclsyntax.Block) {
	if len(n.Labels) == 0 || mockKinds[n.Labels[0]] == nil || len(n.Labels) > 2 {
		d.Errorf(n.DefRange(), "Wrong number of labels", "A mock block names a kind of backend, and its connection if "+
			"it has one: `mock \"http\" \"shop\" {`. The kinds are %s.",
			diag.OneOf([]string{"http", "sql", "shell"}, "http, sql and shell"))
		return
	}
	m := newMock(n.Labels[0])
	m.at = diag.RangeOf(n.DefRange())
	if len(n.Labels) == 2 {
		m.connection = n.Labels[1]
		b.noteConnection(d, n.LabelRanges[1], m.kind, m.connection)
	}
	d.Body(n, m.spec())
	if a := n.Body.Attributes["tape"]; a != nil && len(n.Body.Attributes)+len(n.Body.Blocks) > 1 {
		d.Errorf(n.DefRange(), "Tape with more", "A tape has the requests and the replies, so a mock with tape has "+
			"nothing else.")
	}
	m.checkAsked(d, n)
	b.checkReached(d, m, n)
	b.mocks = append(b.mocks, m)
}

// checkAsked reports a mock that would answer every statement of its connection.
func (m *mockBlock) checkAsked(d *decode.Decoder, n *hclsyntax.Block) {
	if m.kind != "sql" {
		return
	}
	for _, name := range []string{"statement", "args", "init", "tape"} {
		if n.Body.Attributes[name] != nil {
			return
		}
	}
	d.Errorf(n.DefRange(), "Missing argument", "What is answered is required: write statement, which may be a part of "+
		"it, or args, or both; or init or tape.")
}

// noteConnection takes down, for editors, which connection a label names: of the backends that the test reaches.
func (b *block) noteConnection(d *decode.Decoder, r hclv2.Range, backend, label string) {
	if d.Notes == nil {
		return
	}
	b.operations(func(op *hcl.Operation) {
		for _, s := range op.Steps {
			if c := s.Backend.Connection; c != nil && s.Backend.Kind == backend && c.Name == label {
				d.Notes.Read(eval.NotedRead{At: diag.RangeOf(r), Kind: "connection", Name: label, Owner: c.Kind})
			}
		}
	})
}

// checkReached reports a mock of a backend that is never called.
func (b *block) checkReached(d *decode.Decoder, m *mockBlock, n *hclsyntax.Block) {
	if b.op == nil && b.kind != "resource" {
		return
	}
	var reached, connections []string
	wanted := name(m.kind, m.connection)
	b.operations(func(op *hcl.Operation) {
		backends := make([]*hcl.Backend, 0, len(op.Steps))
		for _, s := range op.Steps {
			backends = append(backends, s.Backend)
		}
		for _, backend := range backends {
			if connection := backend.Connection; mockKinds[backend.Kind] != nil {
				label := ""
				if connection != nil {
					label = connection.Name
				}
				if as := name(backend.Kind, label); !slices.Contains(reached, as) {
					reached = append(reached, as)
					if backend.Kind == m.kind && label != "" {
						connections = append(connections, label)
					}
				}
			}
		}
	})
	isHTTP := func(as string) bool { return strings.HasPrefix(as, name("http", "")) }
	if slices.Contains(reached, wanted) || m.hasWholeURL(n) && slices.ContainsFunc(reached, isHTTP) {
		return
	}
	hint := " It reaches nothing that can be mocked."
	if reached != nil {
		hint = " It reaches " + strings.Join(reached, ", ") + "."
	}
	d.Errorf(n.DefRange(), "Backend not reached", "The %s does not call %s.%s", b.kind, wanted,
		diag.OneOf(connections, hint))
}

// hasWholeURL reports whether a mock without connection is one of a whole URL, which the requests of any connection may
// have, such as that for a token. A path, which begins with a slash, belongs to a connection.
func (m *mockBlock) hasWholeURL(n *hclsyntax.Block) bool {
	for _, method := range methods {
		a := n.Body.Attributes[method]
		if a == nil || m.connection != "" {
			continue
		}
		address, ok := a.Expr.(*hclsyntax.TemplateExpr)
		if !ok || len(address.Parts) == 0 {
			return true
		}
		first, ok := address.Parts[0].(*hclsyntax.LiteralValueExpr)
		return !ok || first.Val.Type() != cty.String || !strings.HasPrefix(first.Val.AsString(), "/")
	}
	return false
}

func isURL(address string) bool {
	return strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://")
}

// name returns a kind of backend and its connection as they are written.
func name(kind, connection string) string {
	if connection == "" {
		return fmt.Sprintf("%q", kind)
	}
	return fmt.Sprintf("%q %q", kind, connection)
}

// tapeSuffix ends the names of tapes, so that a recording replaces no other file.
const tapeSuffix = ".tape.json"

// mock returns the mock for one element.
func (m *mockBlock) mock(e *element) *Mock {
	out := &Mock{Kind: m.kind, Connection: m.connection, Request: m.asked.values(e), Range: m.at,
		Times: max(len(m.replies), 1)}
	if m.times != nil {
		out.Times = *m.times
	}
	if tape, ok := out.Request["tape"].(string); ok {
		if out.Tape = tape; !validFile(tape) || !strings.HasSuffix(tape, tapeSuffix) {
			e.diags.Errorf(m.asked.ranges()["tape"], "Invalid tape", "tape is a file in the configuration directory "+
				"whose name ends in %s, such as \"orders%[1]s\", not %q.", tapeSuffix, tape)
		}
	}
	for _, method := range methods {
		if path, ok := out.Request[method]; ok {
			delete(out.Request, method)
			if text, ok := path.(string); ok && m.connection == "" && !isURL(text) {
				e.diags.Errorf(m.asked.ranges()[method], "Path without a connection", "A mock without a connection "+
					"has a whole URL, such as \"https://login.example/token\", not %q. A path belongs to a "+
					"connection: `mock \"http\" \"shop\" {`.", text)
			}
			out.Request["method"], out.Request["path"] = strings.ToUpper(method), path
		}
	}
	for _, r := range m.replies {
		values := r.values.values(e)
		r.check(values, e)
		out.Replies = append(out.Replies, values)
	}
	return out
}
