package view

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"sync"

	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/js"

	"hatchel/hcl"
	"hatchel/hcl/value"
)

// MediaType is that of an app.
const MediaType = "text/html;profile=mcp-app"

var (
	//go:embed assets/app.html
	page string
	//go:embed assets/app.css
	style string
	//go:embed assets/app.js
	script string
)

// App is the app of one tool. It is immutable.
type App struct {
	Tool string
	URI  string // differs from that of an app with another content
	HTML string
}

// New returns the app of a tool of a server; nil for a tool without a view. Tools returns the tool of a name, nil for
// none.
func New(server string, t *hcl.Tool, tools func(name string) *hcl.Tool) *App {
	if t.View == nil {
		return nil
	}
	declared, err := json.Marshal(declare(t, tools))
	if err != nil {
		panic(err) // it has texts, numbers and values that are sent as JSON
	}
	a := &App{Tool: t.Name}
	a.HTML = strings.NewReplacer("{{.Policy}}", Policy(), "{{.Title}}", html.EscapeString(titleOf(t)),
		"{{.Style}}", served().style, "{{.View}}", string(declared), "{{.Script}}", served().script).Replace(page)
	sum := sha256.Sum256([]byte(a.HTML))
	a.URI = "ui://" + url.PathEscape(server) + "/" + t.Name + "/" + hex.EncodeToString(sum[:4])
	return a
}

// AppendContents appends the member of a result of resources/read that has the app. It allows no origin and no
// permission.
func (a *App) AppendContents(dst []byte) []byte {
	dst = value.AppendString(append(dst, `"contents":[{"uri":`...), a.URI)
	dst = value.AppendString(append(dst, `,"mimeType":"`+MediaType+`","text":`...), a.HTML)
	return append(dst, `,"_meta":{"ui":{"csp":{},"prefersBorder":true}}}]`...)
}

// sources are the style sheet and the script as they are served: minified, with the names that they are written with.
type sources struct{ style, script string }

var served = sync.OnceValue(func() sources {
	var out sources
	m := minify.New()
	m.AddFunc("css", css.Minify)
	m.Add("js", &js.Minifier{KeepVarNames: true})
	for _, s := range []struct {
		kind, source string
		dst          *string
	}{{"css", style, &out.style}, {"js", script, &out.script}} {
		var err error
		if *s.dst, err = m.String(s.kind, s.source); err != nil {
			panic(err) // the sources are in the program
		}
	}
	return out
})

// Policy returns the content security policy of an app, which holds in addition to that of the host: nothing is loaded,
// and nothing runs but the script.
func Policy() string { return policy() }

var policy = sync.OnceValue(func() string {
	return fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; form-action 'none'; base-uri 'none'",
		hashOf(served().script), hashOf(served().style))
})

func hashOf(source string) string {
	sum := sha256.Sum256([]byte(source))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
