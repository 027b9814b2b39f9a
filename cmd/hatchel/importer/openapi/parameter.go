package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/printable"
)

// input is one input of a tool.
type input struct {
	name     string
	schema   *schema
	required bool
	text     string // the description, if not that of the schema
	tree     *tree
	json     bool // it travels as JSON
	fallback bool // the default of the schema is one of the input
	param    *parameter
}

// parameter is a parameter of path, query or header.
type parameter struct {
	wire, in string
	style    string
	explode  bool
	asJSON   bool
	at       node
	schema   *schema
	input    *input
	constant string  // instead of an input
	secret   *secret // that the constant is
}

// ignoredHeaders are sent by the http block itself.
var ignoredHeaders = []string{"accept", "content-type", "authorization", "content-length", "host", "user-agent",
	"accept-encoding", "connection", "traceparent"}

// parameters reads the parameters of an operation and returns those of version 2 that are a body.
func (g *generator) parameters(op *operation) (bodies []node, err error) {
	var all []node
	position := map[[2]string]int{}
	for _, list := range []node{op.item.get("parameters"), op.node.get("parameters")} {
		if list.isMap() {
			return nil, fmt.Errorf("its parameters in line %d are no list", list.line())
		}
		for n := range list.list() {
			p, err := g.schemas.resolve(n)
			if err != nil {
				return nil, err
			}
			id := [2]string{p.get("in").text(), p.get("name").text()}
			if id[0] == "header" {
				id[1] = strings.ToLower(id[1])
			}
			if i, again := position[id]; again {
				all[i] = p
				continue
			}
			position[id] = len(all)
			all = append(all, p)
		}
	}
	for _, n := range all {
		switch in := strings.ToLower(n.get("in").text()); in {
		case "body", "formdata":
			bodies = append(bodies, n)
		case "path", "query", "header", "cookie":
			if err := g.parameter(op, n, in); err != nil {
				return nil, err
			}
		default:
			if n.get("required").isTrue() {
				return nil, fmt.Errorf("the required parameter %q is in %q", n.get("name").text(), in)
			}
			why := fmt.Sprintf("%s is in %s", n.get("name").text(), in)
			if in == "" {
				why = "it does not say where it is sent"
			}
			g.lose(op, "parameter left out", why, n)
		}
	}
	for _, m := range pathParameter.FindAllStringSubmatch(op.path, -1) {
		name := strings.Trim(m[1], "+*;.")
		if op.pathParameter(name) == nil {
			g.lose(op, "undeclared parameter of a path", name, op.node)
			p := &parameter{wire: name, in: "path", style: "simple", schema: &schema{kind: stringKind, done: true}}
			p.input = op.addInput(name, "path", p.schema, true, "")
			p.input.param = p
			op.addParameter(p)
		}
	}
	return bodies, nil
}

