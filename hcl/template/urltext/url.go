package urltext

import (
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
)

// A Path is added to the base URL of a connection: a path, a query, both, or nothing. It is
// immutable and safe for concurrent use.
type Path struct {
	nodes []template.Node
}

// CompilePath checks every rendering of a template that follows a connection's base URL. The Path
// is nil if there are errors.
func CompilePath(t *template.Tree) (*Path, hclv2.Diagnostics) {
	c := &checker{connection: true}
	nodes := inline(t.Nodes, func(text string) bool { return text == "" })
	c.checkTree(&template.Tree{Nodes: nodes, Range: t.Range})
	if c.diags.HasErrors() {
		return nil, c.diags
	}
	return &Path{nodes: nodes}, c.diags
}

// Bind appends the escaped path of one call to dst. It begins with "/" or "?" unless it is empty.
// The error is a sentence for the model that made the call; dst is then returned unchanged.
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

// A URL is a complete URL. It is immutable and safe for concurrent use.
type URL struct {
	nodes []template.Node
	data  *template.Interpolation // the value that is the complete URL, or nil
	hosts []string
}

// CompileURL checks every rendering of a template that is a complete URL. The scheme, host and port
// are constant text, unless the template is a single value. The URL is nil if there are errors.
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

// inline converts leading values that are known at load to text, as long as head accepts the text
// before them.
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

// HostsNeeded reports whether the complete URL is a value. Then the author must list the allowed
// hosts, and Within must be called.
func (u *URL) HostsNeeded() bool { return u.data != nil }

// Within returns the URL restricted to hosts, each of which must satisfy ValidHost.
func (u *URL) Within(hosts []string) *URL {
	return &URL{nodes: u.nodes, data: u.data, hosts: append([]string(nil), hosts...)}
}

// Bind appends the escaped URL of one call to dst. A URL that is a value is rejected unless its
// host is one of those given to Within. The error is a sentence for the model that made the call;
// dst is then returned unchanged.
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
