package server

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"hatchel/hcl"
	"hatchel/runtime/edge/console"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/approval"
)

//go:embed home.html
var homePage string

//go:embed home.css
var homeStyle string

var (
	homeTemplate = template.Must(template.New("home").Parse(homePage))
	homePolicy   = "default-src 'none'; style-src 'sha256-" + homeStyleDigest() + "'; base-uri 'none'; " +
		"form-action 'none'; frame-ancestors 'none'"
)

func homeStyleDigest() string {
	sum := sha256.Sum256([]byte(homeStyle))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// home is what the page at / shows. It names no tools, because everybody may read it.
type home struct {
	Title    string
	Tools    string // how many there are; empty for a stranger
	Endpoint string // the URL of the MCP endpoint
	Style    template.CSS

	Provider string // where clients have people sign in; empty for nowhere

	ClaudeCode, Cursor, VSCode string // what adds the server to these clients

	Console    string // its URL; empty for none
	IsAnywhere bool   // the console is also for other machines
	Command    string // that opens the console
}

// serveHome answers GET / with a page for people who have opened the address of the server, and how many tools a
// caller with a credential, or any caller without auth, may expect.
func (s *Server) serveHome(w http.ResponseWriter, r *http.Request) {
	page := s.newHome(r)
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept")
	h.Set("X-Content-Type-Options", "nosniff")
	if !acceptsType(r, "text/html") {
		h.Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, approval.EscapeText(page.text()))
		return
	}
	var out bytes.Buffer
	if err := homeTemplate.Execute(&out, page); err != nil {
		http.Error(w, "The page failed because of a problem on the server", http.StatusInternalServerError)
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", homePolicy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	fmt.Fprint(w, approval.EscapeText(out.String()))
}

// isHome reports whether a request is for the page at /. The other requests for it are those of clients that have a
// wrong address.
func isHome(r *http.Request) bool {
	return r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		(acceptsType(r, "text/html") || acceptsType(r, "text/plain"))
}

// acceptsType reports whether a request accepts a media type: text/html only if it says so, and others also by a
// range, or by no Accept header.
func acceptsType(r *http.Request, want string) bool {
	values := r.Header.Values("Accept")
	if len(values) == 0 {
		return want != "text/html"
	}
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		media, params, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(part, " ", "")), ";")
		isRange := want != "text/html" && (media == "*/*" || media == "text/*")
		if (media == want || isRange) && params != "q=0" && !strings.HasPrefix(params, "q=0.0") {
			return true
		}
	}
	return false
}

func (s *Server) newHome(r *http.Request) *home {
	config, base := s.Host.Current().Config, s.Host.Current().ServerNames().URL(r)
	at := s.reachAt(base)
	page := &home{
		Title: s.Host.Current().Title(), Endpoint: at.url, Provider: at.provider, Style: template.CSS(homeStyle),
	}
	if s.Host.Authenticator() == nil || mcp.IdentityOf(r.Context()) != nil {
		page.Tools = "1 tool"
		if n := s.Host.Current().Count(s.Toolset, mcp.Tools); n != 1 {
			page.Tools = fmt.Sprint(n, " tools")
		}
	}
	page.addClients(clientName(&config.Server), at.credential == console.Key)
	if decl := s.Host.Current().Console; decl != nil {
		own := s.consoleBase(r, base)
		page.Console = own.JoinPath("/console/").String()
		page.IsAnywhere = s.Host.Authenticator() != nil
		page.Command = "hatchel console --server " + own.String()
	}
	return page
}

// clientName returns a name of the server that every client accepts. A server without a name of its own has its title.
func clientName(server *hcl.Server) string {
	name := server.Name
	if name == "hatchel" && server.Title != "" {
		name = strings.ToLower(server.Title)
	}
	name = strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_':
			return c
		}
		return '-'
	}, name)
	return cmp.Or(strings.Trim(name, "-"), "hatchel")
}

// addClients adds what adds the server to clients. With keys they send the one in the variable HATCHEL_KEY, or ask for
// it.
func (h *home) addClients(name string, keys bool) {
	h.ClaudeCode = "claude mcp add --transport http " + name + " " + h.Endpoint
	cursor := map[string]any{"url": h.Endpoint}
	code := map[string]any{"type": "http", "url": h.Endpoint}
	servers := map[string]any{"servers": map[string]any{name: code}}
	if keys {
		h.ClaudeCode += " \\\n  --header \"Authorization: Bearer $HATCHEL_KEY\""
		cursor["headers"] = map[string]string{"Authorization": "Bearer ${env:HATCHEL_KEY}"}
		code["headers"] = map[string]string{"Authorization": "Bearer ${input:hatchel-key}"}
		servers["inputs"] = []any{map[string]any{
			"type": "promptString", "id": "hatchel-key", "description": "API key of " + name, "password": true,
		}}
	}
	h.Cursor = clientEntry(name, cursor)
	h.VSCode = indented(servers)
}

func indented(v any) string {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return "" // not of maps of texts
	}
	return string(text)
}

// text returns the page for clients that are no browsers.
func (h *home) text() string {
	var b strings.Builder
	fmt.Fprint(&b, h.Title)
	if h.Tools != "" {
		fmt.Fprint(&b, ": ", h.Tools)
	}
	fmt.Fprint(&b, "\n\nMCP endpoint  ", h.Endpoint, "\nClaude Code   ", h.ClaudeCode, "\n")
	if h.Console != "" {
		fmt.Fprint(&b, "Console       ", h.Console, "\n")
	}
	return b.String()
}
