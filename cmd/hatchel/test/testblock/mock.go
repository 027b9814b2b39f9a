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
	"hatchel/hcl/mock"
)

// mockBlock is a mock block being decoded.
type mockBlock struct {
	*mock.Kind
	kind, connection string
	asked            *arguments // Request, tape, then Details
	replies          []*replyBlock
	times            *int // nil if it is not written
	at               diag.Range
}

// replyBlock is a reply block of a mock.
type replyBlock struct {
	values *arguments // Replied
	body   *hclsyntax.Body
}

func newMock(name string, k *mock.Kind) *mockBlock {
	return &mockBlock{kind: name, Kind: k,
		asked: newArguments(slices.Concat(k.Request, of(mock.Text, "tape", tapeDoc), k.Details))}
}

func (m *mockBlock) newReply() *replyBlock {
	return &replyBlock{values: newArguments(m.Replied())}
}

func (m *mockBlock) replySpec(r *replyBlock) decode.Spec {
	spec, n := r.values.spec(), len(m.Answers)
	return append(decode.AtMostOneOf("the answer", spec[:n]...), spec[n:]...)
}

func (m *mockBlock) spec() decode.Spec {
	spec, n := m.asked.spec(), len(m.Request)+1 // with the tape
	choose := decode.ExactlyOneOf
	if m.Missing != "" {
		choose = decode.AtMostOneOf // because the details alone also say what is answered; see checkAsked
	}
	return append(append(choose(m.Choice, spec[:n]...), spec[n:]...),
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
	var k *mock.Kind
	if len(n.Labels) > 0 {
		k = b.cfg.Kinds.Mock(n.Labels[0])
	}
	if k == nil || len(n.Labels) > 2 {
		names := b.cfg.Kinds.Mocked()
		d.Errorf(n.DefRange(), "Wrong number of labels", "A mock block names a kind of backend, and its connection if "+
			"it has one: `mock %q \"shop\" {`. The kinds are %s.", names[0], diag.OneOf(names, diag.JoinAnd(names)))
		return
	}
	m := newMock(n.Labels[0], k)
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

// checkAsked reports a mock that would answer everything of its connection.
func (m *mockBlock) checkAsked(d *decode.Decoder, n *hclsyntax.Block) {
	isWritten := func(a mock.Argument) bool { return n.Body.Attributes[a.Name] != nil }
	if m.Missing != "" && !slices.ContainsFunc(m.asked.of, isWritten) {
		d.Errorf(n.DefRange(), "Missing argument", "%s", m.Missing)
	}
}

// noteConnection tells the observer which connection a label names: of the backends that the test reaches.
func (b *block) noteConnection(d *decode.Decoder, r hclv2.Range, backend, label string) {
	if d.Observer == nil {
		return
	}
	b.operations(func(op *hcl.Operation) {
		for _, s := range op.Steps {
			if c := s.Backend.Connection; c != nil && s.Backend.Kind == backend && c.Name == label {
				d.NoteReference(eval.Reference{At: diag.RangeOf(r), Kind: "connection", Name: label, Owner: c.Kind})
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
			if connection := backend.Connection; b.cfg.Kinds.Mock(backend.Kind) != nil {
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
	isSameKind := func(as string) bool { return strings.HasPrefix(as, name(m.kind, "")) }
	if slices.Contains(reached, wanted) || m.answersAnywhere(n) && slices.ContainsFunc(reached, isSameKind) {
		return
	}
	hint := " It reaches nothing that can be mocked."
	if reached != nil {
		hint = " It reaches " + strings.Join(reached, ", ") + "."
	}
	d.Errorf(n.DefRange(), "Backend not reached", "The %s does not call %s.%s", b.kind, wanted,
		diag.OneOf(connections, hint))
}

// answersAnywhere reports whether a mock without connection answers for the backends of any connection.
func (m *mockBlock) answersAnywhere(n *hclsyntax.Block) bool {
	for _, asked := range m.Request {
		if a := n.Body.Attributes[asked.Name]; a != nil && m.connection == "" && m.Anywhere != nil {
			return m.Anywhere(literalStart(a.Expr))
		}
	}
	return false
}

// literalStart returns the beginning of a text, as far as it is a literal.
func literalStart(e hclsyntax.Expression) string {
	text, ok := e.(*hclsyntax.TemplateExpr)
	if !ok || len(text.Parts) == 0 {
		return ""
	}
	first, ok := text.Parts[0].(*hclsyntax.LiteralValueExpr)
	if !ok || first.Val.Type() != cty.String {
		return ""
	}
	return first.Val.AsString()
}

// name returns a kind of backend and its connection as they are written.
func name(kind, connection string) string {
	if connection == "" {
		return fmt.Sprintf("%q", kind)
	}
	return fmt.Sprintf("%q %q", kind, connection)
}

// TapeSuffix ends the names of tapes, so that a recording replaces no other file.
const TapeSuffix = ".tape.json"

// mock returns the mock for one element.
func (m *mockBlock) mock(e *element) *mock.Mock {
	out := &mock.Mock{Kind: m.kind, Connection: m.connection, Request: m.asked.values(e), Range: m.at,
		Times: max(len(m.replies), 1)}
	if m.times != nil {
		out.Times = *m.times
	}
	if tape, ok := out.Request["tape"].(string); ok {
		if out.Tape = tape; !validFile(tape) || !strings.HasSuffix(tape, TapeSuffix) {
			e.diags.Errorf(m.asked.ranges()["tape"], "Invalid tape", "tape is a file in the configuration directory "+
				"whose name ends in %s, such as \"orders%[1]s\", not %q.", TapeSuffix, tape)
		}
	}
	if m.Check != nil {
		for _, p := range m.Check(out) {
			e.diags.Errorf(m.asked.ranges()[p.Argument], p.Summary, "%s", p.Detail)
		}
	}
	for _, r := range m.replies {
		values := r.values.values(e)
		r.check(values, e)
		out.Replies = append(out.Replies, values)
	}
	return out
}
