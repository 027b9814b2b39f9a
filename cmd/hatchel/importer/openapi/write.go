package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/printable"
)

// write makes the blocks. Tools that would not load are left out, and reported.
func (g *generator) write() error {
	for range 4 {
		g.nameTypes()
		g.result.Blocks, g.result.Notes = nil, nil
		g.connectionBlocks()
		for _, t := range g.typeNodes {
			c := *t
			if c.ownText || c.described { // a description of the place, not of the component
				c.text = ""
			}
			g.add("types.hcl", fmt.Sprintf("type %q {\n  is = %s\n}", g.named[t.typeKey()], g.bare(&c)), t.at.place())
		}
		g.toolBlocks()
		if dropped, err := g.dropMistakes(); err != nil || !dropped {
			if err != nil {
				return err
			}
			break
		}
	}
	if len(g.operations) == 0 {
		return fmt.Errorf("%s: no operation can be imported; the first reason: %s", pathBase(g.doc.doc.location),
			firstReason(g.result.Losses[g.collected:]))
	}
	for _, s := range g.connections.secrets {
		if !s.optional {
			g.result.Export(s.env)
		}
	}
	return nil
}

// noteVariable says in the report which variable has the URL of a connection, or a part of it.
func (g *generator) noteVariable(name, what, value string) {
	const text = "%s is the variable %s, by default %s: set it with --var %[2]s=… or HATCHEL_VAR_%[2]s."
	g.result.Notes = append(g.result.Notes, fmt.Sprintf(text, what, name, Redacted(value)))
}

func (g *generator) add(file, text, origin string) {
	g.result.Blocks = append(g.result.Blocks, importer.Block{File: file, Text: text, Origin: origin})
}

// toolBlocks writes the tools, one file for each tag.
func (g *generator) toolBlocks() {
	files, of := g.groups()
	for _, file := range files {
		for _, op := range of[file] {
			g.add(file, g.tool(op), op.node.place())
			op.source = g.result.Blocks[len(g.result.Blocks)-1].Text
		}
	}
}

// tool writes the block of an operation.
func (g *generator) tool(op *operation) string {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	line("# %s %s", strings.ToUpper(op.method), printable.Reveal(op.path, ""))
	line("tool %s {", importer.Quote(op.name))
	if op.title != "" {
		line("title = %s", importer.Quote(op.title))
	}
	line("description = %s", importer.Quote(op.text))
	if op.group != "" && len(op.connection.schemes) > 0 {
		g.scopes(op, line)
	}
	for _, in := range op.inputs {
		out.WriteString(g.input(op, in))
	}
	out.WriteString(g.http(op).Block())
	if op.returns != nil {
		line("returns = %s", g.typ(op.returns))
	}
	for _, a := range op.after {
		line("%s", a)
	}
	return out.String() + "}"
}

// http returns the http block of an operation.
func (g *generator) http(op *operation) importer.HTTP {
	h := importer.HTTP{Connection: op.connection.name, Method: op.method, URL: op.url}
	if query := slices.Concat(op.query, op.connection.query); len(query)+len(op.nested) > 0 {
		h.Query = withBrackets(query, op.nested)
	}
	if len(op.headers) > 0 {
		h.Headers = entries(op.headers)
	}
	if op.form != nil {
		op.joined = append(op.joined, op.form.separators()...)
	}
	if len(op.joined) > 0 {
		h.Rest = append(h.Rest, "separators = "+entries(op.joined))
	}
	if op.form != nil {
		h.Rest = append(h.Rest, op.form.argument())
	}
	h.Rest = append(h.Rest, op.body...)
	if op.paginate != nil {
		h.Rest = append(h.Rest, "paginate {\n"+strings.Join(op.paginate, "\n")+"\n}")
	}
	return h
}

// scopes writes the scopes that one operation needs as a comment.
func (g *generator) scopes(op *operation, line func(string, ...any)) {
	if all := g.connections.requirement(op).scopes; len(all) > 0 && op.node.has("security") {
		line("# scopes: %s", printable.Reveal(strings.Join(limited(all, 10), ", "), ""))
	}
}

