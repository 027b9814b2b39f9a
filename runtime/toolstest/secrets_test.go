package toolstest_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/runtime/toolstest"
)

// encodings are the forms in which a secret may be sent.
var encodings = map[string]func(string) string{
	"raw":           func(s string) string { return s },
	"query":         url.QueryEscape,
	"path":          url.PathEscape,
	"JSON":          func(s string) string { q := fmt.Sprintf("%q", s); return q[1 : len(q)-1] },
	"hex":           func(s string) string { return hex.EncodeToString([]byte(s)) },
	"base64":        func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 of URL": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"basic":         func(s string) string { return base64.StdEncoding.EncodeToString([]byte("me:" + s)) },
}

func newSecret(r *rand.Rand) string {
	const letters = `abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=&%"\ -_.~`
	secret := make([]byte, 12+r.IntN(20))
	for i := range secret {
		secret[i] = letters[r.IntN(len(letters))]
	}
	return string(secret)
}

// questions ask each kind of backend with a text.
var questions = map[string]func(t *testing.T, m *toolstest.Mocks, text string){
	"http": func(t *testing.T, m *toolstest.Mocks, text string) {
		for _, address := range []string{"http://shop.test/x", "http://shop.test/" + url.PathEscape(text)} {
			body := strings.NewReader("x " + text + " y")
			req, err := http.NewRequest("POST", address+"?a="+url.QueryEscape(text), body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Key", text)
			_, _ = m.RoundTrip(&adapters.HTTPRequest{Request: req})
		}
	},
	"sql": func(t *testing.T, m *toolstest.Mocks, text string) {
		tx := m.Begin(adapters.Database{Connection: "x", Kind: "postgres"}, true)
		_, _ = tx.Execute(t.Context(), &adapters.Statement{Text: "SELECT '" + text + "'", Args: []any{text}})
	},
	"shell": func(t *testing.T, m *toolstest.Mocks, text string) {
		_, _ = m.Run(t.Context(), &adapters.Program{Argv: []string{"curl", text}, Stdin: []byte(text),
			Env: []adapters.EnvVar{{Name: "KEY", Value: text}}})
	},
}

func TestNoSecretIsShownInAnyEncoding(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		secret := newSecret(r)
		nearest := &toolstest.Mock{Kind: "http", Times: 1, Request: map[string]any{
			"path": "http://shop.test/x", "body": secret}}
		for kind, ask := range questions {
			m := toolstest.New(toolstest.Setup{Mocks: []*toolstest.Mock{nearest}, Dir: "/",
				Secrets: []toolstest.Secret{{Text: secret}}})
			for _, encode := range encodings {
				ask(t, m, encode(secret))
			}
			if len(m.Sent()) < len(encodings) {
				t.Fatalf("%d questions", len(m.Sent()))
			}
			shown := fmt.Sprint(m.Sent(), m.Problems())
			for form, encode := range encodings {
				if strings.Contains(shown, encode(secret)) {
					t.Fatalf("%q, sent to %s, is shown as %s in\n%s", secret, kind, form, shown)
				}
			}
		}
	}
}
