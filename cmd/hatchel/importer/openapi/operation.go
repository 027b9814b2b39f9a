package openapi

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/printable"
)

// operation is one operation of the document, and the tool that it becomes.
type operation struct {
	method, path string
	item, node   node
	id           string
	group        string // the tag, or the first word of the path
	name         string // of the tool
	custom       node   // x-speakeasy-mcp or x-mcp
	failed       bool

	inputs         []*input
	names          map[string]bool // of inputs, in lower case
	params         []*parameter
	query, headers []entry
	nested         []entry // of the query, written with brackets
	url            string
	body           []string // arguments of the http block
	after          []string // what follows the http block
	paginate       []string
	returns        *tree  // nil for none
	schema         []byte // of the inputs, about as it is advertised
	form           *formOf
	separators     map[string]string // of the lists in a form of version 2
	joined         []entry           // separators of the lists that are one parameter or one field
	connection     *connection
	title, text    string
	tokens         int
	source         string // the block
}

// entry is one entry of a map: a key and an expression.
type entry struct{ key, value string }

func (op *operation) label() string {
	if op.name != "" {
		return op.name
	}
	return strings.ToUpper(op.method) + " " + op.path
}

func (op *operation) reads() bool { return op.method == "get" || op.method == "head" }

// Methods of operations that become tools, and the others that a path item may have.
var (
	methods      = []string{"get", "put", "post", "delete", "patch", "head"}
	otherMethods = []string{"options", "trace", "query"}
)

// collect finds the operations that are selected.
func (g *generator) collect() {
	for name, n := range g.doc.get("paths").members() {
		if strings.HasPrefix(name, "x-") {
			continue
		}
		item, err := g.schemas.resolve(n)
		if err != nil {
			g.result.Lose(redactedReference(name), "path left out", err.Error(), n.place())
			continue
		}
		for method, n := range item.get("additionalOperations").members() {
			g.collectOperation(name, method, item, n)
		}
		for method, n := range item.members() {
			method = strings.ToLower(method)
			if slices.Contains(methods, method) || slices.Contains(otherMethods, method) {
				g.collectOperation(name, method, item, n)
			}
		}
	}
	for name, n := range g.doc.get("webhooks").members() {
		g.result.Lose(name, "webhook left out", "", n.place())
	}
}

func (g *generator) collectOperation(name, method string, item, n node) {
	op := &operation{method: method, path: name, item: item, names: map[string]bool{}, separators: map[string]string{}}
	var err error
	if op.node, err = g.schemas.resolve(n); err != nil || !op.node.isMap() {
		reason := "it is no object"
		if err != nil {
			reason = err.Error()
		}
		g.lose(op, "operation left out", reason, n)
		return
	}
	op.id = op.node.get("operationId").text()
	op.custom = op.node.get("x-speakeasy-mcp")
	if !op.custom.exists() {
		op.custom = op.node.get("x-mcp")
	}
	tag := op.node.get("tags").member("0").text()
	op.group = tag
	if tag == "" {
		op.group = firstPathWord(name)
	}
	if !g.selects(op) {
		return
	}
	g.matched++
	why := ""
	switch action := op.node.get("x-kubernetes-action").text(); {
	case !slices.Contains(methods, method):
		why = "the method " + method
	case op.custom.get("disabled").isTrue() || op.custom.isFalse():
		why = "disabled for MCP by the document"
	case op.node.get("deprecated").isTrue() && !g.Deprecated:
		why = "deprecated"
	case action == "watch" || action == "watchlist" || action == "patch" && g.Methods == nil && g.Ops == nil:
		why = "Kubernetes " + action
	case hasCredential(name):
		op.path, why = redactedReference(name), "its path contains a credential"
	}
	if why != "" {
		g.lose(op, "operation left out", why, op.node)
		return
	}
	for callback, n := range op.node.get("callbacks").members() {
		g.lose(op, "callback left out", callback, n)
	}
	if strings.ContainsAny(name, "<>") {
		g.lose(op, "path with < or >", "sent as %3C and %3E; if they mark a parameter, write an input for it", op.node)
	}
	g.operations = append(g.operations, op)
}

var versionWord = lazyregexp.New(
	`^(?:api|rest|v[0-9]+(?:[a-z]+[0-9]*|\.[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9.]+)$`)

func firstPathWord(p string) string {
	for part := range strings.SplitSeq(p, "/") {
		if part != "" && !strings.Contains(part, "{") && !versionWord.MatchString(part) {
			return part
		}
	}
	return "root"
}

// selects applies the flags that select operations.
func (g *generator) selects(op *operation) bool {
	tags := []string{op.group}
	for t := range op.node.get("tags").list() {
		tags = append(tags, t.text())
	}
	any := func(globs []string, names ...string) bool {
		return slices.ContainsFunc(globs, func(glob string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return matches(glob, name) })
		})
	}
	snake := strings.Join(words(op.id), "_")
	switch {
	case g.ReadOnly && !op.reads(),
		g.Tags != nil && !any(g.Tags, tags...), any(g.NotTags, tags...),
		g.Paths != nil && !any(g.Paths, op.path), any(g.NotPaths, op.path),
		g.Ops != nil && !any(g.Ops, op.id, snake), any(g.NotOps, op.id, snake),
		g.Methods != nil && !any(g.Methods, op.method):
		return false
	}
	return true
}

// filtered reports whether operations were selected by anything but the method.
func (g *generator) filtered() bool {
	return g.All || g.Tags != nil || g.Paths != nil || g.Ops != nil
}

