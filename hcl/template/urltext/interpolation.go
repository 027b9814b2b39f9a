package urltext

import (
	"hatchel/hcl/template"
)

// readInterpolation advances the states over one interpolation.
func (c *checker) readInterpolation(h *template.Interpolation, s state) state {
	switch s.phase {
	case start:
		return c.startInterpolation(h)
	case authority:
		c.errorf(h.Range, "Host depends on a call",
			`A value cannot be a part of a URL's scheme, host or port, and %s is one here. Write the host `+
				`as text, one tool for each, or take the whole URL as a value, "${%s}", and list the hosts `+
				`it may have: hosts = ["api.example.com"].`, h.Source, h.Source)
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
		c.errorf(h.Range, "Path must begin with /",
			`A value at the beginning could change the host of the connection. Begin with "/": "/${%s}".`, h.Source)
		return state{phase: path, value: h, dots: "x"}
	}
	c.errorf(h.Range, "Host depends on a call",
		`A value cannot be a part of a URL's scheme, host or port, and %s is one here. Write the host as `+
			`text, or take the whole URL as a value, "${%s}", and list the hosts it may have: hosts = `+
			`["api.example.com"].`, h.Source, h.Source)
	return state{phase: path, value: h, dots: "x"}
}

func (c *checker) pathInterpolation(h *template.Interpolation, s state) state {
	if s.fromPathFunc {
		c.errorf(h.Range, "Text after path()",
			`path() gives whole segments, so only a / may follow it. Write a / before ${%s}.`, h.Source)
		return s
	}
	if h.Func == "path" {
		return c.pathFunc(h, s)
	}
	if !c.checkScalar(h) {
		s.dots = "x"
		return s
	}
	if c.isNullable(h) {
		c.errorf(h.Range, "Null in a path",
			`%s may be null, and a path has no way to express that. Write the path for it: %%{if %s != `+
				`null}/${%s}%%{endif}, or give the input a default.`, h.Source, h.Source, h.Source)
	}
	c.checkConstant(h)
	s.value = h
	return s
}

// pathFunc reads an interpolation path(...).
func (c *checker) pathFunc(h *template.Interpolation, s state) state {
	arg := h
	if len(h.Args) > 0 {
		arg = h.Args[0]
	}
	if s.dots != "" || s.value != nil || s.hasEscapedSlash {
		c.errorf(h.Range, "Text before path()",
			`path() gives whole segments, so it must follow a /. Write a / before it, or one ${...} for one segment.`)
	}
	if c.isNullable(arg) {
		c.errorf(h.Range, "Null in a path",
			`%s may be null, and a path has no way to express that. Write the path for it: %%{if %s != `+
				`null}/${%s}%%{endif}.`, arg.Source, arg.Source, h.Source)
	}
	switch arg.Type.Kind {
	case template.Object, template.Bytes, template.File:
		c.errorf(h.Range, "No text for a URL", `path() takes a list of names or a string with /, and %s is neither.`,
			arg.Source)
	}
	return state{phase: path, first: s.first, fromPathFunc: true}
}

func (c *checker) queryInterpolation(h *template.Interpolation, s state) {
	if h.Func == "path" {
		c.errorf(h.Range, "Function of another context",
			`path() is for paths. In a query write the value alone: ${%s}.`, argument(h))
		return
	}
	if !c.checkScalar(h) {
		return
	}
	if s.inName && h.Type.Kind != template.Enum && !h.Type.Known {
		c.errorf(h.Range, "Value as a parameter's name",
			`%s would choose which parameter is sent. Write the name as text, "?name=${%s}", or make the `+
				`input an enum.`, h.Source, h.Source)
	}
	if c.isNullable(h) {
		c.errorf(h.Range, "Null in a query", `%s may be null. Write query = { name = %s }, which leaves it out then.`,
			h.Source, h.Source)
	}
}

// isNullable reports whether an interpolation can be null as far as is known. A value of unknown
// type is checked during the call.
func (c *checker) isNullable(h *template.Interpolation) bool {
	return h.Type.Nullable && h.Type.Kind != template.Any
}

// checkScalar reports a value that is not a scalar.
func (c *checker) checkScalar(h *template.Interpolation) bool {
	switch h.Func {
	case "ident", "raw":
		c.errorf(h.Range, "Function of another context", `%s() belongs to SQL. Write the value alone: ${%s}.`, h.Func,
			argument(h))
		return false
	case "under":
		c.errorf(h.Range, "Function of another context", `under() is for files. In a URL write path(): ${path(%s)}.`,
			lastArgument(h))
		return false
	}
	switch h.Type.Kind {
	case template.List:
		c.errorf(h.Range, "List in a URL",
			`%s is a list. In a path write ${path(%s)}, one segment an element; in a query write query = { `+
				`name = %s } or ${join(",", %s)}.`, h.Source, h.Source, h.Source, h.Source)
	case template.Object:
		c.errorf(h.Range, "No text for a URL",
			`%s is an object, and a part of a URL is one string. Name the member that is meant: %s.id.`, h.Source,
			h.Source)
	case template.File:
		c.errorf(h.Range, "No text for a URL",
			`%s is a file, and a part of a URL is one string. Name what is meant, ${%s.filename}, or send the `+
				`file in the request: body = %s.`, h.Source, h.Source, h.Source)
	case template.Bytes:
		c.errorf(h.Range, "No text for a URL", `%s is bytes, and a part of a URL is text. Write ${base64encode(%s)}.`,
			h.Source, h.Source)
	default:
		return true
	}
	return false
}

// checkConstant applies the checks of a call to a value that is known at load. Adjacent text may
// make the value valid, so it reports only values that are invalid in any text.
func (c *checker) checkConstant(h *template.Interpolation) {
	text, ok := h.Type.Constant.(string)
	if !h.Type.Known || !ok || text == "" || text == "." || text == ".." {
		return
	}
	if err := checkSegment(escape(text), h.Source); err != nil {
		c.errorf(h.Range, "Value is not a segment",
			`%s is %q, and a value in a path is one segment. For several write ${path(%s)}.`, h.Source, text, h.Source)
	}
}

func argument(h *template.Interpolation) string {
	if len(h.Args) == 0 {
		return h.Source
	}
	return h.Args[0].Source
}

func lastArgument(h *template.Interpolation) string {
	if len(h.Args) == 0 {
		return h.Source
	}
	return h.Args[len(h.Args)-1].Source
}
