package curl

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/hostname"
	"hatchel/internal/lazyregexp"
)

// body makes inputs of the data of the command. The values of the data are not written: only their types are.
func (g *generator) body() {
	mime := g.contentTypeOf()
	separator := "&"
	if g.isJSON {
		separator = ""
	}
	text := strings.Join(g.data, separator)
	isForm := mime == "" || strings.HasPrefix(mime, formType)
	sample := strings.TrimSpace(text)
	looksLikeJSON := strings.HasPrefix(sample, "{") || strings.HasPrefix(sample, "[")
	switch {
	case len(g.form) > 0:
		g.multipart()
	case len(g.files) > 0:
		g.file(mime)
	case text == "":
		if len(g.data) > 0 && mime == "" {
			g.contentType = formType
		}
	case strings.Contains(mime, "json") && !lines.MatchString(mime):
		g.json(text, mime)
	case mime == "" && looksLikeJSON:
		if g.json(text, mime) {
			g.lose("type of the body", "it is JSON, which curl declares a form: the tool sends application/json")
		}
	case isForm && isFormText(text):
		g.formFields(text, mime)
	default:
		g.plain(mime)
	}
}

// formType is the type that curl gives to data.
const formType = "application/x-www-form-urlencoded"

// lines matches the types of several values of JSON, one a line.
var lines = lazyregexp.New(`ndjson|jsonl|json-seq|x-json-stream`)

// isFormText reports whether a text is a list of fields.
func isFormText(text string) bool {
	for part := range strings.SplitSeq(strings.Trim(text, "&"), "&") {
		if at := strings.IndexByte(part, '='); at <= 0 || strings.ContainsAny(part[:at], " \t\r\n<>{}\"") {
			return false
		}
	}
	return true
}

// file makes an input of a body that the command reads from a file.
func (g *generator) file(mime string) {
	g.lose("file of the command", "the body is an input, because the command reads it from a file of this machine")
	name := g.files[0]
	isFile := decodingOfFile(name) == "bytes" || decodingOf(mime) == "bytes" && !strings.HasPrefix(mime, formType)
	switch {
	case isFile, g.upload && mime == "" && decodingOfFile(name) == "":
		g.content = []string{"body = input." + g.input("body", "file")}
		g.contentType = mime
	case strings.Contains(mime, "json") && !lines.MatchString(mime):
		g.jsonContent("any", mime)
	case g.upload && mime == "":
		g.plain("application/octet-stream")
	default:
		g.plain(mime)
	}
}

// jsonContent sends one input as the whole body.
func (g *generator) jsonContent(typ, mime string) {
	g.content = []string{"json = input." + g.input("body", typ)}
	g.setJSONType(mime)
}

func (g *generator) setJSONType(mime string) {
	if mime != "" && mime != "application/json" {
		g.contentType = mime
	}
}

// json sends the members of a sample as inputs, or the whole sample as one. It reports whether the text is JSON.
func (g *generator) json(text, mime string) bool {
	v, err := parseJSON(quoteReferences(text))
	if err != nil {
		g.lose("body is not JSON", "it is one text input")
		g.plain(mime)
		return false
	}
	members, isObject := v.([]member)
	if !isObject || len(members) == 0 || len(members) > maxInputs || repeated(members) {
		g.jsonContent(typeOf(v), mime)
		g.loseCredentials("", v)
		return true
	}
	g.setJSONType(mime)
	var picked, entries []string
	for _, m := range members {
		text, isText := m.value.(string)
		text = strings.ReplaceAll(text, mark, reference)
		if isText && text != "" && (importer.IsCredential(m.name, text) || namesCredential(text)) {
			entries = append(entries, importer.Key(m.name)+" = "+g.secret(m.name, text))
			continue
		}
		g.loseCredentials(m.name, m.value)
		typ := typeOf(m.value)
		if m.value == nil {
			typ = "optional(nullable(any), null)"
		}
		name := g.input(m.name, typ)
		if name == m.name {
			picked = append(picked, importer.Quote(name))
		}
		entries = append(entries, importer.Key(m.name)+" = input."+name)
	}
	if len(picked) == len(members) {
		g.content = []string{"json = pick(input, " + strings.Join(picked, ", ") + ")"}
		return true
	}
	g.content = []string{"json = {\n" + strings.Join(entries, "\n") + "\n}"}
	return true
}

