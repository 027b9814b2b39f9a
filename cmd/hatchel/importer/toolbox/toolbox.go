// Package toolbox generates tools from a configuration of the MCP Toolbox for Databases: sources, tools with
// statements, toolsets and prompts, in one map or as documents.
package toolbox

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/yamlfile"
)

// maxSource is the maximum size of a configuration in bytes.
const maxSource = 8 << 20

// item is one source, tool, toolset or prompt.
type item struct {
	section string
	name    string
	line    int
	node    *yaml.Node
}

// document is a configuration, by section.
type document struct{ sources, tools, toolsets, prompts, others []item }

// Import generates the blocks of a configuration. name is that of its file, for the report.
func Import(name string, src []byte, check importer.Check) (*importer.Result, error) {
	if len(src) > maxSource {
		return nil, fmt.Errorf("%s is larger than %d MiB", name, maxSource>>20)
	}
	doc, err := read(src)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	if len(doc.tools) == 0 {
		return nil, fmt.Errorf("%s has no tools: it is no configuration of the Toolbox", name)
	}
	result := &importer.Result{Source: "toolbox " + strings.TrimSuffix(name, path.Ext(name))}
	g := &generator{result: result, file: name, check: check, names: importer.Names{},
		tools: map[string]string{}, declared: map[string]string{}}
	g.readSources(doc.sources)
	for _, t := range doc.tools {
		if g.resolve(t, leftOut, "statement", "headers") {
			g.addTool(t)
		}
	}
	g.writeSources()
	for _, s := range doc.toolsets {
		if g.resolve(s, "toolset left out") {
			g.addToolset(s)
		}
	}
	for _, p := range doc.prompts {
		if g.resolve(p, "prompt left out") {
			g.addPrompt(p)
		}
	}
	if len(g.tools) > 0 {
		g.result.Notes = append(g.result.Notes, "Let the databases prepare the statements: hatchel validate --connect")
	}
	for _, o := range doc.others {
		g.lose(o.name, "left out", "there is no counterpart of "+o.section, o.line)
	}
	return g.result, nil
}

// resolve replaces references to the environment in an item by their defaults, but not in some of its arguments. It
// reports whether none is left.
func (g *generator) resolve(i item, lost string, but ...string) bool {
	replaced, err := replaceReferences(i.node, but...)
	if err != nil {
		g.lose(i.name, lost, err.Error(), i.line)
		return false
	}
	for _, text := range replaced {
		g.lose(i.name, "default of the environment", text+" is its default now", i.line)
	}
	return true
}

// read reads both forms of a configuration: sections of one document, and one document for each item.
func read(src []byte) (*document, error) {
	doc := new(document)
	roots, err := yamlfile.ParseAll(maskReferences(src))
	if err != nil {
		return nil, err
	}
	for _, top := range roots {
		unmaskReferences(top)
		if top.Kind != yaml.MappingNode {
			continue
		}
		var head struct{ Kind, Name string }
		if yamlfile.Decode(top, &head) == nil && head.Kind != "" && head.Name != "" {
			doc.add(item{head.Kind, head.Name, top.Line, top})
			continue
		}
		for i := 0; i+1 < len(top.Content); i += 2 {
			section := top.Content[i+1]
			for j := 0; section.Kind == yaml.MappingNode && j+1 < len(section.Content); j += 2 {
				key := section.Content[j]
				doc.add(item{top.Content[i].Value, key.Value, key.Line, section.Content[j+1]})
			}
		}
	}
	return doc, nil
}

// add adds an item of a section, whose name is in the singular in one form and in the plural in the other.
func (d *document) add(i item) {
	switch strings.TrimSuffix(i.section, "s") {
	case "source":
		d.sources = append(d.sources, i)
	case "tool":
		d.tools = append(d.tools, i)
	case "toolset", "group":
		d.toolsets = append(d.toolsets, i)
	case "prompt":
		d.prompts = append(d.prompts, i)
	case "authService", "authSource": // the server has its own authentication
	default:
		d.others = append(d.others, i)
	}
}

// generator generates the blocks.
type generator struct {
	result   *importer.Result
	file     string
	check    importer.Check
	names    importer.Names    // of tools
	tools    map[string]string // names of generated tools by their names in the source
	sources  []*source
	declared map[string]string // variables and secrets by their names
	order    []string          // of declared
}

func (g *generator) lose(name, kind, detail string, line int) {
	g.result.Lose(name, kind, detail, fmt.Sprintf("%s:%d", g.file, line))
}

