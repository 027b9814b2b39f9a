package testblock

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"hatchel/hcl"
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
)

// mockBlock is a mock block being decoded.
type mockBlock struct {
	kind, connection string
	verb, request    *arguments
	replies          []*arguments
	times            *int // nil if it is not written
	at               diag.Range
}

// mockKinds are the kinds of mocks, with the arguments of a reply.
var mockKinds = map[string][]argument{
	"http": httpReplyArguments, "sql": sqlReplyArguments, "shell": shellReplyArguments,
}

func newMock(kind string) *mockBlock {
	m := &mockBlock{kind: kind, verb: newArguments(nil)}
	switch kind {
	case "http":
		m.verb, m.request = newArguments(verbArguments), newArguments(httpArguments)
	case "sql":
		m.request = newArguments(sqlArguments)
	default:
		m.request = newArguments(shellArguments)
	}
	return m
}

func (m *mockBlock) spec() decode.Spec {
	spec := m.request.spec()
	switch m.kind {
	case "http":
		spec = append(decode.ExactlyOneOf("the request", m.verb.spec()...), spec...)
	case "sql":
		spec = append(append(decode.ExactlyOneOf("what is answered", spec[0], spec[2]), spec[1]), spec[3:]...)
	default:
		spec = append(decode.ExactlyOneOf("what is run", spec[:3]...), spec[3:]...)
	}
	reply := func() decode.Spec { return newArguments(mockKinds[m.kind]).spec() }
	return append(spec,
		decode.Custom("times", "integer or any", "How often the mock answers. With several reply blocks, each answers "+
			"once, and the last one again.", m.decodeTimes).DefaultDoc("the number of replies"),
		decode.Blocks("reply", "", "What is answered. Several are answered one after the other.", reply,
			func(d *decode.Decoder, n *hclsyntax.Block) {
				r := newArguments(mockKinds[m.kind])
				m.replies = append(m.replies, r)
				d.Body(n, r.spec())
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
			"it has one: `mock \"http\" \"shop\" {`. The kinds are http, sql and shell.")
		return
	}
	m := newMock(n.Labels[0])
	m.at = diag.RangeOf(n.DefRange())
	if len(n.Labels) == 2 {
		m.connection = n.Labels[1]
	}
	d.Body(n, m.spec())
	b.checkReached(d, m, n)
	b.mocks = append(b.mocks, m)
}

// checkReached reports a mock of a backend that is never called.
func (b *block) checkReached(d *decode.Decoder, m *mockBlock, n *hclsyntax.Block) {
	if b.op == nil && b.kind != "resource" {
		return
	}
	var reached []string
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
	d.Errorf(n.DefRange(), "Backend not reached", "The %s does not call %s.%s", b.kind, wanted, hint)
}

// hasWholeURL reports whether a mock without connection is one of a whole URL, which the requests of any connection may
// have, such as that for a token. A path, which begins with a slash, belongs to a connection.
func (m *mockBlock) hasWholeURL(n *hclsyntax.Block) bool {
	for _, verb := range m.verb.of {
		a := n.Body.Attributes[verb.name]
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

// name returns a kind of backend and its connection as they are written.
func name(kind, connection string) string {
	if connection == "" {
		return fmt.Sprintf("%q", kind)
	}
	return fmt.Sprintf("%q %q", kind, connection)
}

// mock returns the mock for one element.
func (m *mockBlock) mock(e *element) *Mock {
	out := &Mock{Kind: m.kind, Connection: m.connection, Request: m.request.values(e), Range: m.at,
		Times: max(len(m.replies), 1)}
	if m.times != nil {
		out.Times = *m.times
	}
	for verb, path := range m.verb.values(e) {
		out.Request["method"], out.Request["path"] = strings.ToUpper(verb), path
	}
	for _, r := range m.replies {
		out.Replies = append(out.Replies, r.values(e))
	}
	return out
}
