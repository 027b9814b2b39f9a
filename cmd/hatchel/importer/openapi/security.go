package openapi

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/hostname"
	"hatchel/internal/lazyregexp"
)

// connection is one connection block: a server and a way to authenticate.
type connection struct {
	name    string
	server  node // of version 3; absent for the server of version 2
	base    string
	schemes []string
	scopes  []string
	unsent  []string // schemes whose place in a request another scheme uses
	query   []entry  // credentials that each tool sends
	uses    int
	first   int
}

// connections are those of one import.
type connections struct {
	*generator
	all      []*connection
	required *bool // once usesSecurity was asked
	byKey    map[string]*connection
	secrets  []*secret
}

// secret is one secret block.
type secret struct {
	name, env, text string
	optional        bool // the service does not require it
}

// block returns the secret block.
func (s *secret) block() string {
	text := importer.Secret(s.name, s.env)
	if s.optional {
		text = "secret " + importer.Quote(s.name) + " {\nenv = " + importer.Quote(s.env) + "\noptional = true\n}\n"
	}
	if s.text != "" {
		return importer.Comment(s.text) + text
	}
	return text
}

func newConnections(g *generator) *connections {
	return &connections{generator: g, byKey: map[string]*connection{}}
}

// of returns the connection of an operation.
func (c *connections) of(op *operation) *connection {
	server := c.doc.get("servers").member("0")
	for _, n := range []node{op.item.get("servers"), op.node.get("servers")} {
		if first := n.member("0"); first.isMap() {
			server = first
		}
	}
	needs := c.requirement(op)
	base := c.serverURL(server)
	id := base + " " + strings.Join(needs.schemes, " ")
	found := c.byKey[id]
	if found == nil {
		found = &connection{server: server, base: base, schemes: needs.schemes, first: len(c.all)}
		c.byKey[id] = found
		c.all = append(c.all, found)
	}
	found.scopes, found.unsent = union(found.scopes, needs.scopes), union(found.unsent, needs.unsent)
	found.uses++
	return found
}

