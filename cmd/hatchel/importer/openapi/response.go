package openapi

import (
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
)

// answer is what a successful response contains.
type answer struct {
	at        node // the response
	mediaType string
	content   node
	schema    node // resolved
}

// answerOf finds the response of an operation: the first of 200, 201, other 2xx and default that has a content.
func (g *generator) answerOf(op *operation) (a answer, found bool) {
	rank := func(status string) int {
		switch {
		case status == "200":
			return 0
		case status == "201":
			return 1
		case strings.HasPrefix(status, "2"):
			return 2
		}
		return 3
	}
	best := 4
	for status, n := range op.node.get("responses").members() {
		if !strings.HasPrefix(status, "2") && status != "default" || rank(status) >= best {
			continue
		}
		n, err := g.schemas.resolve(n)
		if err != nil {
			g.lose(op, "response ignored", err.Error(), op.node)
			continue
		}
		one, ok := g.readAnswer(op, n)
		if ok && (rank(status) < 3 || !found) {
			a, found, best = one, true, rank(status)
		}
		if !ok && rank(status) < 3 && best == 4 && a.at.Node == nil {
			a.at = n
		}
	}
	return a, found
}

func (g *generator) readAnswer(op *operation, n node) (answer, bool) {
	if g.version2 {
		schema := n.get("schema")
		if schema.Node == nil {
			return answer{}, false
		}
		produces := op.node.get("produces")
		if !produces.isList() {
			produces = g.doc.get("produces")
		}
		best := ""
		for t := range produces.list() {
			if best == "" || isJSONType(t.text()) && !isJSONType(best) {
				best = t.text()
			}
		}
		if best == "" {
			best = "application/json"
		}
		return answer{n, best, n, g.schemas.follow(schema)}, true
	}
	best := ""
	for t := range n.get("content").members() {
		if best == "" || isJSONType(t) && !isJSONType(best) {
			best = t
		}
	}
	if best == "" {
		return answer{}, false
	}
	content := g.schemas.follow(n.at("content", best))
	return answer{n, best, content, g.schemas.follow(content.get("schema"))}, true
}

// response decides how the answer is read and shown.
func (g *generator) response(op *operation) {
	a, found := g.answerOf(op)
	switch base := baseType(a.mediaType); {
	case op.method == "head":
		op.body = append(op.body, `as = "text"`)
		op.after = append(op.after, `text = "Status ${output.status}."`)
	case !found && a.at.Node != nil:
		op.body = append(op.body, `as = "text"`)
		op.after = append(op.after, `text = output.body == "" ? "Done (${output.status})." : output.body`)
	case !found:
	case strings.HasPrefix(base, "image/") && base != "image/svg+xml", strings.HasPrefix(base, "audio/"):
		kind, _, _ := strings.Cut(base, "/")
		op.binary(kind, a.mediaType)
	case isJSONType(base) && a.schema.get("type").text() == "string" && a.schema.get("format").text() == "binary":
		op.binary("resource", "application/octet-stream")
	case isJSONType(base):
		g.pages(op, a)
		g.returns(op, a)
	case strings.HasPrefix(base, "text/"), strings.Contains(base, "xml"), strings.Contains(base, "yaml"),
		strings.Contains(base, "csv"), strings.Contains(base, "javascript"), base == "image/svg+xml",
		strings.HasSuffix(base, "jsonl"), strings.Contains(base, "ndjson"):
		op.body = append(op.body, `as = "text"`)
	default:
		op.binary("resource", a.mediaType)
	}
}

// binary shows bytes as content of the answer.
func (op *operation) binary(kind, mediaType string) {
	base := baseType(mediaType)
	if strings.Contains(base, "*") {
		base = map[string]string{"image": "image/png", "audio": "audio/mpeg"}[kind]
	}
	if base == "" {
		base = "application/octet-stream"
	}
	op.body = append(op.body, `as = "bytes"`)
	op.after = append(op.after, importer.BytesContent(op.name, kind, base))
}

