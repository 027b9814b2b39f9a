package signin

import (
	"bytes"
	"embed"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"

	"hatchel/runtime/stage/approval"
)

//go:embed templates
var templateFiles embed.FS

var pages = template.Must(template.ParseFS(templateFiles, "templates/*.html"))

// pageError is an error that the person reads on a page.
type pageError struct {
	status int
	text   string // sentences
	back   string // where the program waits for an answer; empty for nowhere
	// isAttack says that only an attack, or an old page, leads here. The audit log has such requests.
	isAttack bool
}

func (e *pageError) Error() string { return e.text }

// otherBrowser is the answer to what no sign-in of this browser has.
var otherBrowser = &pageError{
	status: http.StatusForbidden, isAttack: true,
	text: "This sign-in was begun in another browser, or more than 10 minutes ago. Begin again in your program, " +
		"and do not open links that others have sent you.",
}

// frame is the dot of a template: the page and what is around it.
type frame struct {
	Title   string
	Server  string // the title of the server
	Host    string // of its address
	Style   template.CSS
	Refresh template.HTMLAttr // the attribute of the element that leads on; empty for none
	Data    any
}

// errorData is the data of the page of an error.
type errorData struct {
	Text string
	Back template.URL // that the server has made
}

// leadData is the data of a page that leads on by itself.
type leadData struct {
	Text    string
	Label   string
	Address template.URL // that the server has made
}

// writeErrorPage writes an error for the person.
func (q *request) writeErrorPage(e *pageError) {
	q.writePage(e.status, "error", "Sign-in failed", errorData{e.text, template.URL(e.back)}, "")
}

// lead answers with a page that leads the browser to an address, also to one of a private scheme. It is no redirect
// of a form: browsers apply form-action to the addresses of those.
func (q *request) lead(title, text, label, address string) {
	q.writePage(http.StatusOK, "lead", title, leadData{text, label, template.URL(address)}, address)
}

// writePage writes a page; address is where it leads after it was shown, empty for nowhere.
func (q *request) writePage(status int, name, title string, data any, address string) {
	f := &frame{
		Title: title, Server: q.g.Title(), Host: hostOf(q.decl.URL), Style: template.CSS(q.server.Style), Data: data,
	}
	if address != "" {
		f.Refresh = template.HTMLAttr(`content="0;url=` + template.HTMLEscapeString(address) + `"`)
	}
	var page bytes.Buffer
	if err := pages.ExecuteTemplate(&page, name, f); err != nil {
		q.server.Log.ErrorContext(q.Context(), "sign-in page failed", slog.String("error", err.Error()))
		http.Error(q.writer, "The page failed because of a problem on the server.", http.StatusInternalServerError)
		return
	}
	h := q.writer.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", q.server.policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY") // for browsers without frame-ancestors
	h.Set("Referrer-Policy", "no-referrer")
	// There is no Cross-Origin-Opener-Policy: it would take the window from a client that has opened it.
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	q.writer.WriteHeader(status)
	q.writer.Write([]byte(approval.EscapeText(page.String())))
}

// hostOf returns the host of an address, with its port.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}
