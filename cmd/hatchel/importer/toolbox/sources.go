package toolbox

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/yamlfile"
)

// source is one database.
type source struct {
	name       string // in the source
	dialect    string // postgres, mysql, sqlite or http; empty if it cannot be imported
	connection string
	address    string // the argument url or file
	origin     string
	used       bool
	writes     bool // a tool writes
}

// sourceKinds are the kinds of sources by the connection that they become.
var sourceKinds = map[string]string{
	"postgres": "postgres", "alloydb-postgres": "postgres", "cloud-sql-postgres": "postgres", "cockroachdb": "postgres",
	"mysql": "mysql", "cloud-sql-mysql": "mysql", "tidb": "mysql", "sqlite": "sqlite",
	"http": "http",
}

// sourceKeys are the arguments of a source that are read, and those that say where a managed database is: such a
// source names no host.
var sourceKeys = []string{"kind", "type", "name", "host", "port", "database", "user", "password", "queryParams",
	"project", "region", "cluster", "instance", "ipType"}

type sourceText struct {
	Kind, Type     string
	Host, Database string
	Port           any
	User, Password string
	QueryParams    any `yaml:"queryParams"`
}

// hostAndPort matches the address of a server, which other texts are none of, such as <HOST>.
var hostAndPort = lazyregexp.New(`^(?:[\pL\pN_.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$`)

// address returns the host and the port.
func (t *sourceText) address() string {
	if t.Port == nil {
		return t.Host
	}
	return t.Host + ":" + fmt.Sprint(t.Port)
}

func (g *generator) source(name string) *source {
	for _, s := range g.sources {
		if s.name == name {
			return s
		}
	}
	return nil
}

func (g *generator) readSources(items []item) {
	names := importer.Names{}
	for _, i := range items {
		var t sourceText
		if err := yamlfile.Decode(i.node, &t); err != nil {
			g.lose(i.name, "source left out", "it cannot be read", i.line)
			continue
		}
		kind := t.Kind
		if t.Type != "" {
			kind = t.Type
		}
		s := &source{name: i.name, dialect: sourceKinds[kind], origin: fmt.Sprintf("%s:%d", g.file, i.line)}
		g.sources = append(g.sources, s)
		s.connection = names.Take(strings.TrimSuffix(importer.Identifier(i.name), "_source"), 40)
		switch {
		case s.dialect == "":
			g.lose(i.name, "source left out", "there is no connection for the kind "+kind, i.line)
		case s.dialect == "http":
			if err := g.readHTTP(s, i); err != nil {
				g.lose(i.name, "source left out", err.Error(), i.line)
				s.dialect = ""
			}
		case s.dialect == "sqlite":
			if err := g.readSQLite(s, t.Database, i); err != nil {
				g.lose(i.name, "source left out", err.Error(), i.line)
				s.dialect = ""
			}
		case t.Host == "":
			g.lose(i.name, "address to set", "the source names no host; the secret holds the whole URL", i.line)
			s.address = "url = " + g.secret(s.connection+"_url", "") + "\n"
		case !hostAndPort.MatchString(references.ReplaceAllString(t.address(), "1")):
			g.lose(i.name, "address to set", t.address()+" is no address; the secret holds the whole URL", i.line)
			s.address = "url = " + g.secret(s.connection+"_url", "") + "\n"
		default:
			s.address = "url = " + g.url(s, &t, i) + "\n"
		}
		if s.dialect != "" && s.dialect != "http" {
			g.reportOthers(i, sourceKeys)
		}
	}
}

// reportOthers reports the arguments of an item that are not read.
func (g *generator) reportOthers(i item, read []string) {
	for n := 0; i.node.Kind == yaml.MappingNode && n+1 < len(i.node.Content); n += 2 {
		if key := i.node.Content[n]; !slices.Contains(read, key.Value) {
			g.lose(i.name, "argument left out", key.Value, key.Line)
		}
	}
}

