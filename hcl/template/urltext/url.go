package urltext

import (
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
)

// A Path is what is added to the base URL of a connection: a path, a query, or both, or nothing. It
// is immutable and safe for concurrent use.
type Path struct {
	nodes []template.Node
}

// CompilePath checks every rendering of a template that is after a connection's base URL. The
// Path is nil when there are errors.
func CompilePath(t *template.Tree) (*Path, hclv2.Diagnostics) {
	c := &checker{connection: true}
	nodes := inline(t.Nodes, func(text string) bool { return text == "" })
	c.checkTree(&template.Tree{Nodes: nodes, Range: t.Range})
	if c.diags.HasErrors() {
		return nil, c.diags
	}
	return &Path{nodes: nodes}, c.diags
}

// Bind appends the path of one call to dst, escaped, beginning with "/" or "?" unless it is empty.
// Its errors are sentences for the model that made the call; dst is then returned as it came.
func (p *Path) Bind(f template.Frame, dst []byte) ([]byte, error) { return bind(p.nodes, f, dst, 0) }

func bind(nodes []template.Node, f template.Frame, dst []byte, head int) ([]byte, error) {
	b := binder{frame: f, dst: dst, head: head, segment: len(dst)}
	err := b.nodes(nodes)
	if err == nil && !b.query {
		err = b.endSegment("")
	}
	if err != nil {
		return dst, err
	}
	return b.dst, nil
}

// A URL is a whole URL. It is immutable and safe for concurrent use.
type URL struct {
	nodes []template.Node
	data  *template.Interpolation // the whole URL is a value
	hosts []string
}

// CompileURL checks every rendering of a template that is a whole URL. The scheme, host and port
// are the author's text, unless the whole template is one value. The URL is nil when there are
// errors.
func CompileURL(t *template.Tree) (*URL, hclv2.Diagnostics) {
	c := &checker{}
	if len(t.Nodes) == 1 {
		if h, ok := t.Nodes[0].(*template.Interpolation); ok && !h.Type.Known {
			return c.wholeURL(h)
		}
	}
	nodes := inline(t.Nodes, func(text string) bool {
		return strings.Count(text, "/") < 3 && !strings.Contains(text,
			"?")
	})
	c.checkTree(&template.Tree{Nodes: nodes, Range: t.Range})
	if c.diags.HasErrors() {
		return nil, c.diags
	}
	return &URL{nodes: nodes}, c.diags
}

func (c *checker) wholeURL(h *template.Interpolation) (*URL, hclv2.Diagnostics) {
	switch {
	case h.Func == "path":
		c.errorf(h.Range, "Host depends on a call",
			`path() gives segments of a path, and no host comes before it. Write "https://host/${%s}".`, h.Source)
	case c.checkScalar(h) && c.isNullable(h):
		c.errorf(h.Range, "Null in a URL",
			`%s may be null, and a request needs a URL. Guard the step with when, or make the input required.`,
			h.Source)
	}
	if c.diags.HasErrors() {
		return nil, c.diags
	}
	return &URL{data: h}, c.diags
}

// inline makes text of values known at load that stand where head still holds for what is in front
// of them.
func inline(nodes []template.Node, head func(string) bool) []template.Node {
	out := append([]template.Node(nil), nodes...)
	text := ""
	for i, n := range out {
		switch n := n.(type) {
		case *template.Text:
			text += n.Value
		case *template.Interpolation:
			s, ok := n.Type.Constant.(string)
			if !ok || !n.Type.Known || n.Func != "" || !head(text) {
				return out
			}
			out[i] = &template.Text{Value: s, Place: func(int, int) hclv2.Range { return n.Range }}
			text += s
		default:
			return out
		}
	}
	return out
}

// HostsNeeded reports that the whole URL is a value, so that the author must say which hosts it may
// have: Within must be called.
func (u *URL) HostsNeeded() bool { return u.data != nil }

// Within returns the URL with the hosts that a value may have; each is one that ValidHost accepts.
func (u *URL) Within(hosts []string) *URL {
	return &URL{nodes: u.nodes, data: u.data, hosts: append([]string(nil), hosts...)}
}

// Bind appends the URL of one call to dst, escaped. A URL that is a value is refused unless its
// host is one of those given to Within. Its errors are sentences for the model that made the call;
// dst is then returned as it came.
func (u *URL) Bind(f template.Frame, dst []byte) ([]byte, error) {
	if u.data == nil {
		return bind(u.nodes, f, dst, 2)
	}
	text, err := scalar(u.data, f)
	if err != nil {
		return dst, err
	}
	if err := checkData(text, u.data.Source, u.hosts); err != nil {
		return dst, err
	}
	return append(dst, text...), nil
}