// describe returns a text of an item for models.
func (g *generator) describe(i item, what, text string, max int) string {
	return g.result.Describe(i.name, what, text, fmt.Sprintf("%s:%d", g.file, i.line), max)
}

// tool is one tool as it is written.
type tool struct {
	Kind               string
	Type               string
	Source             string
	Description        string
	Statement          string
	Parameters         []parameter
	TemplateParameters []parameter `yaml:"templateParameters"`
	AuthRequired       []string    `yaml:"authRequired"`
}

var toolName = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// addTool adds the block of one tool, or reports why there is none.
func (g *generator) addTool(i item) {
	var t tool
	if err := yamlfile.Decode(i.node, &t); err != nil {
		g.lose(i.name, leftOut, "it cannot be read: "+err.Error(), i.line)
		return
	}
	kind := t.Kind
	if t.Type != "" {
		kind = t.Type
	}
	s := g.source(t.Source)
	if s == nil || s.dialect == "" {
		g.lose(i.name, leftOut, fmt.Sprintf("its kind is %s, and its source %q has no counterpart", kind,
			t.Source), i.line)
		return
	}
	name := i.name
	if !toolName.MatchString(name) {
		name = importer.Identifier(name)
		g.lose(i.name, "renamed", "to "+name, i.line)
	}
	name = g.names.Take(name, 64)
	text, writes, err := g.toolText(name, kind, &t, s, i)
	if err == nil {
		connection := s.block(s.connection, writes)
		err = g.check(append(g.declarationsOf(connection, text), connection, text)...)
	}
	if warnings, valid := err.(importer.Warnings); valid {
		for _, w := range warnings {
			g.lose(i.name, "warning", w, i.line)
		}
		err = nil
	}
	if err != nil {
		g.lose(i.name, leftOut, err.Error(), i.line)
		delete(g.names, name)
		return
	}
	s.writes, s.used = s.writes || writes, true
	g.tools[i.name] = name
	g.result.Blocks = append(g.result.Blocks, importer.Block{
		File: importer.FileName(s.name + "_tools"), Text: text, Origin: fmt.Sprintf("%s:%d", g.file, i.line),
	})
}

const leftOut = "tool left out" // a kind of loss

// allowText returns the argument that allows only authenticated callers, if authRequired of the tool has an entry.
func (g *generator) allowText(t *tool, i item) string {
	if len(t.AuthRequired) == 0 {
		return ""
	}
	g.lose(i.name, "authRequired",
		"every authenticated caller may call it: declare auth, and a policy if only some callers may", i.line)
	return "allow = \"caller.subject != null\"\n"
}

// toolText returns the block of a tool, and whether its statement writes.
func (g *generator) toolText(name, kind string, t *tool, s *source, i item) (text string, writes bool, err error) {
	description := g.describe(i, "its description", t.Description, 2000)
	isHTTP := s.dialect == "http" && kind == "http"
	if !isHTTP && (!strings.HasSuffix(kind, "-sql") || strings.HasSuffix(kind, "-execute-sql")) {
		if text, err = prebuiltTool(s, kind, name, description); err == nil {
			head, rest, _ := strings.Cut(text, "\n")
			text = head + "\n" + g.allowText(t, i) + rest
		}
		return text, false, err
	}
	if description == "" {
		description = strings.ReplaceAll(name, "_", " ") + "."
		g.lose(i.name, "no description", "it was made of the name", i.line)
	}
	out := "tool " + importer.Quote(name) + " {\ndescription = " + importer.Quote(description) + "\n"
	out += g.allowText(t, i)
	if isHTTP {
		text, err = g.httpText(s, i)
	} else {
		text, writes, err = g.sqlText(kind, t, s, i)
	}
	return out + text + "}\n", writes, err
}

// toolKeys are the arguments of a tool with a statement that are read.
var toolKeys = []string{"kind", "type", "name", "source", "description", "statement", "parameters",
	"templateParameters", "authRequired"}

// kindDialects are the dialects of the kinds of tools with a statement.
var kindDialects = map[string]string{"postgres": "postgres", "cockroachdb": "postgres", "mysql": "mysql",
	"tidb": "mysql", "sqlite": "sqlite"}