func (g *generator) parameter(op *operation, n node, in string) error {
	p := &parameter{wire: n.get("name").text(), in: in, at: n, style: n.get("style").text()}
	if p.wire == "" {
		return fmt.Errorf("a parameter in line %d has no name", n.line())
	}
	if sent, err := g.credential(op, p, n); sent || err != nil {
		return err
	}
	if in == "header" && slices.Contains(ignoredHeaders, strings.ToLower(p.wire)) {
		if p.constant = g.requiredAccept(p.wire, n); p.constant != "" {
			op.addParameter(p)
		}
		return nil
	}
	if in == "cookie" {
		why := p.wire + " is in cookie"
		if n.get("required").isTrue() {
			why += ", and the service requires it: write a Cookie header"
		}
		g.lose(op, "parameter left out", why, n)
		return nil
	}
	if in == "header" && !headerName.MatchString(p.wire) {
		g.lose(op, "parameter left out", fmt.Sprintf("%q is no name of a header", p.wire), n)
		return nil
	}
	p.schema = g.schemas.schema(n.get("schema"))
	if g.version2 {
		p.schema = g.schemas.schema(n)
	}
	for mediaType, content := range n.get("content").members() {
		p.schema = g.schemas.schema(content.get("schema"))
		p.asJSON = isJSONType(mediaType)
		break
	}
	p.schema = follow(p.schema)
	p.readStyle(n)
	required := n.get("required").isTrue() || in == "path"
	s := p.schema
	if required && (s.kind == listKind || s.kind == setKind) && less(cmp.Or(s.bounds.minItems, "0"), "1") {
		c := *s // without an element nothing would be sent
		c.bounds.minItems = "1"
		p.schema = &c
	}
	if n.get("deprecated").isTrue() && !required && !g.Deprecated {
		g.lose(op, "parameter left out", p.wire+" is deprecated", n)
		return nil
	}
	if in == "query" && printable.HasHidden(p.wire) {
		if !required {
			g.lose(op, "parameter with hidden characters left out", printable.Reveal(p.wire, ""), n)
			return nil
		}
		g.lose(op, "name with hidden characters",
			printable.Reveal(p.wire, "")+" is required, so it is sent with them", n)
	}
	p.simplify(g, op)
	if in != "query" && !p.asJSON {
		p.refuseSeparators()
	}
	if in == "query" && n.get("allowReserved").isTrue() && (p.schema.kind == stringKind || !p.schema.isScalar()) {
		g.lose(op, "reserved characters are percent-encoded", p.wire+" has allowReserved", n)
	}
	if required && len(p.schema.enum) == 1 && p.schema.kind != boolKind && in != "path" {
		p.constant = hclValues(p.schema.enum)[0]
		op.addParameter(p)
		return nil
	}
	if p.schema.kind == objectKind || p.schema.kind == mapKind {
		if why := p.unsupported(); why != "" {
			if required {
				return fmt.Errorf("the parameter %s cannot be sent: %s", p.wire, why)
			}
			g.lose(op, "parameter left out", p.wire+": "+why, n)
			return nil
		}
	}
	text := readText(n.get("description").text(), textCaps[0], g.loser(op, n))
	p.input = op.addInput(p.wire, in, p.schema, required, text)
	p.input.param, p.input.fallback, p.input.json = p, in == "query", p.asJSON
	op.addParameter(p)
	return nil
}

// requiredAccept returns the value of a header Accept that an operation requires, in HCL, or "".
func (g *generator) requiredAccept(name string, n node) string {
	s := g.schemas.follow(n.get("schema"))
	if g.version2 {
		s = n
	}
	value := s.get("default").text()
	if value == "" {
		value = s.get("enum").member("0").text()
	}
	if !strings.EqualFold(name, "Accept") || !n.get("required").isTrue() || value == "" || printable.HasHidden(value) {
		return ""
	}
	return importer.Quote(value)
}

