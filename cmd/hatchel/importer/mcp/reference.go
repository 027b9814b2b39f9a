package mcp

import (
	"fmt"
	"strings"

	"hatchel/internal/lazyregexp"
)

// text is a text of a client's file: constant parts and references, in their order.
type text []part

// part is a constant text, or a reference if kind is set.
type part struct {
	text     string // of a constant
	kind     string // env, input, workspace, home, or empty
	name     string // of an environment variable or an input
	fallback *string
}

// referencePattern matches ${…}. Its content is read by reference.
var referencePattern = lazyregexp.New(`\$\{[^{}\n]*\}`)

// shortReferencePattern also matches $NAME, which the Gemini CLI knows.
var shortReferencePattern = lazyregexp.New(`\$\{[^{}\n]*\}|\$[A-Za-z_][A-Za-z0-9_]*`)

var environmentName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// parseText splits a text at its references. The error names one that only the client can resolve.
func parseText(s string, short bool) (text, error) {
	pattern := referencePattern
	if short {
		pattern = shortReferencePattern
	}
	var t text
	at := 0
	for _, m := range pattern.FindAllStringSubmatchIndex(s, -1) {
		p, err := reference(strings.TrimSuffix(strings.TrimPrefix(s[m[0]+1:m[1]], "{"), "}"))
		if err != nil {
			return nil, err
		}
		if at < m[0] {
			t = append(t, part{text: s[at:m[0]]})
		}
		t, at = append(t, p), m[1]
	}
	if at < len(s) {
		t = append(t, part{text: s[at:]})
	}
	return t, nil
}

// reference returns what is between the braces of a reference.
func reference(inner string) (part, error) {
	kind, name, prefixed := strings.Cut(inner, ":")
	switch {
	case inner == "workspaceFolder":
		return part{kind: "workspace"}, nil
	case inner == "userHome":
		return part{kind: "home"}, nil
	case inner == "pathSeparator" || inner == "/":
		return part{text: "/"}, nil
	case prefixed && kind == "input" && name != "":
		return part{kind: "input", name: name}, nil
	case prefixed && kind == "env":
		inner = name
	}
	name, fallback, given := strings.Cut(inner, ":-")
	if !environmentName.MatchString(name) {
		return part{}, fmt.Errorf("only its client knows the value of ${%s}", inner)
	}
	p := part{kind: "env", name: name}
	if given {
		p.fallback = &fallback
	}
	return p, nil
}

// constant returns the text if it has no reference.
func (t text) constant() (string, bool) {
	var out strings.Builder
	for _, p := range t {
		if p.kind != "" {
			return "", false
		}
		out.WriteString(p.text)
	}
	return out.String(), true
}

// constants returns the constant parts, with a blank for each reference.
func (t text) constants() string {
	var out strings.Builder
	for _, p := range t {
		if p.kind != "" {
			out.WriteByte(' ')
		}
		out.WriteString(p.text)
	}
	return out.String()
}