// sqlText returns the inputs and the sql block of a tool.
func (g *generator) sqlText(kind string, t *tool, s *source, i item) (out string, writes bool, err error) {
	if kindDialects[strings.TrimSuffix(kind, "-sql")] != s.dialect {
		return "", false, fmt.Errorf("its kind is %s, and its source is a %s database", kind, s.dialect)
	}
	b := newStatement(g, s.dialect, t)
	statements, err := b.translate(t.Statement)
	if err != nil {
		return "", false, err
	}
	for _, p := range slices.Concat(t.Parameters, t.TemplateParameters) {
		input, err := g.inputText(b, p, i)
		if err != nil {
			return "", false, err
		}
		out += input
	}
	g.reportOthers(i, toolKeys)
	out += "\nsql " + importer.Quote(s.connection) + " {\n"
	if b.byCaller != "" {
		return out + "statement = " + b.byCaller + "\n}\n", false, nil
	}
	for n, text := range statements {
		if writesData(text) {
			writes = true
		} else if len(statements) > 1 {
			return "", false, fmt.Errorf("it has %d statements, and statement %d only reads; a tool has one query, or "+
				"several statements that write", len(statements), n+1)
		}
	}
	switch {
	case len(statements) > 1:
		out += "exec = [\n"
		for _, text := range statements {
			if strings.Contains(text, "\n") {
				out += importer.Heredoc("SQL", text) + ",\n"
			} else {
				out += `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + "\",\n"
			}
		}
		return out + "]\n}\n", true, nil
	case writes:
		return out + "exec = " + importer.Heredoc("SQL", statements[0]) + "}\n", true, nil
	}
	if called := unknownFunction(statements[0]); called != "" {
		g.lose(i.name, "function", called+" is called in a transaction that only reads; write exec in place of query, "+
			"and remove mode = \"ro\", if it writes", i.line)
	}
	return out + "query = " + importer.Heredoc("SQL", statements[0]) + "}\n", false, nil
}

// inputText returns the input of a parameter, or nothing for one that the statement does not use.
func (g *generator) inputText(b *statement, p parameter, i item) (string, error) {
	if len(p.ExcludedValues) > 0 {
		g.lose(i.name, "excludedValues", "of "+p.Name+": write a check", i.line)
	}
	switch marker := b.texts[p.Name]; {
	case b.used[p.Name]:
	case marker != "":
		return "", fmt.Errorf("its statement has the marker %s of parameter %s inside quotes or a name, where it is "+
			"text: join the text and the value", marker, p.Name)
	case len(p.AuthServices) == 0 && p.ValueFromParam == "":
		g.lose(i.name, "parameter left out", p.Name+" is not used in the statement", i.line)
	}
	if !b.used[p.Name] {
		return "", nil
	}
	if b.inputs[p.Name] != p.Name {
		g.lose(i.name, "parameter renamed", p.Name+" is "+b.inputs[p.Name], i.line)
	}
	if p.Secure {
		g.lose(i.name, "secure left out", "clients send "+p.Name+" as any other input", i.line)
	}
	p.Description = g.describe(i, "the description of "+p.Name, p.Description, 500)
	typ, err := p.inputType(b.template(p.Name) != nil)
	if err != nil {
		return "", fmt.Errorf("parameter %s: %w", p.Name, err)
	}
	return importer.Input(b.inputs[p.Name], typ), nil
}

// addToolset adds the block of one toolset.
func (g *generator) addToolset(i item) {
	var members []string
	if yamlfile.Decode(i.node, &members) != nil {
		var named struct{ Tools []string }
		if err := yamlfile.Decode(i.node, &named); err != nil {
			g.lose(i.name, "toolset left out", "it is no list of names", i.line)
			return
		}
		members = named.Tools
	}
	var names []string
	for _, m := range members {
		if name := g.tools[m]; name != "" && !slices.Contains(names, importer.Quote(name)) {
			names = append(names, importer.Quote(name))
		}
	}
	if len(names) == 0 {
		g.lose(i.name, "toolset left out", "none of its tools was imported", i.line)
		return
	}
	if n := len(members) - len(names); n > 0 {
		g.lose(i.name, "fewer tools in a toolset", fmt.Sprintf("%d of %d were not imported", n, len(members)), i.line)
	}
	text := "toolset " + importer.Quote(importer.Identifier(i.name)) + " {\n" +
		"tools = [\n" + strings.Join(names, ",\n") + ",\n]\n}\n"
	g.result.Blocks = append(g.result.Blocks, importer.Block{
		File: "toolsets.hcl", Origin: fmt.Sprintf("%s:%d", g.file, i.line), Text: text,
	})
}
