// Package urltext compiles templates of URLs. [CompilePath] compiles the part after the base URL of
// a connection, [CompileURL] a complete URL.
//
// A compiled template guarantees that a value of a call is one segment of a path, several complete
// segments with path(), one with escaped slashes with segment(), or one value of a query. A value never
// changes the scheme, the host, the port or the names in a query, and without path() and segment() not the
// number of segments, however often a server decodes the URL. No segment is ever empty, "." or "..".
package urltext

import (
	"slices"
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
	t = inline(t, func(text string) bool { return text == "" })
	c.checkTree(t)
	return template.Result(&Path{nodes: t.Nodes}, &c.Diagnostics)
}

// Bind appends the escaped path of one call to dst. It begins with "/" or "?" unless it is empty.
// The error is a sentence for the model that made the call; dst is then returned unchanged.
func (p *Path) Bind(f template.Frame, dst []byte) ([]byte, error) { return bind(p.nodes, f, dst, 0) }

// A URL is a complete URL. It is immutable and safe for concurrent use.
type URL struct {
	nodes []template.Node
	data  *template.Interpolation // the value that is the complete URL, or nil
	hosts []string
}

// CompileURL checks every rendering of a template that is a complete URL. The scheme, host and port
// are constant text, unless the template is a single value. The URL is nil if there are errors.
func CompileURL(t *template.Tree) (*URL, hclv2.Diagnostics) { return compileURL(t, &checker{}) }

// CompilePage is CompileURL for a page that people open. Its host is constant.
func CompilePage(t *template.Tree) (*URL, hclv2.Diagnostics) {
	return compileURL(t, &checker{page: true})
}

func compileURL(t *template.Tree, c *checker) (*URL, hclv2.Diagnostics) {
	u := &URL{}
	if len(t.Nodes) == 1 {
		if h, ok := t.Nodes[0].(*template.Interpolation); ok && !h.Type.Known {
			u.data = h
		}
	}
	if u.data != nil {
		c.checkWholeURL(u.data)
	} else {
		t = inline(t, func(text string) bool { return strings.Count(text, "/") < 3 && !strings.Contains(text, "?") })
		c.checkTree(t)
		u.nodes = t.Nodes
	}
	return template.Result(u, &c.Diagnostics)
}

func (c *checker) checkWholeURL(h *template.Interpolation) {
	switch {
	case isPathFunc(h) || c.page:
		c.reportHost(h.Range,
			`%s() gives segments of a path, and no host comes before it. Write "https://host/${%s}".`, h.Func, h.Source)
	case c.checkScalar(h) && isNullable(h):
		c.Errorf(h.Range, "Null in a URL",
			`%s may be null, and a request needs a URL. Guard the step with when, or make the input required.`,
			h.Source)
	}
}

// HostsNeeded reports whether the complete URL is a value. Then the author must list the allowed
// hosts, and Within must be called.
func (u *URL) HostsNeeded() bool { return u.data != nil }

// Within returns the URL restricted to hosts, each of which must satisfy ValidHost.
func (u *URL) Within(hosts []string) *URL {
	return &URL{nodes: u.nodes, data: u.data, hosts: slices.Clone(hosts)}
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
