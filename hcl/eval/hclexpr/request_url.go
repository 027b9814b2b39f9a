package hclexpr

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/template"
	"hatchel/hcl/template/urltext"
)

// RequestURL is the URL of a request: a path below the base URL of a connection, or a whole URL.
type RequestURL struct {
	bind func(template.Frame, []byte) ([]byte, error)
	url  *urltext.URL // nil for a path

	template string
}

// Template returns the URL with {…} in place of each value, as in /orders/{input.id}.
func (a *RequestURL) Template() string { return a.template }

// urlTemplate returns the text of a URL that is the same for all calls.
func urlTemplate(nodes []template.Node) string {
	var out strings.Builder
	for _, n := range nodes {
		switch n := n.(type) {
		case *template.Text:
			out.WriteString(n.Value)
		case *template.Interpolation:
			out.WriteString("{" + n.Source + "}")
		default:
			out.WriteString("{…}")
		}
	}
	return out.String()
}

// WithHosts returns the URL with the hosts that it may name if the host is a value. Each must be
// accepted by urltext.ValidHost.
func (a *RequestURL) WithHosts(hosts []string) *RequestURL {
	if a.url == nil {
		return a
	}
	return &RequestURL{a.url.Within(hosts).Bind, a.url, a.template}
}

// Bind appends the URL for one call. Every value is escaped for its place.
func (a *RequestURL) Bind(f *eval.Frame, dst []byte) ([]byte, error) { return a.bind(f, dst) }

// NeedsHosts reports whether the host is a value, so that the allowed hosts must be listed.
func (a *RequestURL) NeedsHosts() bool { return a.url != nil && a.url.HostsNeeded() }

// CompileURL compiles the URL of a request, or of a page for people. If the block has a connection, linked, it is a
// path.
func (c *Compiler) CompileURL(e hclsyntax.Expression, in LexicalEnv, linked, page bool) *RequestURL {
	t := c.compileTree(e, in)
	if linked {
		p, diags := urltext.CompilePath(t)
		noteBindings(c, p)
		c.Diags = append(c.Diags, diag.FromHCL(diags)...)
		return &RequestURL{bind: p.Bind, template: urlTemplate(t.Nodes)}
	}
	compile := urltext.CompileURL
	if page {
		compile = urltext.CompilePage
	}
	u, diags := compile(t)
	noteBindings(c, u)
	c.Diags = append(c.Diags, diag.FromHCL(diags)...)
	return &RequestURL{u.Bind, u, urlTemplate(t.Nodes)}
}