// pages adds a paginate block where the document is sure how the answer continues.
func (g *generator) pages(op *operation, a answer) {
	if g.NoPaginate || op.method != "get" {
		return
	}
	items, object := g.itemsOf(a.schema)
	if items == "" {
		return
	}
	switch {
	case a.hasLinkHeader():
		op.paginated("", items, "link(output.headers, 'next')")
		return
	case !object:
		return
	}
	properties := g.properties(a.schema)
	if op.hasQuery("starting_after") && properties["has_more"].Node != nil {
		op.paginated("starting_after", items, "output.body.has_more ? last(output.page_items).id : null")
		return
	}
	for _, cursor := range g.cursors(a.schema) {
		if param := op.cursorParameter(cursor); param != "" {
			op.paginated(param, items, "output.body"+strings.ReplaceAll(cursor, ".", "?."))
			return
		}
	}
}

func (a answer) hasLinkHeader() bool {
	for name := range a.at.get("headers").members() {
		if strings.EqualFold(name, "link") {
			return true
		}
	}
	return false
}

func (op *operation) paginated(param, items, next string) {
	if param != "" {
		op.paginate = append(op.paginate, "param = "+importer.Quote(param))
	}
	op.paginate = append(op.paginate, "items = "+importer.Quote(items), "next = "+importer.Quote(next), "max_pages = 3")
}

func (op *operation) hasQuery(name string) bool {
	return slices.ContainsFunc(op.params, func(p *parameter) bool {
		return p.in == "query" && p.wire == name && p.constant == ""
	})
}

// properties returns the members of an object in a response, with those of its allOf.
func (g *generator) properties(n node) map[string]node {
	all := map[string]node{}
	var add func(n node, depth int)
	add = func(n node, depth int) {
		n = g.schemas.follow(n)
		if depth > 8 {
			return
		}
		for name, p := range n.get("properties").members() {
			if _, there := all[name]; !there {
				all[name] = g.schemas.follow(p)
			}
		}
		for part := range n.get("allOf").list() {
			add(part, depth+1)
		}
	}
	add(n, 0)
	return all
}

func isArray(n node) bool { return n.get("type").text() == "array" || n.has("items") }

// itemsOf returns the expression of the list in an answer, if there is one list only.
func (g *generator) itemsOf(n node) (items string, object bool) {
	if isArray(n) {
		return "output.body", false
	}
	found := ""
	for name, p := range g.properties(n) {
		if !isArray(p) {
			continue
		}
		if found != "" {
			return "", true
		}
		found = name
	}
	if !IsIdentifier(found) {
		return "", true
	}
	return "output.body." + found, true
}

// cursors returns the places of an answer that may hold the cursor of the next page: members whose name begins with
// next, and continue, at the top level and one below.
func (g *generator) cursors(n node) (all []string) {
	isCursor := func(name string) bool {
		name = strings.ToLower(strings.ReplaceAll(name, "_", ""))
		return name == "nextcursor" || name == "nextpagetoken" || name == "nexttoken" || name == "cursor" ||
			name == "continue" || name == "after" || name == "nextpagecursor" || name == "continuationtoken"
	}
	var below []string
	for name, p := range g.properties(n) {
		if !IsIdentifier(name) {
			continue
		}
		if isCursor(name) && !p.has("properties") {
			all = append(all, "."+name)
		}
		for inner, q := range g.properties(p) {
			if IsIdentifier(inner) && isCursor(inner) && !q.has("properties") {
				below = append(below, "."+name+"."+inner)
			}
		}
	}
	slices.Sort(all)
	slices.Sort(below)
	return append(all, below...)
}

// cursorParameter returns the query parameter that takes a cursor.
func (op *operation) cursorParameter(cursor string) string {
	plain := func(s string) string { return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s)) }
	name := plain(cursor[strings.LastIndexByte(cursor, '.')+1:])
	for _, p := range op.params {
		if p.in != "query" || p.constant != "" {
			continue
		}
		wire := plain(p.wire)
		if wire == name || "next"+wire == name || name == "nextcursor" && wire == "cursor" ||
			name == "nextpagetoken" && wire == "pagetoken" || wire == "after" && name == "nextcursor" {
			return p.wire
		}
	}
	return ""
}