// loseCredentials reports the credentials within a member: callers have to give them.
func (g *generator) loseCredentials(path string, v any) {
	switch v := v.(type) {
	case []member:
		for _, m := range v {
			at := strings.TrimPrefix(path+"."+m.name, ".")
			if text, isText := m.value.(string); isText && text != "" && importer.IsCredential(m.name, text) {
				g.lose("credential in the body", at+" is a part of an input: write a secret in its place")
			}
			g.loseCredentials(at, m.value)
		}
	case []any:
		for _, e := range v {
			g.loseCredentials(path+"[]", e)
		}
	}
}

func repeated(members []member) bool {
	seen := map[string]bool{}
	for _, m := range members {
		if seen[m.name] {
			return true
		}
		seen[m.name] = true
	}
	return false
}

// field is one field of a form, with all of its values.
type field struct {
	name   string
	values []string
}

// groupFields returns the fields in their order, each name once.
func groupFields(pairs [][2]string) (fields []field) {
	for _, p := range pairs {
		at := slices.IndexFunc(fields, func(f field) bool { return f.name == p[0] })
		if at < 0 {
			at = len(fields)
			fields = append(fields, field{name: p[0]})
		}
		fields[at].values = append(fields[at].values, p[1])
	}
	return fields
}

func (g *generator) formFields(text, mime string) {
	var pairs [][2]string
	for part := range strings.SplitSeq(strings.Trim(text, "&"), "&") {
		key, value, _ := strings.Cut(part, "=")
		pairs = append(pairs, [2]string{strings.ReplaceAll(unescape(key), reference, ""), unescape(value)})
	}
	var entries []string
	for _, f := range groupFields(pairs) {
		entry := ""
		switch value := replacePlaceholders(f.values[0]); {
		case value != "" && (importer.IsCredential(f.name, value) || namesCredential(value)):
			entry = g.secret(f.name, value)
		case len(f.values) > 1:
			entry = "input." + g.input(f.name, "list(string)")
		default:
			entry = "input." + g.input(f.name, "string")
		}
		entries = append(entries, importer.Key(f.name)+" = "+entry)
	}
	g.content = []string{"form = {\n" + strings.Join(entries, "\n") + "\n}"}
	if mime != "" && mime != formType {
		g.contentType = mime
	}
}

// partOption matches what may follow the content of a part.
var partOption = lazyregexp.New(`;\s*(type|filename|encoder|headers)=`)

func (g *generator) multipart() {
	var entries []string
	for _, f := range groupFields(g.request.form) {
		value := f.values[0]
		typ := "string"
		isFile := strings.HasPrefix(value, "@")
		if isFile {
			typ = "file"
		}
		if partOption.MatchString(value) && !strings.HasPrefix(value, " ") {
			why := " is sent as text/plain"
			if isFile {
				why = " has the name and the type of the uploaded file"
			}
			g.lose("type of a part", "the part "+f.name+why)
		}
		if len(f.values) > 1 || isFile && strings.Contains(value, ",") {
			typ = "list(" + typ + ")"
		}
		text := replacePlaceholders(strings.TrimSpace(value))
		entry := ""
		if !isFile && text != "" && (importer.IsCredential(f.name, text) || namesCredential(text)) {
			entry = g.secret(f.name, text)
		} else {
			entry = "input." + g.input(f.name, typ)
		}
		entries = append(entries, importer.Key(f.name)+" = "+entry)
	}
	g.content = []string{"multipart = {\n" + strings.Join(entries, "\n") + "\n}"}
	g.contentType = ""
}

