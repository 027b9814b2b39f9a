package openapi

import (
	"net/http"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/credential"
	"hatchel/internal/lazyregexp"
)

var (
	// keyNames matches the names of keys and tokens of an API, whose values no caller chooses.
	keyNames = lazyregexp.New(`(?i)(^|[-_. ])(api|access|app|auth|subscription|application|developer|license)[-_. ]?` +
		`(key|token|secret)$|apikey$|apitoken$|accesstoken$|authtoken$|^authorization$`)
	// passwordNames matches the names of what a person knows, which operations such as a login have as data.
	passwordNames = lazyregexp.New(`(?i)pass|pwd|pin$|otp$|code$`)
	// keyText matches descriptions of keys of an API.
	keyText = lazyregexp.New(`(?i)\b(api|access|auth\w*|application|developer|subscription)[- ]?(key|token|id)\b|` +
		`\bauthenticat|\bcredential`)
)

// credential sends a parameter that carries a key of the service as a secret, as a declared scheme would be. It reports
// false if the parameter carries none.
func (g *generator) credential(op *operation, p *parameter, n node) (sent bool, err error) {
	if !g.isCredential(op, p, n) {
		if p.in != "cookie" && credential.IsName(p.wire) && !slices.Contains(ignoredHeaders, strings.ToLower(p.wire)) {
			g.lose(op, "credential is an input", p.wire+": write a secret in its place if it is a key of the service",
				n)
		}
		return false, nil
	}
	needs := g.connections.requirement(op)
	place := placeOf(p.in, p.wire)
	if slices.ContainsFunc(needs.schemes, func(s string) bool { return g.connections.placeOf(s) == place }) {
		return true, nil // the connection sends it
	}
	optional := !n.get("required").isTrue()
	if optional && needs.schemes != nil {
		g.lose(op, "parameter left out", p.wire+" is a credential, and the connection sends another", n)
		return true, nil
	}
	text := readText(n.get("description").text(), 150, g.loser(op, n))
	p.secret = &secret{text: text, optional: optional}
	p.secret.name = importer.Identifier(g.Name + "_" + strings.TrimPrefix(importer.Identifier(p.wire), "x_"))
	p.secret.env = strings.ToUpper(p.secret.name)
	p.constant = "secret." + p.secret.name
	if p.in == "cookie" {
		p.constant = `"` + p.wire + "=${" + p.constant + `}"`
		p.wire, p.in = "Cookie", "header"
	}
	detail := place + " is the secret " + p.secret.name
	if optional {
		detail += ", which is optional: set " + p.secret.env + " if the service requires it"
	}
	g.loseKey("credential became a secret", detail, n)
	op.addParameter(p)
	return true, nil
}

// loseKeys reports members of a body that carry a key of the service. Operations such as a login have passwords as
// data.
func (g *generator) loseKeys(b *bodyOf) {
	for _, m := range sent(b.schema) {
		s := follow(m.schema)
		isKey := keyNames.MatchString(m.name) || credential.IsName(m.name) && !passwordNames.MatchString(m.name)
		if isKey && s.kind == stringKind && s.enum == nil {
			g.loseKey("credential is an input", "the member "+m.name+" of bodies: write a secret in its place if it "+
				"is a key of the service", s.at)
		}
	}
}

// loseKey reports a key at the first place that has it.
func (g *generator) loseKey(kind, detail string, n node) {
	if !slices.ContainsFunc(g.result.Losses, func(l importer.Loss) bool { return l.Detail == detail }) {
		g.result.Lose(g.Name, kind, detail, n.place())
	}
}

// isCredential reports whether a parameter carries a key of the service rather than data of a call.
func (g *generator) isCredential(op *operation, p *parameter, n node) bool {
	s := n.get("schema")
	if g.version2 {
		s = n
	}
	if kind := g.schemas.follow(s).get("type").text(); kind != "" && kind != "string" || s.has("enum") {
		return false
	}
	text := n.get("description").text()
	named := credential.IsName(p.wire)
	described := credential.MayBeName(p.wire) && keyText.MatchString(text)
	switch p.in {
	case "header":
		return headerName.MatchString(p.wire) && (named || described)
	case "cookie":
		return n.get("required").isTrue() && headerName.MatchString(p.wire) && credential.MayBeName(p.wire) &&
			!g.sendsCookie(op)
	case "query":
		return keyNames.MatchString(p.wire) || described ||
			named && !passwordNames.MatchString(p.wire) && 2*g.usesOfParameter(p.in, p.wire) >= len(g.operations)
	}
	return false
}

// sendsCookie reports whether an operation has a cookie already, of a parameter or of a scheme.
func (g *generator) sendsCookie(op *operation) bool {
	for _, p := range op.params {
		if p.in == "header" && strings.EqualFold(p.wire, "Cookie") {
			return true
		}
	}
	return slices.ContainsFunc(g.connections.requirement(op).schemes, func(s string) bool {
		return strings.HasPrefix(g.connections.placeOf(s), "the cookie")
	})
}

// usesOfParameter returns how many of the selected operations have a parameter.
func (g *generator) usesOfParameter(in, name string) int {
	if g.parameterUses == nil {
		g.parameterUses = map[[2]string]int{}
		for _, op := range g.operations {
			seen := map[[2]string]bool{}
			for _, list := range []node{op.item.get("parameters"), op.node.get("parameters")} {
				for n := range list.list() {
					n = g.schemas.follow(n)
					id := [2]string{n.get("in").text(), n.get("name").text()}
					if !seen[id] {
						seen[id] = true
						g.parameterUses[id]++
					}
				}
			}
		}
	}
	return g.parameterUses[[2]string{in, name}]
}

// placeOf returns where in a request a value is sent.
func placeOf(in, name string) string {
	switch in {
	case "query":
		return "the query parameter " + name
	case "cookie":
		return "the cookie " + name
	}
	return "the header " + http.CanonicalHeaderKey(name)
}
