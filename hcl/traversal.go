package hcl

import (
	"fmt"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// traversal compiles root.member.step…
func (c *compiler) traversal(t hclv2.Traversal, in env) node {
	name := t.RootName()
	if v := in.vars.find(name); v != nil {
		return c.steps(c.variable(v, in), t[1:], in)
	}
	r, why := c.scope.find(name)
	if name == "caller" && c.uses != nil {
		c.uses.caller = true
	}
	if r == nil {
		c.unknownRoot(t, why)
		return broken()
	}
	if len(t) == 1 {
		return c.wholeRoot(r, name, t.SourceRange())
	}
	if r.members == nil {
		n := node{typ: r.typ, eval: r.whole, path: name, caller: name == "caller"}
		c.reads.call, c.reads.caller = true, c.reads.caller || n.caller
		return c.steps(n, t[1:], in)
	}
	key, ok := stepName(t[1])
	if !ok {
		c.errorf(t[1].SourceRange(), "Name needed", "After %s comes the name of %s.", name, article(r.noun))
		return broken()
	}
	m, ok := r.members[key]
	if !ok {
		c.unknownMember(r, key, nameRange(t[1]))
		return broken()
	}
	c.use(m)
	return c.steps(c.member(m, name+"."+key, t[:2].SourceRange(), in), t[2:], in)
}

// use notes that a member is read.
func (c *compiler) use(m *member) {
	if c.uses != nil && m.caller {
		c.uses.caller = true
	}
	if c.uses != nil && !m.own {
		c.uses.members = append(c.uses.members, m) // noted when all tools are decoded, which may happen side by side
		return
	}
	m.used = true
}

func (c *compiler) unknownMember(r *root, key string, at hclv2.Range) {
	c.reads.call = true
	names := sortedNames(r.members)
	switch why, later := r.later[key]; {
	case later:
		c.errorf(at, "Value not available here", "%s", why)
	case r.partial: // it may be declared in a file that could not be read
	case len(names) == 0:
		c.errorf(at, "Unknown "+r.noun, "There is no %s %q, and no other is declared.", r.noun, key)
	default:
		c.errorf(at, "Unknown "+r.noun, "There is no %s %q.%s", r.noun, key, suggestOr(key, names, thereAre(names)))
	}
}

func (c *compiler) member(m *member, path string, r hclv2.Range, in env) node {
	if m.sensitive && c.scope.secrets == secretsRefused {
		c.errorf(r, "Secret would be visible", "%s is secret, and what stands here can be seen by the caller, a log or another process. Secrets may stand in auth blocks, headers, query, env and connection settings.", path)
	}
	n := node{typ: m.typ, null: m.nullable, known: m.known, value: m.value, sensitive: m.sensitive, path: path, eval: m.eval, caller: m.caller}
	c.reads = c.reads.and(reads{call: !m.known, sensitive: m.sensitive, caller: n.caller})
	if m.known {
		v := m.value
		n.eval = func(*Frame) (any, error) { return v, nil }
	}
	if in.facts.notNull(path) {
		n.null = ""
	}
	return n
}

func (c *compiler) wholeRoot(r *root, name string, at hclv2.Range) node {
	if r.whole == nil {
		c.errorf(at, "Name needed", "%s is a set of names, not a value. Write %s.<name>.%s", name, name, thereAre(sortedNames(r.members)))
		return broken()
	}
	sensitive, known := false, r.members != nil
	for _, m := range r.members {
		c.use(m)
		sensitive = sensitive || m.sensitive
		known = known && m.known
	}
	if sensitive && c.scope.secrets == secretsRefused {
		c.errorf(at, "Secret would be visible", "%s holds secrets, and what stands here can be seen by the caller, a log or another process.", name)
	}
	n := node{typ: r.typ, eval: r.whole, path: name, sensitive: sensitive, caller: name == "caller"}
	c.reads = c.reads.and(reads{call: !known, sensitive: sensitive, caller: n.caller})
	if known {
		n.known = true
		return c.fold(n, at)
	}
	return n
}

// opens reports whether a name is the first of a value inside a text.
func (c *compiler) opens(r hclv2.Range) bool {
	at := r.Start.Byte
	return at >= 2 && at <= len(c.src) && string(c.src[at-2:at]) == "${"
}

func (c *compiler) unknownRoot(t hclv2.Traversal, why string) {
	name, r := t.RootName(), t[0].SourceRange()
	if why != "" {
		c.errorf(t.SourceRange(), "Value not available here", "%s", why)
		return
	}
	names := c.scope.readable()
	detail := fmt.Sprintf("There is no %q here.%s", name, didYouMean(name, names))
	member := name
	if len(t) > 1 && didYouMean(name, names) == "" { // argument.x is input.x
		member, _ = stepName(t[1])
	}
	for _, root := range names {
		if r, _ := c.scope.find(root); r.members[member] != nil {
			detail = fmt.Sprintf("There is no %q here. Write %s.%s.", name, root, member)
		}
	}
	switch {
	case name == "path" && len(t) > 1:
		detail += ` A file is named from the folder of the configuration, as in file("x.txt").`
	case len(t) == 1 && c.opens(r):
		detail += " Where ${ is meant for a shell, write $${."
	case len(t) == 1:
		detail += " A text stands in quotes."
	}
	c.errorf(r, "Unknown name", "%s%s", detail, list(" Readable here: ", names))
}

// steps compiles what follows a value: .name, [index].
func (c *compiler) steps(n node, steps hclv2.Traversal, in env) node {
	for _, s := range steps {
		switch s := s.(type) {
		case hclv2.TraverseAttr:
			n = c.attribute(n, s.Name, nameRange(s), in)
		case hclv2.TraverseIndex:
			key := native(s.Key)
			if name, ok := key.(string); ok {
				n = c.attribute(n, name, s.SrcRange, in)
				continue
			}
			n = c.element(n, constant(key), s.SrcRange, in)
		}
	}
	return n
}

// attribute compiles n.name.
func (c *compiler) attribute(n node, name string, r hclv2.Range, in env) node {
	c.guarded(n, r)
	out := node{sensitive: n.sensitive, caller: n.caller, typ: anyType, known: n.known}
	if n.path != "" {
		out.path = n.path + "." + name
	} else if n.called != "" {
		out.called = n.called + "." + name
	}
	optional := false
	switch n.typ.Kind {
	case schema.Object:
		m, ok := n.typ.Lookup(name)
		if !ok {
			c.errorf(r, "Unknown member", "%s has no member %q.%s", opening(n), name, suggestOr(name, memberNames(n.typ), itHas(memberNames(n.typ))+deeper(n, name)))
			return broken()
		}
		out.typ = m.Type
		if m.Type.Nullable || m.Optional && !m.HasDefault {
			optional = true
			out.null = fmt.Sprintf("%s is optional, so it may be null here", subject(out))
			if m.Type.Nullable {
				out.null = fmt.Sprintf("%s may be null", subject(out))
			}
		}
	case schema.File:
		m, ok := schema.FileMembers().Lookup(name)
		if !ok {
			c.errorf(r, "Unknown member", "%s is a file and has no member %q.%s", opening(n), name, suggestOr(name, memberNames(schema.FileMembers()), itHas(memberNames(schema.FileMembers()))))
			return broken()
		}
		if out.typ = m.Type; name == "url" && !c.fileURLs {
			c.errorf(r, "Address not known", "%s is an address of this server, and nobody says how others reach it. Write files { base_url = \"https://…\" } at the top of a file.", subject(out))
		}
	case schema.Map:
		if n.path == "caller.headers" {
			c.header(name, at(r))
		}
		out.typ = n.typ.Elem
		out.null = nullableReason(subject(out), n.typ.Elem)
	case schema.Any:
	case schema.List, schema.Set:
		c.errorf(r, "Unknown member", "%s is a list and has no members. Write [*].%s for the one of every element, [0].%s for that of the first.", opening(n), name, name)
		return broken()
	default:
		c.errorf(r, "Unknown member", "%s is %s and has no members.", opening(n), describe(n.typ))
		return broken()
	}
	if in.facts.notNull(out.path) {
		out.null = ""
	}
	inner, what := n.eval, subject(n)
	out.eval = func(f *Frame) (any, error) {
		v, err := inner(f)
		if err != nil {
			return nil, err
		}
		return lookup(f, v, name, what, optional)
	}
	if out.known {
		return c.fold(out, r)
	}
	return out
}

// deeper says where a member is that is not here but in one of the members.
func deeper(n node, name string) string {
	within := ""
	for _, m := range n.typ.Members {
		if _, ok := m.Type.Lookup(name); !ok {
			continue
		}
		if within != "" {
			return ""
		}
		within = m.Name
	}
	if within == "" || n.path == "" {
		return ""
	}
	return " Write " + n.path + "." + within + "." + name + "."
}

// guarded reports reading inside a value that may be null.
func (c *compiler) guarded(n node, r hclv2.Range) {
	if n.null == "" || c.nulls == nullPrints {
		return
	}
	hint := "guard it with a condition"
	if n.path != "" {
		hint = fmt.Sprintf("guard it: `%s != null ? … : …`, or `%%{if %s != null}` in a template", n.path, n.path)
	}
	c.errorf(r, "Value may be null", "%s, and null has no members; %s.", reason(n), hint)
}

// lookup reads a member of a value of a call.
func lookup(f *Frame, v any, name, what string, optional bool) (any, error) {
	if file, ok := v.(value.File); ok {
		return file.Member(name)
	}
	v, err := value.Resolve(v)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case map[string]any:
		x, ok := v[name]
		if !ok && !optional && !f.lenient {
			return nil, fmt.Errorf("%s has no member %q", what, name)
		}
		return x, nil
	case nil:
		if f.lenient {
			return nil, nil
		}
		return nil, fmt.Errorf("%s is null and has no member %q", what, name)
	}
	return nil, fmt.Errorf("%s is a %s and has no member %q", what, value.Kind(v), name)
}

func stepName(s hclv2.Traverser) (string, bool) {
	switch s := s.(type) {
	case hclv2.TraverseAttr:
		return s.Name, true
	case hclv2.TraverseIndex:
		name, ok := native(s.Key).(string)
		return name, ok
	}
	return "", false
}

// nameRange is the name of a step without its dot.
func nameRange(s hclv2.Traverser) hclv2.Range {
	r := s.SourceRange()
	if a, ok := s.(hclv2.TraverseAttr); ok && r.End.Byte-r.Start.Byte > len(a.Name) {
		r.Start.Byte++
		r.Start.Column++
	}
	return r
}
