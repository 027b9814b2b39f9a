package curl

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
)

// maxInputs is the maximum number of members of a body that become inputs of their own.
const maxInputs = 12

// Import generates a tool, and the connection of its host, from the words of a curl command. The name of the tool
// follows from the method and the path when it is empty. No credential of the command is in the result.
func Import(words []string, name string) (*importer.Result, error) {
	req, err := parse(slices.Clone(words))
	if err != nil {
		return nil, err
	}
	g := &generator{request: req, result: new(importer.Result), names: importer.Names{}}
	g.connection, g.secretNames = connectionName(req.url), importer.Names{}
	g.path()
	if name == "" {
		name = toolName(req.method, g.words, strings.HasSuffix(g.template, "}"))
	}
	if g.name = name; importer.Identifier(name) != name {
		return nil, fmt.Errorf("--name %s is not the name of a tool; %s is", name, importer.Identifier(name))
	}
	g.result.Source = "curl " + name
	g.query()
	g.headers()
	g.body()
	g.write()
	return g.result, nil
}

// generator generates the blocks of one command.
type generator struct {
	*request
	result     *importer.Result
	names      importer.Names // of inputs
	name       string
	connection string
	words      []string // constant words of the path
	template   string   // of the path
	inputs     []string
	queries    []string // entries of query
	fields     []string // entries of headers
	content    []string // the argument with the body
	secrets    []secret
	auth       map[string][]string // entries of the arguments of auth

	secretNames importer.Names
}

func (g *generator) lose(kind, detail string) { g.result.Lose(g.name, kind, detail, "") }

// secret declares a secret and returns the reference to it. The same value is one secret. A value that is a shell
// variable gives the name of the environment variable; otherwise it is only compared.
func (g *generator) secret(what, value string) string {
	name := importer.Identifier(g.connection + "_" + what)
	for _, s := range g.secrets {
		if s.value == value && s.base == name {
			return "secret." + s.name
		}
	}
	s := secret{base: name, name: g.secretNames.Take(name, 60), value: value}
	s.env = strings.ToUpper(s.name)
	if parts := strings.Split(value, reference); len(parts) == 3 && parts[0] == "" && parts[2] == "" {
		s.env = parts[1]
	}
	g.secrets = append(g.secrets, s)
	g.result.Export(s.env)
	return "secret." + s.name
}

// secret is a declared secret with the value that it has in the command, which is never written.
type secret struct{ base, name, env, value string }

// connectionName returns the name of the connection of a host: github for api.github.com.
func connectionName(u *url.URL) string {
	host := u.Hostname()
	if net.ParseIP(host) != nil || !strings.Contains(host, ".") {
		return importer.Identifier("host " + host)
	}
	labels := strings.Split(host, ".")
	name := labels[len(labels)-2]
	if len(labels) > 2 && len(name) <= 3 {
		name = labels[len(labels)-3] // example.co.uk
	}
	return importer.Identifier(name)
}

// path makes inputs of the words of the path that look like ids.
func (g *generator) path() {
	last := ""
	for _, word := range strings.Split(strings.Trim(g.url.EscapedPath(), "/"), "/") {
		plain, err := url.PathUnescape(word)
		if err != nil {
			plain = word
		}
		plain = strings.ReplaceAll(plain, "__hatchel__", reference)
		typ, isID := looksLikeID(plain)
		switch {
		case word == "":
		case isID:
			what := "id"
			if parts := strings.Split(plain, reference); len(parts) == 3 {
				what = parts[1]
			} else if last != "" {
				what = singular(last) + "_id"
			}
			g.template += "/${input." + g.input(what, typ) + "}"
		default:
			g.words = append(g.words, plain)
			last = plain
			g.template += "/" + strings.ReplaceAll(strings.ReplaceAll(word, "${", "%24%7B"), "%{", "%25%7B")
		}
	}
	if g.template == "" || strings.HasSuffix(g.url.Path, "/") {
		g.template += "/"
	}
}

// singular returns a plural without its ending.
func singular(word string) string {
	word = importer.Identifier(word)
	switch {
	case strings.HasSuffix(word, "ies") && len(word) > 4:
		return word[:len(word)-3] + "y"
	case strings.HasSuffix(word, "ss") || len(word) < 4:
		return word
	}
	return strings.TrimSuffix(word, "s")
}

// toolName returns a name such as list_orders, get_order or create_order.
func toolName(method string, words []string, one bool) string {
	noun := "root"
	if len(words) > 0 {
		noun = importer.Identifier(words[len(words)-1])
	}
	verb := map[string]string{"GET": "list", "HEAD": "check", "POST": "create", "PUT": "replace", "PATCH": "update",
		"DELETE": "delete"}[method]
	plural := singular(noun) != noun
	switch {
	case method == "GET" && (one || !plural):
		verb = "get"
	case method == "POST" && (one || !plural):
		verb = "post"
	}
	if verb != "list" {
		noun = singular(noun)
	}
	return importer.Names{}.Take(verb+"_"+noun, 50)
}

