package signin

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"hatchel/hcl"
)

const (
	maxBody  = 64 << 10 // bytes of the body of a request
	formType = "application/x-www-form-urlencoded"
)

// bodyTimeout is how long a body may take to arrive. Tests change it.
var bodyTimeout = 5 * time.Second

// readForm reads the parameters of a request: of its query for GET, of its body for POST. Parameters without a value
// count as absent (RFC 6749, section 3.1).
func (q *request) readForm() error {
	if q.Method != http.MethodPost {
		return q.setForm(q.URL.RawQuery)
	}
	if media, _, err := mime.ParseMediaType(q.Header.Get("Content-Type")); err != nil || media != formType {
		return invalidRequest("send the parameters as " + formType)
	}
	body, err := q.readBody()
	if err != nil {
		return err
	}
	return q.setForm(string(body))
}

func (q *request) setForm(query string) error {
	form, err := url.ParseQuery(query)
	if err != nil {
		return invalidRequest("the parameters cannot be read")
	}
	for name, values := range form {
		form[name] = slices.DeleteFunc(values, func(v string) bool { return v == "" })
	}
	q.form, q.PostForm = form, form
	return nil
}

// checkRepeated returns an error for a parameter that the request has more than once, other than resource (RFC 8707).
func (q *request) checkRepeated(names ...string) error {
	for name, values := range q.form {
		if len(values) > 1 && name != "resource" && (len(names) == 0 || slices.Contains(names, name)) {
			return invalidRequest("a parameter is there more than once")
		}
	}
	return nil
}

// words returns the parts of a parameter between spaces, each once.
func (q *request) words(name string) (words []string) {
	for _, word := range strings.Fields(q.form.Get(name)) {
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// resource returns the resource that a request names; empty for none. The error says that it names several, or one
// for which no token is issued.
func (q *request) resource() (string, error) {
	named := slices.Compact(slices.Sorted(slices.Values(q.form["resource"])))
	switch {
	case len(named) == 0:
		return "", nil
	case len(named) > 1:
		return "", &oauthError{code: "invalid_target", text: "a token is for one resource"}
	}
	if resource, ok := q.ownResource(named[0]); ok {
		return resource, nil
	}
	return "", &oauthError{code: "invalid_target", text: "this server issues no tokens for this resource; its own is " +
		q.decl.Resource("")}
}

// ownResource returns the resource that a text names, in the form of its tokens.
func (q *request) ownResource(text string) (string, bool) {
	text, ok := sameResource(text)
	switch {
	case !ok:
		return "", false
	case text == q.decl.Resource(""):
		return text, true
	}
	if toolset, ok := strings.CutPrefix(text, q.decl.Resource("")+"/"); ok {
		isServed := q.server.Toolset == "" || q.server.Toolset == toolset
		return text, isServed && slices.ContainsFunc(q.g.Config.Toolsets, func(t *hcl.Toolset) bool {
			return t.Name == toolset
		})
	}
	for _, other := range q.decl.Resources {
		if same, _ := sameResource(other); text == same {
			return other, true
		}
	}
	return "", false
}

// sameResource returns the text that all spellings of a resource have in common: those of the scheme and the host, with
// the default port or without it, and with a slash at the end or without it.
func sameResource(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return "", false
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	u.Host = strings.TrimSuffix(u.Host, map[string]string{"http": ":80", "https": ":443"}[u.Scheme])
	return strings.TrimSuffix(u.String(), "/"), true
}
