package curl

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/credential"
	"hatchel/internal/lazyregexp"
)

// maxInputs is the maximum number of members of a body that become inputs of their own.
const maxInputs = 12

// Import generates a tool, and the connection of its host, from a curl command. The name of the tool follows from the
// method and the path when it is empty. No credential of the command is in the result. The blocks of the directory, by
// their headers, may be nil: a connection of the directory that cannot send the request keeps its name, and the tool
// has another one.
func Import(c Command, name string, blocks map[string]string) (*importer.Result, error) {
	for i := 1; ; i++ {
		g, err := generate(c, name, i)
		if err != nil {
			return nil, err
		}
		if other, taken := blocks["connection http "+g.connection]; !taken || reaches(other, g.connectionText()) {
			return g.result, nil
		}
	}
}

// generate generates the blocks of a command. The name of its connection has a number from 2 on.
func generate(c Command, name string, number int) (*generator, error) {
	c.Words = slices.Clone(c.Words)
	req, err := parse(c)
	if err != nil {
		return nil, err
	}
	g := &generator{request: req, result: new(importer.Result), names: importer.Names{}}
	g.connection, g.secretNames = connectionName(req.url), importer.Names{}
	if g.server != nil && g.server.connection != "" {
		g.connection = g.server.connection
	}
	if number > 1 {
		g.connection += fmt.Sprintf("_%d", number)
	}
	g.path()
	if name == "" {
		name = toolName(req.method, g.words, strings.HasSuffix(g.template, "}"))
	}
	if g.name = name; importer.Identifier(name) != name {
		return nil, fmt.Errorf("--name %s is not the name of a tool; %s is", name, importer.Identifier(name))
	}
	g.result.Source = "curl " + name
	g.query()
	g.body()
	g.headers()
	g.decode()
	g.write()
	return g, nil
}

// connectionText returns the block of the connection.
func (g *generator) connectionText() string {
	for _, b := range g.result.Blocks {
		if strings.HasPrefix(b.Text, "connection ") {
			return b.Text
		}
	}
	return ""
}

// generator generates the blocks of one command.
type generator struct {
	*request
	result      *importer.Result
	names       importer.Names // of inputs
	name        string
	connection  string
	words       []string // constant words of the path
	template    string   // of the path
	inputs      []string
	queries     []string // entries of query
	fields      []string // entries of headers
	content     []string // the argument with the body
	contentType string   // a header for the body; empty if its argument says it
	mediaType   string   // of the response, if it is known
	decoding    string   // how the response is decoded; empty for JSON
	secrets     []secret
	auth        map[string][]string // entries of the arguments of auth

	secretNames importer.Names
}