// input adds an input and returns its name.
func (g *generator) input(name, typ string) string {
	name = g.names.Take(importer.Identifier(name), 60)
	g.inputs = append(g.inputs, importer.Input(name, typ))
	return name
}

// query makes an optional input of each parameter, with the value of the command as its default.
func (g *generator) query() {
	var keys []string
	values := map[string][]string{}
	for part := range strings.SplitSeq(g.url.RawQuery, "&") {
		key, value, _ := strings.Cut(part, "=")
		if key = unescape(key); key == "" {
			continue
		}
		if values[key] == nil {
			keys = append(keys, key)
		}
		values[key] = append(values[key], unescape(value))
	}
	for _, key := range keys {
		value := values[key][0]
		entry := ""
		switch {
		case isCredential(key, value):
			entry = g.secret(key, value)
		case strings.Contains(strings.Join(values[key], ""), reference):
			entry = "input." + g.input(key, "optional(string)")
		case importer.Steers(key + " " + strings.Join(values[key], " ")):
			g.lose("default left out", "the value of "+key+" instructs models")
			entry = "input." + g.input("parameter", "optional(string)")
		case len(values[key]) > 1:
			entry = "input." + g.input(key, "optional(list(string), ["+strings.Join(quoteAll(values[key]), ", ")+"])")
		default:
			entry = "input." + g.input(key, "optional("+scalar(value)+")")
		}
		g.queries = append(g.queries, importer.Key(key)+" = "+entry)
	}
}

func quoteAll(values []string) (quoted []string) {
	for _, v := range values {
		quoted = append(quoted, importer.Quote(v))
	}
	return quoted
}

// scalar returns the type and the literal of a value of a query.
func scalar(value string) string {
	switch {
	case number.MatchString(value) && len(value) < 16 && (value == "0" || value[0] != '0'):
		return "integer, " + value
	case value == "true" || value == "false":
		return "bool, " + value
	}
	return "string, " + importer.Quote(value)
}

func unescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

// sentCredential is a way to authenticate with a header.
type sentCredential struct{ header, value string }

// headers separates credentials, which belong to the connection, from constant headers.
func (g *generator) headers() {
	var credentials []sentCredential
	user := g.user
	for _, h := range g.request.headers {
		name, value := h[0], h[1]
		scheme, token, _ := strings.Cut(value, " ")
		switch lower := strings.ToLower(name); {
		case lower == "authorization" && strings.EqualFold(scheme, "Basic"):
			if user = basicOf(token); user == "" {
				user = "user:" + token
			}
		case lower == "authorization" && strings.EqualFold(scheme, "Bearer"):
			credentials = append(credentials, sentCredential{"", token})
		case isCredential(name, value):
			credentials = append(credentials, sentCredential{name, value})
		case lower == "accept", lower == "user-agent", lower == "content-length", lower == "host",
			lower == "accept-encoding", lower == "connection":
			if lower == "host" {
				g.lose("header left out", "Host")
			}
		case lower == "content-type":
		case strings.Contains(value, reference):
			g.fields = append(g.fields, importer.Key(name)+" = input."+g.input(name, "string"))
		default:
			g.fields = append(g.fields, importer.Key(name)+" = "+importer.Quote(value))
		}
	}
	g.authenticate(user, credentials)
}

// authenticate chooses the argument of auth.
func (g *generator) authenticate(user string, credentials []sentCredential) {
	g.auth = map[string][]string{}
	switch {
	case user != "" && len(credentials) == 0:
		name, password, _ := strings.Cut(user, ":")
		secret := func(what, value string) string {
			if value == "" {
				return `""` // a secret cannot be empty
			}
			return g.secret(what, value)
		}
		g.auth["basic"] = []string{"username = " + secret("user", name), "password = " + secret("password", password)}
		return
	case user != "":
		g.lose("credential left out", "the user and password, because the command has another credential too")
	}
	if len(credentials) == 1 && credentials[0].header == "" {
		g.auth["bearer"] = []string{g.secret("token", credentials[0].value)}
		return
	}
	for _, c := range credentials {
		if c.header == "" {
			g.auth["header"] = append(g.auth["header"], `Authorization = "Bearer ${`+g.secret("token", c.value)+`}"`)
			continue
		}
		scheme, token, ok := strings.Cut(c.value, " ")
		if strings.EqualFold(c.header, "Authorization") && ok && len(scheme) < 12 {
			prefix := strings.TrimSuffix(importer.Quote(scheme+" "), `"`)
			g.auth["header"] = append(g.auth["header"], "Authorization = "+prefix+"${"+g.secret("token", token)+`}"`)
			continue
		}
		value := g.secret(strings.TrimPrefix(strings.ToLower(c.header), "x-"), c.value)
		g.auth["header"] = append(g.auth["header"], importer.Key(c.header)+" = "+value)
	}
}
