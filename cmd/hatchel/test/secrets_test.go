package test_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"hatchel/cmd/hatchel/test"
	"hatchel/hcl/mock"
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

// newQuestions returns questions of a kind of backend that have a text in each place.
func newQuestions(kind, text string) (questions []*mock.Question) {
	for _, taped := range map[string][]map[string]any{
		"http": {
			{"method": "POST", "path": "/" + url.PathEscape(text), "query": map[string]any{"a": text, text: "b"},
				"headers": map[string]any{"x-key": text}, "json": map[string]any{"a": []any{text}, text: 1}},
			{"method": "POST", "url": "http://shop.test/?a=" + url.QueryEscape(text), "body": "x " + text + " y"},
			{"method": "POST", "path": "/x", "form": map[string]any{"a": text}},
		},
		"mcp": {
			{"call": text, "arguments": map[string]any{"a": []any{text}, text: 1}},
			{"call": "x", "arguments": map[string]any{}, "answers": map[string]any{"x.1": map[string]any{"a": text}}},
			{"call": "y " + text},
		},
		"sql": {{"statement": "SELECT '" + text + "'", "args": []any{text, []any{text}}}},
		"shell": {
			{"command": []any{"curl", text}, "stdin": text, "env": map[string]any{"KEY": text}},
			{"script": "echo " + text},
		},
	}[kind] {
		request := maps.Clone(taped)
		delete(request, "method")
		delete(request, "path")
		delete(request, "url")
		questions = append(questions, &mock.Question{
			Kind: kind, Connection: "x", Name: "to ask " + text, Sent: maps.Clone(taped),
			Match: func(c *mock.Matcher, m *mock.Mock, _ bool) {
				c.Part("the text", c.EqualText(text, "x"), taped, text)
				c.Subset("the request", taped, m.Request)
			},
			Taped:   func() map[string]any { return taped },
			Suggest: func() *mock.Mock { return &mock.Mock{Connection: "x", Request: request} },
		})
	}
	return questions
}

func TestNoSecretIsShownInAnyEncoding(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		secret := newSecret(r)
		for _, kind := range kinds.Mocked() {
			nearest := &mock.Mock{Kind: kind, Times: 1, Request: map[string]any{"body": secret}}
			m := test.NewMocks(test.Setup{Kinds: kinds, Mocks: []*mock.Mock{nearest}, Dir: "/",
				Secrets: []test.Secret{{Text: secret}}})
			for _, encode := range encodings {
				for _, q := range newQuestions(kind, encode(secret)) {
					_, _ = m.Ask(t.Context(), q)
				}
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
