package openapi

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/lazyregexp"
)

var pathParameter = lazyregexp.New(`\{([^{}/]+)\}`)

// buildURL writes the path, the query and the headers.
func (g *generator) buildURL(op *operation) error {
	raw, fragment, _ := strings.Cut(op.path, "#")
	if fragment != "" {
		g.lose(op, "fragment of a path left out", fragment, op.node)
	}
	raw, query, _ := strings.Cut(raw, "?")
	var out strings.Builder
	used := map[*parameter]bool{}
	at := 0
	for _, m := range pathParameter.FindAllStringSubmatchIndex(raw, -1) {
		out.WriteString(pathText(raw[at:m[0]]))
		at = m[1]
		p := op.pathParameter(strings.Trim(raw[m[2]:m[3]], "+*;."))
		if p == nil {
			return fmt.Errorf("the path has a parameter %s that is declared nowhere", raw[m[0]:m[1]])
		}
		used[p] = true
		out.WriteString(p.pathValue(strings.ContainsAny(raw[m[0]:m[1]], "+*") || p.at.get("allowReserved").isTrue()))
	}
	out.WriteString(pathText(raw[at:]))
	op.url = out.String()
	if !strings.HasPrefix(op.url, "/") {
		op.url = "/" + op.url
	}
	if values, err := url.ParseQuery(query); err == nil && query != "" {
		for pair := range strings.SplitSeq(query, "&") {
			name, _, _ := strings.Cut(pair, "=")
			name, _ = url.QueryUnescape(name)
			if v := values.Get(name); !strings.Contains(v, "{") && name != "" {
				op.query = append(op.query, entry{name, importer.Quote(v)})
			}
		}
	}
	for _, p := range op.params {
		switch {
		case p.in == "header":
			op.headers = append(op.headers, entry{p.wire, p.value()})
		case p.in == "query":
			p.addQuery(op)
		case !used[p]:
			op.inputs = slices.DeleteFunc(op.inputs, func(i *input) bool { return i == p.input })
			g.lose(op, "parameter left out", p.wire+" is not in the path", p.at)
		}
	}
	return nil
}

// hasCredential reports whether a path, which may have a query, contains a credential.
func hasCredential(path string) bool {
	_, query, _ := strings.Cut(path, "?")
	values, _ := url.ParseQuery(query)
	for name := range values {
		if v := values.Get(name); v != "" && !strings.Contains(v, "{") && importer.IsCredential(name, v) {
			return true
		}
	}
	return importer.ContainsCredential(path)
}

// addQuery adds the entries of a query parameter: one, or one for each member of an object.
func (p *parameter) addQuery(op *operation) {
	switch {
	case p.constant != "" || p.asJSON || p.input.tree.kind != objectKind && p.style != "deepObject":
		op.query = append(op.query, entry{p.wire, p.value()})
		if p.constant == "" && !p.asJSON && !p.explode && p.input.tree.hasScalarElements() {
			op.joined = append(op.joined, entry{p.wire, importer.Quote(p.separator())})
		}
		return
	case p.style == "deepObject":
		if strings.ContainsAny(p.wire, "[]") {
			op.query = append(op.query, entry{p.wire, p.value()})
			return
		}
		op.nested = append(op.nested, entry{p.wire, "input." + p.input.name})
		return
	}
	for _, m := range p.input.tree.members {
		ref := "input." + p.input.name + index(m.name)
		if !p.input.required || !m.required {
			ref = "try(" + ref + ", null)"
		}
		op.query = append(op.query, entry{m.name, ref})
	}
}

// index writes the access to a member.
func index(name string) string {
	if IsIdentifier(name) {
		return "." + name
	}
	return "[" + importer.Quote(name) + "]"
}

func (op *operation) pathParameter(name string) *parameter {
	for _, p := range op.params {
		if p.in == "path" && p.wire == name {
			return p
		}
	}
	return nil
}

// pathValue writes a parameter in a path.
func (p *parameter) pathValue(severalSegments bool) string {
	expr := p.value()
	if severalSegments {
		expr = "path(" + expr + ")"
	}
	prefix := ""
	switch p.style {
	case "label":
		prefix = "."
	case "matrix":
		prefix = ";" + p.wire + "="
	}
	return prefix + "${" + expr + "}"
}

// pathText escapes the constant part of a path.
func pathText(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		escaped := c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2])
		plain := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' ||
			strings.IndexByte("/-._~!&'()*+,;=:@", c) >= 0
		if escaped || plain {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }
