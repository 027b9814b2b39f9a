package openapi

import (
	"slices"
	"strings"
)

// requirement is what an operation requires to authenticate.
type requirement struct {
	schemes, scopes []string
	unsent          []string // as in connection
}

// requirement returns the first alternative that can be sent, or else the first of which a part can be sent.
func (c *connections) requirement(op *operation) (found requirement) {
	list := op.node.get("security")
	if !list.isList() {
		list = c.doc.get("security")
	}
	if !list.isList() && !c.usesSecurity() {
		for name := range c.schemesOfDocument().members() { // declared and required nowhere: a common mistake
			if c.canSend(name) {
				return requirement{schemes: []string{name}}
			}
		}
		return found
	}
	for alternative := range list.list() {
		one, ok := c.readAlternative(alternative)
		if ok && (found.schemes == nil || found.unsent != nil && one.unsent == nil) {
			found = one
		}
	}
	if found.schemes == nil && list.size() > 0 && list.member("0").size() > 0 {
		c.loseOnce(op.label(), "authentication left out", "its scheme cannot be sent", list.place())
	}
	return found
}

// readAlternative reads the schemes of an alternative. Of schemes with one place, such as the header Authorization, the
// first is sent. ok is false if a scheme cannot be sent.
func (c *connections) readAlternative(n node) (found requirement, ok bool) {
	used := map[string]bool{}
	for name, scopes := range n.members() {
		switch {
		case !c.canSend(name):
			return found, false
		case used[c.placeOf(name)]:
			found.unsent = append(found.unsent, name)
			continue
		}
		used[c.placeOf(name)] = true
		found.schemes = append(found.schemes, name)
		for s := range scopes.list() {
			found.scopes = append(found.scopes, s.text())
		}
	}
	return found, found.schemes != nil
}

// placeOf returns where in a request a scheme is sent.
func (c *connections) placeOf(scheme string) string {
	n := c.scheme(scheme)
	name := n.get("name").text()
	if !strings.EqualFold(n.get("type").text(), "apiKey") {
		return "the header Authorization"
	}
	return placeOf(strings.ToLower(n.get("in").text()), name)
}

// usesSecurity reports whether the document or a selected operation requires a scheme.
func (c *connections) usesSecurity() bool {
	if c.required == nil {
		required := c.doc.has("security") ||
			slices.ContainsFunc(c.operations, func(op *operation) bool { return op.node.has("security") })
		c.required = &required
	}
	return *c.required
}

func (c *connections) schemesOfDocument() node {
	if c.version2 {
		return c.doc.get("securityDefinitions")
	}
	return c.doc.at("components", "securitySchemes")
}

func (c *connections) scheme(name string) node {
	return c.schemas.follow(c.schemesOfDocument().get(name))
}

// challenged are the schemes of HTTP whose credentials answer a challenge of the server.
var challenged = []string{"digest", "hoba", "mutual", "negotiate", "ntlm", "scram-sha-1", "scram-sha-256"}

func (c *connections) canSend(name string) bool {
	n := c.scheme(name)
	switch strings.ToLower(n.get("type").text()) {
	case "basic", "oauth2", "openidconnect":
		return true
	case "http":
		scheme := n.get("scheme").text()
		return headerName.MatchString(scheme) && !slices.Contains(challenged, strings.ToLower(scheme))
	case "apikey":
		in := strings.ToLower(n.get("in").text())
		return n.get("name").text() != "" && (in == "query" || headerName.MatchString(n.get("name").text()))
	}
	return false
}
