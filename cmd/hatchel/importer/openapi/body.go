package openapi

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/lazyregexp"
)

func baseType(mediaType string) string {
	base, _, _ := strings.Cut(mediaType, ";")
	return strings.ToLower(strings.TrimSpace(base))
}

func isJSONType(mediaType string) bool {
	base := baseType(mediaType)
	return base == "application/json" || base == "text/json" || strings.HasSuffix(base, "+json") || base == "*/*" ||
		base == "application/*"
}

// bodyRank orders the types that a body may have: JSON, form, multipart, text, other data.
func bodyRank(mediaType string) int {
	base := baseType(mediaType)
	switch {
	case base == "application/json":
		return 0
	case base == "application/json-patch+json":
		return 3
	case base == "*/*":
		return 2
	case isJSONType(base):
		return 1
	case base == "application/x-www-form-urlencoded":
		return 4
	case base == "multipart/form-data":
		return 5
	case strings.HasPrefix(base, "text/") || strings.HasSuffix(base, "xml"):
		return 6
	case strings.HasPrefix(base, "multipart/"):
		return 8
	}
	return 7
}

// bodyOf is the body of an operation in one of its media types.
type bodyOf struct {
	mediaType string
	schema    *schema
	required  bool
	text      string
	content   node // the media type object of version 3
}

// body adds the inputs and the arguments of the body.
func (g *generator) body(op *operation, parameters []node) error {
	b, err := g.findBody(op, parameters)
	if err != nil || b == nil {
		return err
	}
	if op.method == "get" || op.method == "head" || op.method == "delete" && b.schema.kind == anyKind {
		if b.schema.kind != anyKind && b.schema.kind != mapKind { // documents declare empty ones
			g.lose(op, "body left out", "the body of "+strings.ToUpper(op.method), b.content)
		}
		return nil
	}
	g.loseKeys(b)
	rank := bodyRank(b.mediaType)
	switch {
	case rank <= 3:
		return g.jsonBody(op, b)
	case rank == 4 || rank == 5:
		return g.formBody(op, b)
	case rank == 8:
		return fmt.Errorf("a body of the type %s", b.mediaType)
	}
	g.rawBody(op, b)
	return nil
}

// visible matches the characters that a media type, which is sent as a header, may have.
var visible = lazyregexp.New(`^[ -~]*$`)

func (g *generator) findBody(op *operation, parameters []node) (*bodyOf, error) {
	if g.version2 {
		return g.findBody2(op, parameters)
	}
	n, err := g.schemas.resolve(op.node.get("requestBody"))
	if err != nil {
		return nil, err
	}
	best := ""
	for mediaType := range n.get("content").members() {
		if !visible.MatchString(mediaType) {
			return nil, fmt.Errorf("a body of the type %q", mediaType)
		}
		if best == "" || bodyRank(mediaType) < bodyRank(best) {
			best = mediaType
		}
	}
	if best == "" {
		if op.node.has("requestBody") {
			g.lose(op, "body left out", "it has no content", op.node.get("requestBody"))
		}
		return nil, nil
	}
	content := g.schemas.follow(n.at("content", best))
	return &bodyOf{best, follow(g.schemas.schema(content.get("schema"))), n.get("required").isTrue(),
		readText(n.get("description").text(), textCaps[0], g.loser(op, n)), content}, nil
}

// findBody2 finds the body of version 2: one parameter in body, or several in formData.
func (g *generator) findBody2(op *operation, parameters []node) (*bodyOf, error) {
	if len(parameters) == 0 {
		return nil, nil
	}
	consumes := op.node.get("consumes")
	if !consumes.isList() {
		consumes = g.doc.get("consumes")
	}
	best := ""
	for t := range consumes.list() {
		if best == "" || bodyRank(t.text()) < bodyRank(best) {
			best = t.text()
		}
	}
	if first := parameters[0]; strings.EqualFold(first.get("in").text(), "body") {
		if best == "" || bodyRank(best) == 4 || bodyRank(best) == 5 {
			best = "application/json"
		}
		return &bodyOf{best, follow(g.schemas.schema(first.get("schema"))), first.get("required").isTrue(),
			readText(first.get("description").text(), textCaps[0], g.loser(op, first)), first}, nil
	}
	form := &schema{kind: objectKind, at: parameters[0], done: true}
	if rank := bodyRank(best); best == "" || rank != 4 && rank != 5 {
		best = "application/x-www-form-urlencoded"
	}
	b := &bodyOf{best, form, false, "", parameters[0]}
	for _, p := range parameters {
		s := g.schemas.schema(p)
		if s.kind == fileKind {
			b.mediaType = "multipart/form-data"
		}
		required := p.get("required").isTrue()
		b.required = b.required || required
		separator := map[string]string{"ssv": " ", "tsv": "\t", "pipes": "|", "multi": ""}
		if sep, known := separator[p.get("collectionFormat").text()]; known {
			op.separators[p.get("name").text()] = sep
		} else {
			op.separators[p.get("name").text()] = ","
		}
		form.members = append(form.members, &member{p.get("name").text(), s, required})
	}
	return b, nil
}