// matches matches a name against a pattern in which * is any text without a slash and ** any text, without regard to
// case.
func matches(glob, name string) bool {
	quoted := regexp.QuoteMeta(glob)
	quoted = strings.ReplaceAll(quoted, `\*\*`, ".*")
	quoted = strings.ReplaceAll(quoted, `\*`, "[^/]*")
	quoted = strings.ReplaceAll(quoted, `\?`, "[^/]")
	re, err := regexp.Compile(`(?is)^` + quoted + `$`)
	return err == nil && re.MatchString(name)
}

// unselectedText says why nothing was selected: what was left out first, or that the flags match nothing.
func (g *generator) unselectedText() string {
	why := firstReason(g.result.Losses)
	operations := 0
	var tags []string
	for _, item := range g.doc.get("paths").members() {
		for method, n := range g.schemas.follow(item).members() {
			n = g.schemas.follow(n)
			if !slices.Contains(methods, strings.ToLower(method)) || !n.isMap() {
				continue
			}
			operations++
			if tag := n.get("tags").member("0").text(); tag != "" && !slices.Contains(tags, tag) {
				tags = append(tags, tag)
			}
		}
	}
	switch {
	case operations == 0 && why == "":
		return "the document has none"
	case operations == 0 || g.matched > 0:
		return "the first reason: " + why
	case why != "":
		why = "; what cannot be read is " + why
	}
	text := fmt.Sprintf("the flags match none of %d", operations)
	if len(tags) > 20 {
		tags = append(tags[:20], "…")
	}
	if len(tags) > 0 {
		text += "; its tags are " + strings.Join(tags, ", ")
	}
	return text + why
}

// firstReason returns why the first operation or path was left out, or "".
func firstReason(losses []importer.Loss) string {
	for _, l := range losses {
		if l.Kind == "operation left out" || l.Kind == "path left out" {
			return fmt.Sprintf("%s (%s): %s", l.Name, l.Origin, l.Detail)
		}
	}
	return ""
}

// Fault is the kind of the loss of an operation in which the importer itself has failed: the document is not to blame.
const Fault = "fault of hatchel"

// build makes the tool of each operation. One that cannot be made is left out and reported.
func (g *generator) build() {
	for _, op := range g.operations {
		if err := g.buildOperation(op); err != nil {
			op.failed = true
			g.lose(op, "operation left out", err.Error(), op.node)
		}
	}
	g.operations = slices.DeleteFunc(g.operations, func(op *operation) bool { return op.failed })
}

func (g *generator) buildOperation(op *operation) (err error) {
	defer func() {
		if v := recover(); v != nil {
			op.failed = true
			g.lose(op, Fault, fmt.Sprintf("hatchel has failed at this operation, which is left out: %v. Please report "+
				"it with the operation", v), op.node)
		}
	}()
	g.describe(op)
	bodies, err := g.parameters(op)
	if err != nil {
		return err
	}
	if err := g.body(op, bodies); err != nil {
		return err
	}
	g.fitInputs(op)
	if err := g.buildURL(op); err != nil {
		return err
	}
	g.response(op)
	g.reportEffects(op)
	op.connection = g.connections.of(op)
	return nil
}

// describe sets the title and the description of the tool.
func (g *generator) describe(op *operation) {
	lose := g.loser(op, op.node)
	summary := cleanText(op.node.get("summary").text(), 200, lose)
	description := op.node.get("description").text()
	if s := op.custom.get("description").text(); s != "" {
		summary, description = "", s
	} else if summary == "" && !op.node.has("description") {
		summary = cleanText(op.item.get("summary").text(), 200, lose)
		description = op.item.get("description").text()
	}
	text := ""
	if why := suspicious(description); why != "" {
		g.lose(op, "description left out", why, op.node.get("description"))
	} else {
		text = cleanText(description, 600, lose)
	}
	if why := suspicious(summary); why != "" {
		g.lose(op, "summary left out", why, op.node.get("summary"))
		summary = ""
	}
	op.title = strings.TrimRight(summary, ".")
	if s := op.custom.get("title").text(); s != "" {
		op.title = cleanText(s, 80, lose)
	}
	if len(op.title) > 80 {
		op.title = ""
	}
	switch {
	case summary == "" && text == "":
		op.text = printable.Reveal(strings.ToUpper(op.method)+" "+op.path+".", "")
	case text == "" || strings.EqualFold(ended(text), ended(summary)):
		op.text = ended(summary)
	case summary == "" || strings.HasPrefix(strings.ToLower(text), strings.ToLower(strings.TrimRight(summary, "."))):
		op.text = text
	default:
		op.text = ended(summary) + " " + text
	}
}

// groups returns the operations of each file, in the order of the document.
func (g *generator) groups() (files []string, of map[string][]*operation) {
	of = map[string][]*operation{}
	names := map[string]string{} // of groups
	taken := map[string]bool{"connection.hcl": true, "types.hcl": true}
	for _, op := range g.operations {
		group := op.group
		if g.OneFile {
			group = "tools"
		}
		file := names[group]
		if file == "" {
			file = importer.FileName(group)
			for i := 2; taken[file]; i++ {
				file = importer.FileName(fmt.Sprintf("%s_%d", group, i))
			}
			taken[file], names[group] = true, file
			files = append(files, file)
		}
		of[file] = append(of[file], op)
	}
	return slices.Clip(files), maps.Clone(of)
}

// pathBase returns the end of a location for comments.
func pathBase(location string) string { return path.Base(Redacted(location)) }