// union appends the words that are not in a list yet.
func union(all, more []string) []string {
	for _, word := range more {
		if !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all
}

// serverURL returns the URL of a server, with its variables in braces.
func (c *connections) serverURL(server node) string {
	raw := server.get("url").text()
	if c.version2 {
		scheme, host := "https", c.doc.get("host").text()
		if schemes := c.doc.get("schemes"); schemes.isList() && !slices.ContainsFunc(slices.Collect(schemes.list()),
			func(n node) bool { return n.text() == "https" }) && schemes.size() > 0 {
			scheme = schemes.member("0").text()
		}
		raw = c.doc.get("basePath").text()
		if host != "" {
			raw = scheme + "://" + host + raw
		}
	}
	raw = strings.TrimRight(strings.TrimSpace(raw), "/")
	if m := schemeVariable.FindStringSubmatch(raw); m != nil {
		raw = cmp.Or(server.at("variables", m[1], "default").text(), "https") + raw[len(m[1])+len("{}"):]
	}
	if isURL(c.doc.doc.location) && !strings.Contains(raw, "{") {
		from, _ := url.Parse(Redacted(c.doc.doc.location))
		if to, err := from.Parse(raw); err == nil && raw == "" {
			raw = from.Scheme + "://" + from.Host
		} else if err == nil {
			raw = to.String()
		}
	}
	raw = strings.TrimRight(raw, "/")
	if strings.HasPrefix(raw, "//") {
		raw = "https:" + raw
	}
	if importer.ContainsCredential(raw) {
		raw = ""
	}
	filled := serverVariable.ReplaceAllString(raw, "x")
	if _, problem := hostname.ParseURL(filled, 0); problem == "" {
		return raw
	}
	rest := ""
	if at, err := url.Parse(filled); strings.HasPrefix(raw, "/") && err == nil && at.RawQuery == "" {
		rest = raw
	}
	return "http://localhost" + rest
}

var (
	serverVariable = lazyregexp.New(`\{([^{}]*)\}`)
	schemeVariable = lazyregexp.New(`^\{([^{}]*)\}://`) // its default is written
)

// finish names the connections, the most used first.
func (c *connections) finish() {
	slices.SortStableFunc(c.all, func(a, b *connection) int {
		return cmp.Or(cmp.Compare(b.uses, a.uses), cmp.Compare(a.first, b.first))
	})
	names := importer.Names{}
	for _, one := range c.all {
		name := c.Name
		if len(names) > 0 && len(one.schemes) == 0 && c.all[0].base == one.base {
			name += "_public"
		}
		one.name = names.Take(name, 60)
	}
}

// firstOf returns the first connection to the server of a connection. It has the name of the variables of the server.
func (c *connections) firstOf(one *connection) *connection {
	i := slices.IndexFunc(c.all, func(other *connection) bool {
		return other.base == one.base && (other.server.Node == one.server.Node || !serverVariable.MatchString(one.base))
	})
	return c.all[i]
}

// secret returns the reference to a secret of a scheme.
func (c *connections) secret(part, text string) string {
	name := importer.Identifier(c.Name + "_" + part)
	if !slices.ContainsFunc(c.secrets, func(s *secret) bool { return s.name == name }) {
		c.secrets = append(c.secrets, &secret{name: name, env: strings.ToUpper(name), text: text})
	}
	return "secret." + name
}

// addSecret adds the secret of a parameter, unless a secret has its name. One that an operation requires is required.
func (c *connections) addSecret(s *secret) {
	if s == nil {
		return
	}
	i := slices.IndexFunc(c.secrets, func(other *secret) bool { return other.name == s.name })
	if i < 0 {
		one := *s
		c.secrets = append(c.secrets, &one)
		return
	}
	c.secrets[i].optional = c.secrets[i].optional && s.optional
}

// credentials are the arguments of a connection that authenticate.
type credentials struct {
	auth           string // the body of the auth block
	headers, query []entry
	comments       []string
}

// credentialsOf maps the schemes of a connection.
func (c *connections) credentialsOf(one *connection) (out credentials) {
	var cookies []string
	for i, name := range one.schemes {
		n := c.scheme(name)
		part := importer.Identifier(name)
		text := readText(n.get("description").text(), 150, c.schemeLoser(name))
		switch strings.ToLower(n.get("type").text()) {
		case "basic":
			out.basic(c, text)
		case "http":
			switch scheme := strings.ToLower(n.get("scheme").text()); scheme {
			case "basic":
				out.basic(c, text)
			case "bearer":
				out.auth = "bearer = " + c.secret("token", text)
			default:
				prefix := strings.TrimSuffix(importer.Quote(n.get("scheme").text()+" "), `"`)
				out.headers = append(out.headers, entry{"Authorization", prefix + "${" + c.secret(part, text) + `}"`})
			}
		case "apikey":
			e := entry{n.get("name").text(), c.secret(part, text)}
			switch strings.ToLower(n.get("in").text()) {
			case "query":
				out.query = append(out.query, e)
			case "cookie":
				cookies = append(cookies, e.key+"=${"+e.value+"}")
			default:
				out.headers = append(out.headers, e)
			}
		case "oauth2":
			out.oauth2(c, n, one, text, i)
		default:
			out.auth = "bearer = " + c.secret("token", text)
			at := Redacted(n.get("openIdConnectUrl").text())
			out.comments = append(out.comments, "A token by OpenID Connect: "+at)
		}
	}
	if cookies != nil {
		out.headers = append(out.headers, entry{"Cookie", `"` + strings.Join(cookies, "; ") + `"`})
	}
	for _, name := range one.unsent {
		why := "another scheme uses " + c.placeOf(name)
		c.schemeLoser(name)("authentication left out", why)
		out.comments = append(out.comments, "The scheme "+name+" is not sent: "+why+".")
	}
	return out
}

// schemeLoser reports losses of a scheme, each once.
func (c *connections) schemeLoser(name string) func(kind, detail string) {
	return func(kind, detail string) {
		c.loseOnce("scheme "+name, kind, detail, c.schemesOfDocument().get(name).place())
	}
}

func (out *credentials) basic(c *connections, text string) {
	user, password := c.secret("username", text), c.secret("password", "")
	out.auth = "basic = { username = " + user + ", password = " + password + " }"
}

// oauth2 uses the client credentials flow, or a token from another flow.
func (out *credentials) oauth2(c *connections, n node, one *connection, text string, i int) {
	flow := n.at("flows", "clientCredentials")
	if c.version2 && n.get("flow").text() == "application" {
		flow = n
	}
	at, err := url.Parse(flow.get("tokenUrl").text())
	if err == nil && at.Scheme == "" && at.Host == "" && at.Path != "" {
		if base, baseErr := url.Parse(serverVariable.ReplaceAllString(one.base, "x")); baseErr == nil {
			at = base.ResolveReference(at)
		}
	}
	if !flow.isMap() || err != nil || at.Scheme != "https" || at.Host == "" || i > 0 {
		out.auth = "bearer = " + c.secret("token", text)
		if len(one.scopes) > 0 {
			scopes := strings.Join(limited(one.scopes, 20), ", ")
			out.comments = append(out.comments, "The token needs the scopes "+scopes+".")
		}
		return
	}
	at.User = nil
	lines := []string{"token_url = " + importer.Quote(at.String()), "client_id = " + c.secret("client_id", ""),
		"client_secret = " + c.secret("client_secret", "")}
	if len(one.scopes) > 0 {
		quoted := make([]string, len(one.scopes))
		for i, s := range slices.Sorted(slices.Values(one.scopes)) {
			quoted[i] = importer.Quote(s)
		}
		lines = append(lines, "scopes = ["+strings.Join(quoted, ", ")+"]")
	}
	out.auth = "oauth2 {\n" + strings.Join(lines, "\n") + "\n}"
}

func limited(all []string, n int) []string {
	if len(all) > n {
		return append(slices.Clone(all[:n]), fmt.Sprintf("and %d more", len(all)-n))
	}
	return all
}

// otherServers lists the servers that are not used, as comments.
func (g *generator) otherServers() string {
	var out strings.Builder
	i := 0
	for s := range g.doc.get("servers").list() {
		if i++; i == 1 || i > 6 {
			continue
		}
		text := "Also " + Redacted(s.get("url").text())
		lose := func(kind, detail string) { g.loseOnce("servers", kind, detail, s.place()) }
		if d := readText(s.get("description").text(), 80, lose); d != "" {
			text += ": " + d
		}
		out.WriteString(importer.Comment(strings.ReplaceAll(text, "\n", " ")))
	}
	return out.String()
}