func (g *generator) input(op *operation, in *input) string {
	fallback := ""
	switch {
	case !in.fallback || in.required:
	case in.schema.fallback.text() != "" && importer.IsCredential(in.name, in.schema.fallback.text()):
		g.lose(op, "default left out", in.name+" may be a credential", in.schema.fallback)
	default:
		if fallback = constant(in.tree, in.schema.fallback); fallback == "" && in.schema.fallback.exists() &&
			in.schema.fallback.isScalar() && in.schema.fallback.Value != "" {
			g.lose(op, "default left out", in.name+": "+in.schema.fallback.Value, in.schema.fallback)
		}
	}
	typ := g.member(in.tree, in.required, fallback)
	ownText := in.tree.text != "" && (in.tree.ownText || in.tree.described)
	name := importer.Quote(in.name)
	switch {
	case strings.Contains(typ, "type.") && (in.tree.named || in.tree.again) && ownText:
		return fmt.Sprintf("input %s {\ntype = %s\ndescription = %s\n}\n", name, typ, importer.Quote(in.tree.text))
	case strings.Contains(typ, "\n"):
		return fmt.Sprintf("input %s {\ntype = %s\n}\n", name, typ)
	}
	return importer.Input(in.name, typ)
}

// minTypeMembers is the number of members from which a component that is used twice has a type block.
const minTypeMembers = 4

// isComponent reports whether a tree can be a type block: every tool that uses its component has the same.
func (t *tree) isComponent() bool {
	return t.schema.name != "" && (t.kind == objectKind && len(t.members) >= minTypeMembers || t.isRecursive()) &&
		t.isWhole() && t.isClosed()
}

// nameTypes finds the components that get a type block: those that are used twice or contain themselves.
func (g *generator) nameTypes() {
	clear(g.named)
	g.typeNodes = nil
	uses, found := map[typeKey]int{}, map[typeKey]bool{}
	var order []*tree
	var walk func(t *tree, top bool)
	walk = func(t *tree, top bool) {
		if t.again {
			uses[t.typeKey()]++
			return
		}
		recursive := t.isRecursive()
		if t.named = t.isComponent() && (top || !t.described || recursive); t.named {
			uses[t.typeKey()]++
			if found[t.typeKey()] {
				return // what it contains was counted
			}
			found[t.typeKey()] = true
			if recursive {
				uses[t.typeKey()]++
			}
			order = append(order, t)
		}
		t.eachPart(func(part *tree) { walk(part, false) })
	}
	for _, op := range g.operations {
		for _, in := range op.inputs {
			walk(in.tree, true)
		}
		if op.returns != nil {
			walk(op.returns, true)
		}
	}
	names := importer.Names{}
	maps.Copy(names, g.otherTypes)
	for _, t := range order {
		if uses[t.typeKey()] > 1 {
			name := importer.Identifier(t.schema.name)
			if t.answer {
				name += "_result"
			}
			g.named[t.typeKey()] = names.Take(name, 60)
			g.typeNodes = append(g.typeNodes, t)
		}
	}
}

// connectionBlocks writes variables, secrets and connections.
func (g *generator) connectionBlocks() {
	const file = "connection.hcl"
	c := g.connections
	c.finish()
	c.secrets = nil
	blocks := []string{}
	for _, one := range c.all {
		blocks = append(blocks, g.connection(one)...)
	}
	for _, op := range g.operations {
		for _, p := range op.params {
			c.addSecret(p.secret)
		}
	}
	for _, s := range c.secrets {
		g.add(file, s.block(), "")
	}
	for _, b := range blocks {
		g.add(file, b, g.doc.get("servers").place())
	}
}

