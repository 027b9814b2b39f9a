package curl

import (
	"fmt"
	"strings"
	"time"

	"hatchel/cmd/hatchel/importer"
)

// body makes inputs of the data of the command. The values of the data are not written: only their types are.
func (g *generator) body() {
	mime := ""
	for _, h := range g.request.headers {
		if strings.EqualFold(h[0], "Content-Type") {
			mime = h[1]
		}
	}
	text := strings.Join(g.data, "&")
	isForm := mime == "" && !g.isJSON || strings.HasPrefix(mime, "application/x-www-form-urlencoded")
	switch {
	case len(g.form) > 0:
		g.multipart()
	case g.files:
		g.lose("file of the command", "the body is an input, because -d @file reads a file of this machine")
		g.plain(mime)
	case text == "":
	case g.isJSON, strings.Contains(mime, "json"), isForm && strings.HasPrefix(strings.TrimSpace(text), "{"):
		g.json(text, mime)
	case isForm:
		g.formFields(text)
	default:
		g.plain(mime)
	}
}

// json sends the members of a sample as inputs, or the whole sample as one.
func (g *generator) json(text, mime string) {
	v, err := parseJSON(strings.ReplaceAll(text, reference, ""))
	if err != nil {
		g.lose("body is not JSON", "it is one text input")
		g.plain(mime)
		return
	}
	if mime != "" && !strings.HasPrefix(mime, "application/json") {
		g.fields = append(g.fields, "Content-Type = "+importer.Quote(mime))
	}
	members, isObject := v.([]member)
	if !isObject || len(members) == 0 || len(members) > maxInputs || repeated(members) {
		g.content = []string{"json = input." + g.input("body", typeOf(v))}
		return
	}
	var picked, entries []string
	for _, m := range members {
		text, isText := m.value.(string)
		if isText && importer.IsCredential(m.name, text) {
			entries = append(entries, importer.Key(m.name)+" = "+g.secret(m.name, text))
			continue
		}
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
		return
	}
	g.content = []string{"json = {\n" + strings.Join(entries, "\n") + "\n}"}
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

func (g *generator) formFields(text string) {
	var entries []string
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, "&") {
		key, value, _ := strings.Cut(part, "=")
		key, value = unescape(key), unescape(value)
		switch {
		case key == "":
		case seen[key]:
			g.lose("repeated field", key+" is one input: make its type list(string) to send several")
		case importer.IsCredential(key, value):
			entries = append(entries, importer.Key(key)+" = "+g.secret(key, value))
		default:
			entries = append(entries, importer.Key(key)+" = input."+g.input(key, "string"))
		}
		seen[key] = true
	}
	g.content = []string{"form = {\n" + strings.Join(entries, "\n") + "\n}"}
}

func (g *generator) multipart() {
	var entries []string
	seen := map[string]bool{}
	for _, part := range g.request.form {
		key, value := part[0], part[1]
		if seen[key] {
			g.lose("repeated field", key+" is one input")
			continue
		}
		seen[key] = true
		switch {
		case strings.HasPrefix(value, "@"):
			entries = append(entries, importer.Key(key)+" = input."+g.input(key, "file"))
			if strings.Contains(value, ";") {
				g.lose("type of a part", "the part "+key+" has the type of the uploaded file")
			}
		case importer.IsCredential(key, strings.TrimSpace(value)):
			entries = append(entries, importer.Key(key)+" = "+g.secret(key, strings.TrimSpace(value)))
		default:
			entries = append(entries, importer.Key(key)+" = input."+g.input(key, "string"))
		}
	}
	g.content = []string{"multipart = {\n" + strings.Join(entries, "\n") + "\n}"}
}

// plain sends the body as one text.
func (g *generator) plain(mime string) {
	if mime == "" {
		mime = "application/x-www-form-urlencoded"
	}
	g.content = []string{"body = input." + g.input("body", `string("The body of the request")`)}
	g.fields = append(g.fields, "Content-Type = "+importer.Quote(mime))
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
	origin := g.method + " " + g.url.Host
	for _, s := range g.secrets {
		g.result.Blocks = append(g.result.Blocks, importer.Block{File: file, Origin: origin,
			Text: importer.Secret(s.name, s.env)})
	}
	conn := "connection \"http\" " + importer.Quote(g.connection) + " {\n" +
		"base_url = " + importer.Quote(g.url.Scheme+"://"+g.url.Host) + "\n"
	for _, kind := range []string{"bearer", "basic", "header", "query"} {
		switch entries := g.auth[kind]; {
		case len(entries) == 0:
		case kind == "bearer":
			conn += "auth { bearer = " + entries[0] + " }\n"
		default:
			conn += "auth {\n" + kind + " = { " + strings.Join(entries, ", ") + " }\n}\n"
		}
	}
	g.result.Blocks = append(g.result.Blocks, importer.Block{File: file, Origin: origin, Text: conn + "}\n"})

	path := g.result.Describe(g.name, "its path", printedPath(g.template), "", 500)
	description := g.method + " " + path + " of " + g.url.Host +
		". Imported from a command: say here what it does and when to use it."
	text := "tool " + importer.Quote(g.name) + " {\ndescription = " + importer.Quote(description) + "\n"
	if d, err := time.ParseDuration(g.timeout + "s"); err == nil && d > 0 {
		text += fmt.Sprintf("timeout = %q\n", d.String())
	}
	block := importer.HTTP{Connection: g.connection, Method: g.method, URL: g.template, Query: importer.Map(queries),
		Headers: importer.Map(g.fields), Rest: g.content}
	text += strings.Join(g.inputs, "") + "\n" + block.Block() + "}\n"
	file = importer.FileName(g.name)
	g.result.Blocks = append(g.result.Blocks, importer.Block{File: file, Origin: origin, Text: text})
	g.lose("description to write", "a command does not say what it is for")
	for _, o := range g.ignored {
		g.lose("option left out", o+" has no counterpart in a tool")
	}
}

// printedPath returns a path for a description: {order_id} in place of interpolations.
func printedPath(template string) string {
	return strings.ReplaceAll(template, "${input.", "{")
}