// plain sends the body as one text.
func (g *generator) plain(mime string) {
	if mime == "" {
		mime = formType
	}
	g.content = []string{"body = input." + g.input("body", `string("The body of the request")`)}
	g.contentType = mime
}

// write writes the blocks.
func (g *generator) write() {
	credentialsInQuery := len(g.auth) == 0
	var queries []string
	for _, q := range g.queries {
		if _, value, _ := strings.Cut(q, " = "); credentialsInQuery && strings.HasPrefix(value, "secret.") {
			g.auth["query"] = append(g.auth["query"], q)
			continue
		}
		queries = append(queries, q)
	}
	file := importer.FileName(g.connection)
	origin := g.method + " " + g.connection
	if g.server == nil {
		origin = g.method + " " + g.url.Host
	}
	for _, s := range g.secrets {
		g.result.Blocks = append(g.result.Blocks, importer.Block{File: file, Origin: origin,
			Text: importer.Secret(s.name, s.env)})
	}
	if g.server == nil && hostname.IsReadable(g.url) && len(g.secrets) > 0 {
		g.lose("credential over http", "others can read the credentials on the way: write https in base_url if the "+
			"service has it")
	}
	base, host := importer.Quote(g.url.Scheme+"://"+g.url.Host), g.url.Host
	if g.server != nil {
		base, host = g.server.base, "the server "+g.connection
		for _, name := range g.server.variables {
			g.result.Blocks = append(g.result.Blocks, importer.Block{File: file, Origin: origin,
				Text: "variable " + importer.Quote(name) + " { type = string }\n"})
			const note = "The URL of %s has the variable %s: set it with --var %[2]s=… or HATCHEL_VAR_%[2]s."
			g.result.Notes = append(g.result.Notes, fmt.Sprintf(note, g.connection, name))
		}
	}
	conn := "connection \"http\" " + importer.Quote(g.connection) + " {\nbase_url = " + base + "\n"
	for _, kind := range []string{"headers", "bearer", "basic", "header", "query"} {
		switch entries := g.auth[kind]; {
		case len(entries) == 0:
		case kind == "headers":
			conn += "headers = { " + strings.Join(entries, ", ") + " }\n"
		case kind == "bearer":
			conn += "auth { bearer = " + entries[0] + " }\n"
		default:
			conn += "auth {\n" + kind + " = { " + strings.Join(entries, ", ") + " }\n}\n"
		}
	}
	g.result.Blocks = append(g.result.Blocks, importer.Block{File: file, Origin: origin, Text: conn + "}\n"})

	path := g.result.Describe(g.name, "its path", printedPath(g.template), "", 500)
	description := g.method + " " + path + " of " + host +
		". Imported from a command: say here what it does and when to use it."
	text := "tool " + importer.Quote(g.name) + " {\ndescription = " + importer.Quote(description) + "\n"
	if d, err := time.ParseDuration(g.timeout + "s"); err == nil && d > 0 {
		text += fmt.Sprintf("timeout = %q\n", d.String())
	}
	block := importer.HTTP{Connection: g.connection, Method: g.method, URL: g.template, Query: importer.Map(queries),
		Headers: importer.Map(g.fields), Rest: append(g.content, g.as()...)}
	text += strings.Join(g.inputs, "") + "\n" + block.Block() + g.answer() + "}\n"
	file = importer.FileName(g.name)
	g.result.Blocks = append(g.result.Blocks, importer.Block{File: file, Origin: origin, Text: text})
	g.lose("description to write", "a command does not say what it is for")
	for _, l := range g.losses {
		g.lose(l.kind, l.detail)
	}
}

// printedPath returns a path for a description: {order_id} in place of interpolations.
func printedPath(template string) string {
	return strings.NewReplacer("${input.", "{", "${secret.", "{").Replace(template)
}