// connection writes a connection block after its variables.
func (g *generator) connection(one *connection) (blocks []string) {
	base, names := one.base, map[string]bool{}
	expr := ""
	first := g.connections.firstOf(one)
	for _, m := range serverVariable.FindAllStringSubmatch(base, -1) {
		name := importer.Identifier(first.name + "_" + m[1])
		v := one.server.at("variables", m[1])
		value := v.get("default").text()
		if value == "" {
			value = v.get("enum").member("0").text()
		}
		if isCredential := importer.IsCredential(m[1], value); isCredential || !hostPart.MatchString(value) {
			why := map[bool]string{true: "may be a credential", false: "is no part of a URL"}[isCredential]
			g.loseOnce(one.name, "no server", "set the variable "+name+", whose default "+why, v.place())
			value = "default"
		}
		base = strings.Replace(base, m[0], "\x00"+name+"\x00", 1)
		again := names[name]
		if names[name] = true; again || one != first {
			continue
		}
		blocks = append(blocks, fmt.Sprintf("variable %q {\ntype = %s\ndefault = %s\n}", name, variableType(v, value),
			importer.Quote(value)))
		g.noteVariable(name, "A part of the URL", value)
	}
	if len(names) == 0 {
		name := importer.Identifier(first.name + "_url")
		expr = "var." + name
		if one == first {
			blocks = append(blocks, fmt.Sprintf("variable %q {\ntype = string\ndefault = %s\n}", name,
				importer.Quote(base)))
			g.noteVariable(name, "The URL", base)
			if strings.HasPrefix(base, "http://localhost") && !isURL(g.doc.doc.location) {
				g.loseOnce(one.name, "no server", "set the variable "+name+" to the URL of the service", "")
			}
		}
	} else {
		for i, part := range strings.Split(base, "\x00") {
			if i%2 == 1 {
				if strings.HasSuffix(expr, "$") { // a sign of the URL, which would escape what follows
					expr = expr[:len(expr)-1] + `\u0024`
				}
				expr += "${var." + part + "}"
			} else if quoted := importer.Quote(part); true {
				expr += quoted[1 : len(quoted)-1]
			}
		}
		expr = `"` + expr + `"`
	}
	if one == first && one.server.Node == g.doc.get("servers").member("0").Node {
		blocks[0] = g.otherServers() + blocks[0]
	}
	return append(blocks, g.connectionBlock(one, expr))
}

// loseOnce reports a loss of blocks that are written again when a tool is dropped.
func (g *generator) loseOnce(name, kind, detail, origin string) {
	if !slices.Contains(g.result.Losses, importer.Loss{Name: name, Kind: kind, Detail: detail, Origin: origin}) {
		g.result.Lose(name, kind, detail, origin)
	}
}

// hostPart matches the value of a server variable that can stand anywhere in a URL.
var hostPart = lazyregexp.New(`^[A-Za-z0-9]([-A-Za-z0-9._~:/]*[A-Za-z0-9/])?$`)

func (g *generator) connectionBlock(one *connection, base string) string {
	out := g.connections.credentialsOf(one)
	if len(out.headers) > 0 && out.auth == "" && len(out.query) == 0 {
		out.auth, out.headers = "header = "+entries(out.headers), nil
	}
	if token, ok := strings.CutPrefix(out.auth, "bearer = "); ok && len(out.query) > 0 {
		out.headers = append(out.headers, entry{"Authorization", `"Bearer ${` + token + `}"`})
		out.auth = ""
	}
	one.query = nil
	if len(out.query) > 0 && out.auth == "" {
		out.auth = "query = " + entries(out.query)
	} else {
		one.query = out.query // a connection has one way to authenticate, so its tools send these
	}
	var text strings.Builder
	for _, comment := range out.comments {
		text.WriteString(importer.Comment(comment))
	}
	if len(one.schemes) == 0 {
		text.WriteString("# The document declares no authentication for these operations.\n")
	}
	fmt.Fprintf(&text, "connection \"http\" %q {\nbase_url = %s\n", one.name, base)
	if len(out.headers) > 0 {
		text.WriteString("headers = " + entries(out.headers) + "\n")
	}
	switch {
	case strings.Contains(out.auth, "\n"):
		text.WriteString("auth {\n" + out.auth + "\n}\n")
	case out.auth != "":
		text.WriteString("auth { " + out.auth + " }\n")
	}
	return text.String() + "}"
}

// variableType returns the type of a variable of a server.
func variableType(v node, value string) string {
	var values []string
	for e := range v.get("enum").list() {
		if q := importer.Quote(e.text()); e.text() != "" && !slices.Contains(values, q) {
			values = append(values, q)
		}
	}
	if !slices.Contains(values, importer.Quote(value)) || len(values) > maxEnum {
		return "string"
	}
	return importer.Enum(values)
}
