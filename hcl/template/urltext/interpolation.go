package urltext

import (
	"slices"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
)

// readInterpolation advances the states over one interpolation.
func (c *checker) readInterpolation(h *template.Interpolation, s state) state {
	switch s.phase {
	case start:
		return c.startInterpolation(h)
	case authority:
		c.rejectHost(h)
		s.head = "host" // one mistake is enough
		return s
	case query:
		c.queryInterpolation(h, s)
		return s
	}
	return c.pathInterpolation(h, s)
}

func (c *checker) startInterpolation(h *template.Interpolation) state {
	if c.connection {
		c.Errorf(h.Range, "Path must begin with /",
			`A value at the beginning could change the host of the connection. Begin with "/": "/${%s}".`, h.Source)
	} else {
		c.rejectHost(h)
	}
	return state{phase: path, value: h, dots: "x"}
}

// reportHost reports a host that is not constant, with why that of a request must be.
func (c *checker) reportHost(r hclv2.Range, why string, args ...any) {
	if c.page {
		why, args = `The host of the page must be constant: write "https://host/${…}".`, nil
	}
	c.Errorf(r, "Host depends on a call", why, args...)
}

func (c *checker) rejectHost(h *template.Interpolation) {
	c.reportHost(h.Range,
		`A value cannot be a part of a URL's scheme, host or port, and %[1]s is one here. Write the host as text, one `+
			`tool for each, or take the whole URL as a value, "${%[1]s}", and list the hosts it may have: `+
			`hosts = ["api.example.com"].`, h.Source)
}

func (c *checker) pathInterpolation(h *template.Interpolation, s state) state {
	if s.pathFunc != "" {
		c.Errorf(h.Range, "Text after "+s.pathFunc+"()",
			`%s() gives whole segments, so only a / may follow it. Write a / before ${%s}.`, s.pathFunc, h.Source)
		return s
	}
	if isPathFunc(h) {
		return c.pathFunc(h, s)
	}
	if !c.checkScalar(h) {
		s.dots = "x"
		return s
	}
	if isNullable(h) {
		c.Errorf(h.Range, "Null in a path",
			`%[1]s may be null, and a path has no way to express that. Write the path for it: %%{if %[1]s != `+
				`null}/${%[1]s}%%{endif}, or give the input a default.`, h.Source)
	}
	c.checkConstant(h)
	s.value = h
	return s
}

// isPathFunc reports whether an interpolation is path(...), several segments, or segment(...), one segment
// whose slashes are escaped.
func isPathFunc(h *template.Interpolation) bool { return h.Func == "path" || h.Func == "segment" }

// pathFunc reads an interpolation path(...) or segment(...).
func (c *checker) pathFunc(h *template.Interpolation, s state) state {
	arg := h.FirstArg()
	if s.dots != "" || s.value != nil || s.hasEscapedSlash {
		c.Errorf(h.Range, "Text before "+h.Func+"()",
			`%s() gives whole segments, so it must follow a /. Write a / before it, or one ${...} for one segment.`,
			h.Func)
	}
	if isNullable(arg) {
		c.Errorf(h.Range, "Null in a path",
			`%[1]s may be null, and a path has no way to express that. Write the path for it: %%{if %[1]s != `+
				`null}/${%[2]s}%%{endif}.`, arg.Source, h.Source)
	}
	switch arg.Type.Kind {
	case template.Object, template.Bytes, template.File:
		c.Errorf(h.Range, "No text for a URL", `%s() takes a list of names or a string with /, and %s is neither.`,
			h.Func, arg.Source)
	}
	return state{phase: path, first: s.first, pathFunc: h.Func}
}

func (c *checker) queryInterpolation(h *template.Interpolation, s state) {
	if isPathFunc(h) {
		c.Errorf(h.Range, "Function of another context",
			`%s() is for paths. In a query write the value alone: ${%s}.`, h.Func, h.FirstArg().Source)
		return
	}
	if !c.checkScalar(h) {
		return
	}
	if s.inName && h.Type.Kind != template.Enum && !h.Type.Known {
		c.Errorf(h.Range, "Value as a parameter's name",
			`%[1]s would choose which parameter is sent. Write the name as text, "?name=${%[1]s}", or make the `+
				`input an enum.`, h.Source)
	}
	if isNullable(h) {
		c.Errorf(h.Range, "Null in a query",
			`%[1]s may be null. Write query = { name = %[1]s }, which leaves it out then.`, h.Source)
	}
}

// isNullable reports whether an interpolation can be null as far as is known. A value of unknown
// type is checked during the call.
func isNullable(h *template.Interpolation) bool {
	return h.Type.Nullable && h.Type.Kind != template.Any
}

// checkScalar reports a value that is not a scalar.
func (c *checker) checkScalar(h *template.Interpolation) bool {
	switch h.Func {
	case "ident", "raw":
		c.Errorf(h.Range, "Function of another context", `%s() belongs to SQL. Write the value alone: ${%s}.`, h.Func,
			h.FirstArg().Source)
		return false
	case "under":
		name := h
		if len(h.Args) > 0 {
			name = h.Args[len(h.Args)-1]
		}
		c.Errorf(h.Range, "Function of another context", `under() is for files. In a URL write path(): ${path(%s)}.`,
			name.Source)
		return false
	}
	switch h.Type.Kind {
	case template.List:
		c.Errorf(h.Range, "List in a URL",
			`%[1]s is a list. In a path write ${path(%[1]s)}, one segment an element; in a query write `+
				`query = { name = %[1]s } or ${join(",", %[1]s)}.`, h.Source)
	case template.Object:
		c.Errorf(h.Range, "No text for a URL",
			`%[1]s is an object, and a part of a URL is one string. Name the member that is meant: %[1]s.id.`, h.Source)
	case template.File:
		c.Errorf(h.Range, "No text for a URL",
			`%[1]s is a file, and a part of a URL is one string. Name what is meant, ${%[1]s.filename}, or send the `+
				`file in the request: body = %[1]s.`, h.Source)
	case template.Bytes:
		c.Errorf(h.Range, "No text for a URL",
			`%[1]s is bytes, and a part of a URL is text. Write ${base64encode(%[1]s)}.`, h.Source)
	default:
		return true
	}
	return false
}

// checkConstant applies the checks of a call to a value that is known at load. Adjacent text may
// make the value valid, so it reports only values that are invalid in any text.
func (c *checker) checkConstant(h *template.Interpolation) {
	text, known := h.Type.KnownText()
	if !known || text == "" || text == "." || text == ".." {
		return
	}
	if err := checkSegment(escape(text), h.Source); err != nil {
		c.Errorf(h.Range, "Value is not a segment",
			`%[1]s is %[2]q, and a value in a path is one segment. For several write ${path(%[1]s)}, and for one `+
				`in which the slash is sent as %%2F ${segment(%[1]s)}.`, h.Source, text)
	}
}

// inline converts leading values that are known at load to text, as long as head accepts the text
// before them.
func inline(t *template.Tree, head func(string) bool) *template.Tree {
	out := &template.Tree{Nodes: slices.Clone(t.Nodes), Choices: t.Choices, Range: t.Range}
	text := ""
	for i, n := range out.Nodes {
		switch n := n.(type) {
		case *template.Text:
			text += n.Value
		case *template.Interpolation:
			s, known := n.Type.KnownText()
			if !known || n.Func != "" || !head(text) {
				return out
			}
			out.Nodes[i] = &template.Text{Value: s, Place: func(int, int) hclv2.Range { return n.Range }}
			text += s
		default:
			return out
		}
	}
	return out
}