// plainHeader matches the name of a header.
var plainHeader = lazyregexp.New("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// lose reports a loss of the tool. It hides lose of request, whose losses are reported with them.
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
	if parts := strings.Split(value, reference); len(parts) == 3 && parts[0] == "" && parts[2] == "" &&
		!strings.HasPrefix(parts[1], "-") {
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

// path makes inputs of the words of the path that look like ids, and secrets of those that are credentials.
func (g *generator) path() {
	last := ""
	escaped := g.url.EscapedPath()
	keys := g.credentialsOfPath(escaped)
	at := 0
	for i, word := range strings.Split(escaped, "/") {
		start, end := at, at+len(word)
		at = end + 1
		plain, err := url.PathUnescape(word)
		if err != nil {
			plain = word
		}
		if i > 0 {
			g.template += "/"
		}
		typ, isID := looksLikeID(plain)
		switch {
		case word == "":
		case overlaps(keys, start, end):
			m := keys[slices.IndexFunc(keys, func(k [2]int) bool { return k[0] < end && k[1] > start })]
			from, to := max(m[0], start), min(m[1], end)
			what := "key"
			if last != "" {
				what = singular(last)
			}
			g.template += constantPath(escaped[start:from]) + "${" +
				g.secret(what, strings.ReplaceAll(pathText(escaped[from:to]), mark, reference)) + "}" +
				constantPath(escaped[to:end])
		case strings.Contains(word, mark):
			g.referencesOfPath(word)
		case isID:
			what := "id"
			if name := strings.TrimPrefix(strings.ToUpper(plain), "YOUR_"); stand.MatchString(plain) &&
				strings.Trim(name, "X*.…") != "" {
				what = strings.ToLower(name)
			} else if last != "" {
				what = singular(last) + "_id"
			}
			if isRandomWord(plain) {
				g.request.lose("id or credential", "a word of the path that looks random is an input: write a secret "+
					"in its place if it is a credential")
			}
			g.template += "${input." + g.input(what, typ) + "}"
		default:
			g.words = append(g.words, plain)
			last = plain
			g.template += constantPath(word)
		}
	}
	if g.template == "" {
		g.template = "/"
	}
}

func pathText(escaped string) string {
	if plain, err := url.PathUnescape(escaped); err == nil {
		return plain
	}
	return escaped
}

// constantPath returns a part of an escaped path for a template.
func constantPath(escaped string) string {
	if before, ok := strings.CutSuffix(escaped, "$"); ok { // it would escape an interpolation behind it
		escaped = before + "%24"
	}
	return strings.ReplaceAll(strings.ReplaceAll(escaped, "${", "%24%7B"), "%{", "%25%7B")
}

// credentialsOfPath returns where the path has credentials: what services are known to put there, and words that look
// random behind one that says so, such as hooks and keys.
func (g *generator) credentialsOfPath(escaped string) (found [][2]int) {
	before := g.url.Host
	for _, m := range credential.FindAll(before + escaped) {
		if m.End > len(before) {
			found = append(found, [2]int{max(m.Start-len(before), 0), m.End - len(before)})
		}
	}
	for i := range found { // a match begins with the words by which it is known
		if i == 0 && found[0][0] == 0 {
			found[0][0] = firstRandom(escaped[:found[0][1]])
		}
	}
	at := 0
	last := strings.HasPrefix(g.url.Host, "hooks.") || strings.HasPrefix(g.url.Host, "webhooks.")
	for _, word := range strings.Split(escaped, "/") {
		start, end := at, at+len(word)
		at = end + 1
		names := strings.Split(word, mark)
		switch {
		case overlaps(found, start, end):
		case stand.MatchString(word) && credential.IsName(word):
			found = append(found, [2]int{start, end})
		case len(names) == 3 && credential.IsName(strings.TrimPrefix(names[1], "-")):
			from := start + len(names[0])
			found = append(found, [2]int{from, end - len(names[2])})
		case last && (isRandomWord(pathText(word)) || stand.MatchString(word)):
			found = append(found, [2]int{start, end})
		}
		last = last || credential.MayBeName(word) || hookWord.MatchString(word)
	}
	return found
}

// hookWord matches words of paths behind which services put credentials.
var hookWord = lazyregexp.New(`(?i)^(in|out)?(coming|going)?[-_]?(web)?hooks?[0-9]*$|^catch$`)

// firstRandom returns where the credential of a path begins: at its first word that mixes letters and digits.
func firstRandom(path string) int {
	at := 0
	for _, word := range strings.Split(path, "/") {
		if digits := strings.ContainsAny(word, "0123456789"); digits && len(word) > 4 {
			return at + len(word) - len(strings.TrimLeft(word, "abcdefghijklmnopqrstuvwxyz"))
		}
		at += len(word) + 1
	}
	return max(strings.LastIndexByte(path, '/')+1, 0)
}

func overlaps(ranges [][2]int, start, end int) bool {
	return slices.ContainsFunc(ranges, func(r [2]int) bool { return r[0] < end && r[1] > start })
}

// referencesOfPath makes inputs of the variables in a word of the path. What is around them stays.
func (g *generator) referencesOfPath(word string) {
	for i, part := range strings.Split(word, mark) {
		if i%2 == 0 {
			g.template += constantPath(part)
			continue
		}
		g.template += "${input." + g.input(part, "string") + "}"
	}
}

// sibilant matches plurals with es.
var sibilant = lazyregexp.New(`(ch|sh|x|ss)es$`)

// singular returns a plural without its ending.
func singular(word string) string {
	word = importer.Identifier(word)
	switch {
	case strings.HasSuffix(word, "ies") && len(word) > 4:
		return word[:len(word)-3] + "y"
	case sibilant.MatchString(word):
		return strings.TrimSuffix(word, "es")
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
		if key = strings.ReplaceAll(unescape(key), mark, ""); key == "" {
			if value != "" {
				g.lose("parameter left out", "a parameter of the query has no name")
			}
			continue
		}
		if plain := unescape(value); !utf8.ValidString(plain) || strings.Contains(plain, "\x00") {
			g.lose("default left out", "the value of "+key+" is not text in UTF-8")
			value = mark + mark
		}
		if values[key] == nil {
			keys = append(keys, key)
		}
		values[key] = append(values[key], strings.ReplaceAll(unescape(value), mark, reference))
	}
	for _, key := range keys {
		value := values[key][0]
		entry := ""
		switch {
		case isCredential(key, value) && !isDataName(key), namesCredential(value):
			entry = g.secret(key, value)
		case importer.ContainsCredential(value), credential.LooksRandom(value):
			entry = "input." + g.input(key, "optional(string)")
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
	case isInteger(value):
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