// sent returns the members that a request has.
func sent(s *schema) (all []*member) {
	for _, m := range s.members {
		if !follow(m.schema).readOnly {
			all = append(all, m)
		}
	}
	return all
}

func (g *generator) jsonBody(op *operation, b *bodyOf) error {
	if base := baseType(b.mediaType); base != "application/json" && !strings.Contains(base, "*") {
		op.headers = append(op.headers, entry{"Content-Type", importer.Quote(b.mediaType)})
	}
	if b.required && b.schema.nullable {
		c := *b.schema // null would be no body
		c.nullable, b.schema = false, &c
	}
	if b.schema.closed {
		op.body = append(op.body, "json = {}")
		return nil
	}
	members := sent(b.schema)
	required := slices.ContainsFunc(members, func(m *member) bool { return m.required })
	flat := b.schema.kind == objectKind && len(members) > 0 && len(members) <= g.Flatten && !b.schema.nullable &&
		(b.required || !required)
	if !flat {
		in := op.addInput("body", "content", b.schema, b.required, b.text)
		in.json = true
		op.body = append(op.body, "json = input."+in.name)
		return nil
	}
	for _, l := range b.schema.losses {
		g.result.Lose(op.label(), l.Kind, l.Detail, l.Origin)
	}
	var same []string
	var renamed []entry
	for _, m := range members {
		s := follow(m.schema)
		if m.required && len(s.enum) == 1 && !s.nullable {
			renamed = append(renamed, entry{m.name, hclValues(s.enum)[0]})
			continue
		}
		in := op.addInput(m.name, "body", m.schema, m.required, "")
		in.json, in.fallback = true, op.method != "patch"
		if in.name == m.name {
			same = append(same, importer.Quote(in.name))
		} else {
			renamed = append(renamed, entry{m.name, "input." + in.name})
		}
	}
	picked := "pick(input, " + wrapped(same) + ")"
	if strings.Contains(picked, "\n") {
		picked = "pick(\ninput, " + wrapped(same) + "\n)"
	}
	switch {
	case len(renamed) == 0:
		op.body = append(op.body, "json = "+picked)
	case len(same) == 0:
		op.body = append(op.body, "json = "+entries(renamed))
	default:
		op.body = append(op.body, "json = merge("+picked+", "+entries(renamed)+")")
	}
	return nil
}

// rawBody sends text or a file as it is.
func (g *generator) rawBody(op *operation, b *bodyOf) {
	s := &schema{kind: fileKind, at: b.content, done: true}
	if bodyRank(b.mediaType) == 6 {
		s.kind = stringKind
	}
	text := b.text
	if text == "" {
		text = "The body, of the type " + baseType(b.mediaType)
	}
	in := op.addInput("body", "content", s, b.required || s.kind == stringKind, text)
	op.body = append(op.body, "body = input."+in.name)
	if !strings.Contains(b.mediaType, "*") {
		op.headers = append(op.headers, entry{"Content-Type", importer.Quote(b.mediaType)})
	}
}

// entries writes a map.
func entries(all []entry) string {
	var line []string
	length := 0
	for _, e := range all {
		line = append(line, key(e.key)+" = "+e.value)
		length += len(line[len(line)-1]) + 2
	}
	if length < 90 {
		return "{ " + strings.Join(line, ", ") + " }"
	}
	return "{\n" + strings.Join(line, "\n") + "\n}"
}