// readSQLite reads the file of a SQLite database.
func (g *generator) readSQLite(s *source, file string, i item) error {
	switch {
	case file == "":
		return errors.New("it names no file in database")
	case strings.HasPrefix(file, ":memory:") || strings.Contains(file, "mode=memory"):
		return errors.New("its database is in memory, so it is empty in another process")
	case strings.HasPrefix(file, "file:"):
		file, _, _ = strings.Cut(strings.TrimPrefix(file, "file:"), "?")
		g.lose(i.name, "URI of the file", "only the name "+file+" was written", i.line)
	}
	if !path.IsAbs(file) && !strings.HasPrefix(file, "${") {
		g.lose(i.name, "relative file", file+" is relative to the directory of the configuration now, and was to that "+
			"in which the Toolbox runs", i.line)
	}
	s.address = "file = " + g.text(file) + "\n"
	return nil
}

// url returns the address of a server, in which the password is a secret.
func (g *generator) url(s *source, t *sourceText, i item) string {
	out := s.dialect + "://"
	if t.User != "" {
		out += g.part(t.User, true)
		if t.Password != "" {
			out += ":${urlencode(" + g.secret(s.connection+"_password", t.Password) + ")}"
			if m := reference.FindStringSubmatch(t.Password); m == nil {
				g.lose(i.name, "credential", "the password is a secret now; its value was not written", i.line)
			} else if m[2] != "" {
				g.lose(i.name, "credential", "the default of "+m[1]+" was not written: set the variable", i.line)
			}
		}
		out += "@"
	}
	out += g.part(t.Host, false)
	if t.Port != nil {
		out += ":" + g.part(fmt.Sprint(t.Port), false)
	}
	if t.Database != "" {
		out += "/" + g.part(t.Database, true)
	}
	params, _ := t.QueryParams.(map[string]any)
	var keys []string
	for k := range params {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for n, k := range keys {
		v := fmt.Sprint(params[k])
		if importer.IsCredential(k, v) {
			g.lose(i.name, "parameter of the connection left out", k+" may hold a credential", i.line)
			continue
		}
		out += map[bool]string{true: "?", false: "&"}[n == 0] + url.QueryEscape(k) + "=" + g.part(v, true)
	}
	if params == nil && t.QueryParams != nil && t.QueryParams != "" {
		g.lose(i.name, "parameters of the connection left out",
			"queryParams is no map; write options such as TLS in the URL", i.line)
	}
	return `"` + out + `"`
}

// part returns a part of a URL: constant text, and variables.
func (g *generator) part(text string, encode bool) string {
	return g.mix(text, func(constant string) string {
		if encode {
			return strings.ReplaceAll(url.QueryEscape(constant), "+", "%20")
		}
		return quoteInner(constant)
	}, encode)
}

// text returns an expression for a text.
func (g *generator) text(text string) string {
	if m := reference.FindStringSubmatch(text); m != nil {
		return g.variable(m)
	}
	return `"` + g.mix(text, quoteInner, false) + `"`
}

// mix returns the inside of a quoted template for a text with references.
func (g *generator) mix(text string, constant func(string) string, encode bool) string {
	out, at := "", 0
	for _, m := range references.FindAllStringSubmatchIndex(text, -1) {
		ref := g.variable(reference.FindStringSubmatch(text[m[0]:m[1]]))
		if encode {
			ref = "urlencode(" + ref + ")"
		}
		out += constant(text[at:m[0]]) + "${" + ref + "}"
		at = m[1]
	}
	return out + constant(text[at:])
}

// variable declares the variable of a reference and returns it.
func (g *generator) variable(m []string) string {
	name := importer.Identifier(m[1])
	block := "variable " + importer.Quote(name) + " {\ntype = string\n"
	if m[2] != "" && !importer.IsCredential(m[1], m[2][1:]) {
		block += "default = " + importer.Quote(m[2][1:]) + "\n"
	} else {
		g.result.Export(m[1])
	}
	g.declare("variable "+name, block+"env = "+importer.Quote(m[1])+"\n}\n")
	return "var." + name
}

// secret declares a secret and returns it. Only the name of an environment variable is taken from value.
func (g *generator) secret(name, value string) string {
	env := strings.ToUpper(name)
	if m := reference.FindStringSubmatch(value); m != nil {
		env = m[1]
	}
	g.result.Export(env)
	g.declare("secret "+name, importer.Secret(name, env))
	return "secret." + name
}

func (g *generator) declare(name, block string) {
	if _, ok := g.declared[name]; !ok {
		g.order = append(g.order, name)
		g.declared[name] = block
	}
}

// declarationsOf returns the variables and secrets that blocks refer to.
func (g *generator) declarationsOf(texts ...string) (blocks []string) {
	needed := map[string]bool{}
	for _, text := range texts {
		for _, m := range declaration.FindAllStringSubmatch(text, -1) {
			needed[map[string]string{"var": "variable ", "secret": "secret "}[m[1]]+m[2]] = true
		}
	}
	for _, name := range g.order {
		if needed[name] {
			blocks = append(blocks, g.declared[name])
		}
	}
	return blocks
}

// block returns the connection of a source.
func (s *source) block(name string, writes bool) string {
	out := "connection " + importer.Quote(s.dialect) + " " + importer.Quote(name) + " {\n" + s.address
	if !writes && s.dialect != "http" {
		out += "mode = \"ro\"\n"
	}
	return out + "}\n"
}

// writeSources writes the connections that tools use, before the tools. A source with tools that write has a second
// connection that only reads, for the tools whose statement the caller writes.
func (g *generator) writeSources() {
	var blocks []importer.Block
	add := func(text, origin string) {
		blocks = append(blocks, importer.Block{File: "sources.hcl", Text: text, Origin: origin})
	}
	var texts []string
	for _, s := range g.sources {
		if s.used {
			texts = append(texts, s.address)
		}
	}
	for _, b := range g.result.Blocks {
		texts = append(texts, b.Text)
	}
	for _, block := range g.declarationsOf(texts...) {
		add(block, g.file)
	}
	for _, s := range g.sources {
		if !s.used {
			continue
		}
		add(s.block(s.connection, s.writes), s.origin)
		if !s.writes {
			continue
		}
		second := false
		for i, b := range g.result.Blocks {
			own := regexp.MustCompile("sql " + importer.Quote(s.connection) + ` (\{\s*statement = )`)
			if own.MatchString(b.Text) {
				reader := "sql " + importer.Quote(s.connection+"_ro") + " $1"
				g.result.Blocks[i].Text, second = own.ReplaceAllString(b.Text, reader), true
			}
		}
		if second {
			add(s.block(s.connection+"_ro", false), s.origin)
		}
	}
	g.result.Blocks = slices.Concat(blocks, g.result.Blocks)
	g.result.Exports = slices.DeleteFunc(g.result.Exports, func(env string) bool {
		return !slices.ContainsFunc(blocks, func(b importer.Block) bool {
			return strings.Contains(b.Text, "env = "+importer.Quote(env))
		})
	})
}

var declaration = lazyregexp.New(`\b(var|secret)\.([a-z0-9_]+)`)

// prebuiltTool returns the tool of a set of this program with the same purpose as a built-in kind.
func prebuiltTool(s *source, kind, name, description string) (string, error) {
	if s.dialect == "http" {
		return "", fmt.Errorf("there is no counterpart of the kind %s", kind)
	}
	files, err := importer.Prebuilt(s.dialect)
	if err != nil {
		return "", err
	}
	src, err := fs.ReadFile(files, "tools.hcl")
	if err != nil {
		return "", err
	}
	purpose := strings.ReplaceAll(strings.TrimPrefix(kind, s.dialect+"-"), "-", "_")
	purpose = strings.Replace(purpose, "get_column_cardinality", "list_column_cardinality", 1)
	start := strings.Index(string(src), "tool \""+purpose+"\" {\n")
	if start < 0 {
		return "", fmt.Errorf("there is no counterpart of the kind %s", kind)
	}
	text := string(src[start:])
	text = text[:strings.Index(text, "\n}\n")+3]
	_, rest, _ := strings.Cut(text, "\n")
	if description != "" {
		_, rest, _ = strings.Cut(rest, "\n")
		rest = "description = " + importer.Quote(description) + "\n" + rest
	}
	rest = strings.Replace(rest, `sql "db" {`, "sql "+importer.Quote(s.connection)+" {", 1)
	return "tool " + importer.Quote(name) + " {\n" + rest, nil
}
