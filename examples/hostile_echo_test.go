package examples_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
)

// mirror is a service that answers with the text that has reached each place of a request.
func mirror(t *testing.T) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen := object{"query": r.URL.Query().Get("s"), "header": r.Header.Get("X-Text"), "body": string(body)}
		if segment, ok := strings.CutPrefix(r.URL.EscapedPath(), "/path/"); ok {
			segment, _ = strings.CutSuffix(segment, "/end")
			seen["segment"], _ = url.PathUnescape(segment)
			seen["escaped"] = segment
		}
		if form, err := url.ParseQuery(string(body)); err == nil && r.URL.Path == "/form" {
			seen["form"] = form.Get("s")
		}
		var m map[string]any
		if json.Unmarshal(body, &m) == nil && r.URL.Path == "/json" {
			for key, v := range m {
				if key == v {
					seen["json"] = v
				}
			}
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(seen)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// never served are texts that some place cannot take, and must refuse.
var unfit = map[string]func(text string) bool{
	"word":     hasNUL,
	"glued":    hasNUL,
	"piped":    hasNUL,
	"env":      hasNUL,
	"script":   hasNUL,
	"heredoc":  hasNUL,
	"segment":  func(s string) bool { return unsafeSegment(s) || strings.ContainsAny(decoded(s), `/`) },
	"segments": func(s string) bool { return unsafeSegment(s) },
	"header":   func(s string) bool { return strings.ContainsAny(s, "\r\n\x00") },
}

func hasNUL(s string) bool { return strings.Contains(s, "\x00") }

// decoded is a text after any number of decodings that something on the way of a URL could apply.
func decoded(s string) string {
	for {
		next, err := url.PathUnescape(s)
		if err != nil || next == s {
			return s
		}
		s = next
	}
}

func unsafeSegment(s string) bool {
	s = decoded(s)
	for segment := range strings.SplitSeq(s, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return true
		}
	}
	return strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f || r == '\\' })
}

func TestHostileTextsArriveByteForByteWhereverATextCanStand(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/echo.hcl")
	if err != nil {
		t.Fatal(err)
	}
	f := example(t, "files")
	f.write("echo.hcl", string(src))
	f.args = []string{"--var", "mirror_url=" + mirror(t)}
	if o := f.run("validate", "."); o.code != 0 {
		t.Fatalf("%s", o.stdout)
	}
	s := f.serve()
	var slots []slot
	for _, name := range []string{"word", "glued", "piped", "stdin", "env", "script", "heredoc", "selected", "segment", "segments", "typed_query", "query", "header", "form", "json", "body", "text", "computed"} {
		slots = append(slots, slot{name, name, func(text any) object { return object{"s": text} }, func(t *testing.T, text string, r *reply) {
			if never := unfit[name]; never != nil && never(text) {
				t.Errorf("%s: %.200q was served: %.200q", name, text, r.text())
				return
			}
			got := r.text()
			if r.Structured != nil {
				r.into(t, &got)
			}
			switch name {
			case "glued", "text", "header":
				text = "<" + text + ">"
			case "heredoc":
				text = "<" + text + ">\n"
			case "word", "piped", "stdin", "env", "script": // the byte order mark of what a program prints
				text = strings.TrimPrefix(text, "\ufeff")
			}
			same(t, name, got, text)
		}})
	}
	f.attack(t, s, slots)
}
