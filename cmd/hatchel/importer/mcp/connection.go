package mcp

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/credential"
	"hatchel/internal/hostname"
)

// connection returns the block of a server.
func (g *generator) connection() (string, error) {
	s := g.server
	var lines []string
	line := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	var err error
	if s.command != nil {
		lines, err = g.program(lines)
	} else {
		lines, err = g.address(lines)
	}
	if err != nil {
		return "", err
	}
	line("definitions = %s", importer.Quote(g.definitions()))
	if len(g.Asks) > 0 {
		var asks []string
		for _, ask := range g.Asks {
			asks = append(asks, importer.Quote(ask))
		}
		line("asks = [%s]", strings.Join(asks, ", "))
		if hosts := g.askHosts(); hosts != "" {
			line("ask_hosts = [%s]", hosts)
		}
	}
	if s.command != nil {
		lines, err = g.environment(lines)
	} else {
		lines, err = g.sentHeaders(lines)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("connection \"mcp\" %s {\n%s\n}", importer.Quote(s.Name), strings.Join(lines, "\n")), nil
}

// askHosts returns the hosts of pages that the server may open: those of the options, or else that of its URL.
func (g *generator) askHosts() string {
	if !slices.Contains(g.Asks, "elicitation.url") {
		return ""
	}
	hosts := g.AskHosts
	if constant, ok := g.server.url.constant(); ok && len(hosts) == 0 {
		if u, _ := hostname.ParseURL(constant, hostname.User|hostname.Query|hostname.Fragment); u != nil {
			hosts = []string{u.Hostname()}
		}
	}
	var quoted []string
	for _, host := range hosts {
		quoted = append(quoted, importer.Quote(host))
	}
	return strings.Join(quoted, ", ")
}

// address writes the URL of a server. Its credentials become those of auth.
func (g *generator) address(lines []string) ([]string, error) {
	t := g.server.url
	if constant, ok := t.constant(); ok {
		u, problem := hostname.ParseURL(constant, hostname.User|hostname.Query|hostname.Fragment)
		if u == nil {
			return nil, fmt.Errorf("its URL is not valid: %s", problem)
		}
		if u.User != nil {
			password, _ := u.User.Password()
			if password == "" {
				return nil, errors.New("its URL has a user without a password: write the connection by hand")
			}
			g.basic(u.User.Username(), password)
			u.User = nil
		}
		var kept []string
		for pair := range strings.SplitSeq(u.RawQuery, "&") {
			name, value, _ := strings.Cut(pair, "=")
			name, _ = url.QueryUnescape(name)
			value, _ = url.QueryUnescape(value)
			if !isCredential(name, value) {
				kept = append(kept, pair)
				continue
			}
			return nil, fmt.Errorf(queryText, name)
		}
		u.RawQuery, u.Fragment = strings.Join(kept, "&"), ""
		if constant = u.String(); importer.ContainsCredential(constant) || slices.ContainsFunc(
			strings.Split(u.Path, "/"), credential.LooksRandom) {
			return nil, errCredentialInPath
		}
		t = text{{text: constant}}
	}
	expression, err := g.expression("url", t)
	switch {
	case err != nil:
		return nil, err
	case strings.Contains(expression, "secret."):
		return nil, errors.New("its URL has a credential, and credentials are sent in headers: ask the service for " +
			"the header, and import it with --url and --header")
	}
	return append(lines, "url = "+expression), nil
}

// basic sets a user and a password.
func (g *generator) basic(user, password string) {
	g.auth = append(g.auth, "basic = { username = "+importer.Quote(user)+", password = secret."+
		g.valueSecret("password", password)+" }")
}

// sentHeaders writes the headers of a server, and those that authenticate as auth.
func (g *generator) sentHeaders(lines []string) ([]string, error) {
	var plain, keys []string
	for _, h := range g.server.headers {
		if slices.ContainsFunc(ownHeaders, func(name string) bool { return strings.EqualFold(name, h.name) }) {
			g.result.Lose(g.server.Name, "header left out", h.name+" is set for each request", g.server.Origin)
			continue
		}
		if strings.EqualFold(h.name, "Authorization") {
			if token, ok := h.value.after("Bearer "); ok {
				expression, err := g.token(token)
				if err != nil {
					return nil, err
				}
				g.auth = append(g.auth, "bearer = "+expression)
				continue
			}
		}
		expression, err := g.expression(h.name, h.value)
		if err != nil {
			return nil, err
		}
		entry := importer.Key(h.name) + " = " + expression
		if strings.Contains(expression, "secret.") {
			keys = append(keys, entry)
		} else {
			plain = append(plain, entry)
		}
	}
	if keys != nil {
		g.auth = append(g.auth, "header = "+importer.Map(keys))
	}
	if plain != nil {
		lines = append(lines, "headers = "+importer.Map(plain))
	}
	if g.OAuth != nil && g.auth == nil {
		g.auth = append(g.auth, g.oauth2())
	}
	switch len(g.auth) {
	case 0:
		return lines, nil
	case 1:
		return append(lines, "auth {\n"+g.auth[0]+"\n}"), nil
	}
	return nil, errors.New("it authenticates in several ways, and a connection has one: write it by hand")
}

// ownHeaders are headers that the client of Hatchel sets.
var ownHeaders = []string{"Accept", "Content-Type", "Content-Length", "Connection", "Host", "Mcp-Session-Id",
	"Mcp-Protocol-Version", "User-Agent"}

// token returns the expression of a token, which is a secret under any name.
func (g *generator) token(t text) (string, error) {
	if constant, ok := t.constant(); ok {
		return "secret." + g.valueSecret("token", constant), nil
	}
	return g.expression("token", t)
}

// after returns the text behind a prefix, in any case.
func (t text) after(prefix string) (text, bool) {
	if len(t) == 0 || t[0].kind != "" || len(t[0].text) < len(prefix) ||
		!strings.EqualFold(t[0].text[:len(prefix)], prefix) {
		return nil, false
	}
	rest := append(text{{text: t[0].text[len(prefix):]}}, t[1:]...)
	if rest[0].text == "" {
		rest = rest[1:]
	}
	return rest, true
}

const queryText = "the parameter %s of its URL is a credential, and credentials are sent in headers, which no log of " +
	"a server on the way has: ask the service for the header, and import it with --url and --header"

const argumentText = "argument %d of its command has %s, which every process of the machine can read: give it in env"

var errCredentialInPath = errors.New("a part of the path of its URL looks like a credential, which the connection " +
	"would have in its file: if it is none, write the connection by hand; if it is one, ask the service for another " +
	"way to sign in")

// program writes the command of a server.
func (g *generator) program(lines []string) ([]string, error) {
	var words, plain []string
	for i, t := range g.server.command {
		expression, err := g.expression(fmt.Sprintf("the argument %d", i), t)
		if err != nil {
			return nil, err
		}
		if strings.Contains(expression, "secret.") {
			return nil, fmt.Errorf(argumentText, i, "a credential")
		}
		words, plain = append(words, expression), append(plain, t.constants())
	}
	if i, m, found := credential.FindWord(plain); found {
		return nil, fmt.Errorf(argumentText, i, m.Noun)
	}
	return append(lines, "command = ["+strings.Join(words, ", ")+"]"), nil
}

// environment writes the variables of a program and its sandbox.
func (g *generator) environment(lines []string) ([]string, error) {
	var entries []string
	for _, v := range g.server.env {
		if slices.Contains(ownVariables, v.name) {
			g.result.Lose(g.server.Name, "variable left out", v.name+" is that of the sandbox", g.server.Origin)
			continue
		}
		expression, err := g.expression(v.name, v.value)
		if err != nil {
			return nil, err
		}
		entries = append(entries, importer.Key(v.name)+" = "+expression)
	}
	if entries != nil {
		lines = append(lines, "env = "+importer.Map(entries))
	}
	var read []string
	add := func(expression string) {
		if !slices.Contains(read, expression) {
			read = append(read, expression)
		}
	}
	for _, name := range g.server.read {
		add(importer.Quote(name))
	}
	for i, t := range g.server.command {
		if (i > 0 || len(g.server.read) == 0) && t.isPath() {
			expression, err := g.expression("a path", t)
			if err != nil {
				return nil, err
			}
			add(expression)
		}
	}
	if read != nil {
		lines = append(lines, "sandbox {\nread = ["+strings.Join(read, ", ")+"]\n}")
	}
	return lines, nil
}

// ownVariables are those of every program in a sandbox.
var ownVariables = []string{"PATH", "HOME", "TMPDIR"}

// isPath reports whether a word of a command is the absolute path of a file or a directory.
func (t text) isPath() bool {
	if len(t) == 0 {
		return false
	}
	return t[0].kind == "workspace" || t[0].kind == "home" || t[0].kind == "" && strings.HasPrefix(t[0].text, "/")
}

// oauth2 returns the block that gets a token as the metadata of the server says.
func (g *generator) oauth2() string {
	secret := func(name string) string {
		id := g.prefix + "_" + name
		return "secret." + g.secret(&declaration{name: id, env: strings.ToUpper(id)})
	}
	lines := []string{"token_url = " + importer.Quote(g.OAuth.TokenURL), "client_id = " + secret("client_id"),
		"client_secret = " + secret("client_secret")}
	if len(g.OAuth.Scopes) > 0 {
		var scopes []string
		for _, s := range g.OAuth.Scopes {
			scopes = append(scopes, importer.Quote(s))
		}
		lines = append(lines, "scopes = ["+strings.Join(scopes, ", ")+"]")
	}
	if g.OAuth.Resource != "" {
		lines = append(lines, "params = { resource = "+importer.Quote(g.OAuth.Resource)+" }")
	}
	return "oauth2 {\n" + strings.Join(lines, "\n") + "\n}"
}