var headerName = lazyregexp.New("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// addParameter keeps a parameter for the URL, the query or the headers.
func (op *operation) addParameter(p *parameter) { op.params = append(op.params, p) }

// readStyle sets how lists and objects are written.
func (p *parameter) readStyle(n node) {
	switch n.get("collectionFormat").text() {
	case "multi":
		p.style, p.explode = "form", true
	case "ssv":
		p.style = "spaceDelimited"
	case "pipes":
		p.style = "pipeDelimited"
	case "tsv":
		p.style = "tabDelimited"
	case "csv":
		p.style = "form"
	}
	if p.style == "" {
		p.style = map[string]string{"query": "form", "path": "simple", "header": "simple"}[p.in]
		// version 2 has no styles: a list is written with commas
		p.explode = p.in == "query" && !n.has("type")
	}
	if explode := n.get("explode"); explode.exists() {
		p.explode = explode.isTrue()
	} else if n.has("style") && p.style == "form" {
		p.explode = true
	}
}

// simplify replaces what cannot stand in a URL by text.
func (p *parameter) simplify(g *generator, op *operation) {
	if p.asJSON {
		return
	}
	s := p.schema
	if s.kind == anyKind && p.style == "deepObject" {
		for _, sub := range s.alternatives {
			if follow(sub).kind == objectKind {
				p.schema = follow(sub)
				return
			}
		}
	}
	if s.kind == anyKind || s.kind == fileKind {
		c := *s
		c.kind, c.alternatives, c.plain = stringKind, nil, nil
		isList := func(a *schema) bool { return follow(a).kind == listKind }
		if list := slices.IndexFunc(s.alternatives, isList); list >= 0 {
			c = *follow(s.alternatives[list])
		} else if len(s.alternatives) > 1 {
			c.describeAsText(s)
		}
		p.schema = &c
		s = &c
	}
	if s.kind == listKind || s.kind == setKind {
		if elem := follow(s.elem); !elem.isScalar() {
			c := *s
			c.elem = &schema{kind: stringKind, at: elem.at, done: true}
			p.schema = &c
			if elem.kind != anyKind {
				g.lose(op, "elements of a parameter became text", p.wire, p.at)
			}
		}
	}
}

// refuseSeparators gives the texts of a list a pattern without the separator, which would make two elements of one: a
// path or a header cannot escape it.
func (p *parameter) refuseSeparators() {
	s := p.schema
	if s.kind != listKind && s.kind != setKind {
		return
	}
	elem := *follow(s.elem)
	if elem.kind != stringKind || elem.enum != nil || elem.pattern != "" || elem.format != "" {
		return
	}
	elem.pattern, elem.plain = "^[^"+p.separator()[:1]+"]*$", nil
	list := *s
	list.elem = &elem
	p.schema = &list
}

// describeAsText says in a text which alternatives of a schema it may be. A text that has no bounds needs no words.
func (s *schema) describeAsText(union *schema) {
	var values []string
	for _, sub := range union.alternatives {
		sub = follow(sub)
		switch {
		case sub.kind == stringKind && sub.enum == nil:
			return
		case sub.enum == nil:
			s.text = strings.TrimSpace(ended(s.text) + " " + describeAlternatives(union))
			return
		}
		for _, v := range sub.enum {
			values = append(values, quoteJSON(unquoteJSON(v)))
		}
	}
	s.enum = values
	s.limitEnum()
}

// unsupported says why an object cannot be sent, or "".
func (p *parameter) unsupported() string {
	switch {
	case p.asJSON, p.in == "query" && p.style == "deepObject" && !strings.ContainsAny(p.wire, "[]"):
		return ""
	case p.in != "query":
		return "an object in " + p.in
	case p.schema.kind == mapKind:
		return "an object without declared members"
	case p.style == "form" && !p.explode:
		return "an object that is written as a list"
	}
	for _, m := range p.schema.members {
		if k := follow(m.schema).kind; k == objectKind || k == mapKind {
			return "an object within an object"
		}
	}
	return ""
}

// addInput adds an input. Its name is that of the document if it can be one.
func (op *operation) addInput(wire, in string, s *schema, required bool, text string) *input {
	name := wire
	if !IsIdentifier(wire) {
		name = inputName(wire)
	}
	taken := func(name string) bool { return op.names[strings.ToLower(name)] }
	if taken(name) {
		name += "_" + in
	}
	for i, base := 2, name; taken(name); i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	op.names[strings.ToLower(name)] = true
	i := &input{name: name, schema: s, required: required, text: text}
	op.inputs = append(op.inputs, i)
	return i
}

var comparisons = strings.NewReplacer("<=", "_until", ">=", "_from", "!=", "_not", "<", "_before", ">", "_after",
	"$", "", "@", "")

func inputName(wire string) string {
	name := importer.Identifier(comparisons.Replace(strings.TrimSuffix(wire, "[]")))
	if len(name) > 60 {
		name = strings.TrimRight(name[:60], "_")
	}
	return name
}

// value returns the expression that a parameter sends, in which null leaves it out.
func (p *parameter) value() string {
	if p.constant != "" {
		return p.constant
	}
	ref := "input." + p.input.name
	t := p.input.tree
	guard := func(expr string) string {
		if p.input.required && !t.nullable || p.in == "path" {
			return expr
		}
		return ref + " == null ? null : " + expr
	}
	switch {
	case p.asJSON:
		return guard("jsonencode(" + ref + ")")
	case t.kind == listKind || t.kind == setKind:
		if p.in == "query" {
			return ref
		}
		return joined(p.input, p.in == "path", p.separator())
	}
	return ref
}

// joined writes a list as one text, in which an empty one is absent.
func joined(in *input, required bool, separator string) string {
	ref := "input." + in.name
	expr := "join(" + importer.Quote(separator) + ", " + ref + ")"
	switch {
	case required || in.required && !in.tree.nullable && in.tree.bounds.minItems != "":
		return expr
	case in.required && !in.tree.nullable:
		return "length(" + ref + ") == 0 ? null : " + expr
	}
	return ref + " == null || length(" + ref + ") == 0 ? null : " + expr
}

func (p *parameter) separator() string {
	switch p.style {
	case "spaceDelimited":
		return " "
	case "pipeDelimited":
		return "|"
	case "tabDelimited":
		return "\t"
	case "label":
		if p.explode {
			return "."
		}
	case "matrix":
		if p.explode {
			return ";" + p.wire + "="
		}
	}
	return ","
}
