package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
)

// Clients show a tool as mcp__server__tool, and services take at most 64 characters of that.
const (
	maxToolName   = 64
	maxClientName = 57
)

// nameOperations gives every tool a name of its own.
func (g *generator) nameOperations() {
	limit := max(min(maxToolName, maxClientName-len(g.Name)), 20)
	taken := map[string]bool{} // without underscores, because clients confuse such names
	plain := func(name string) string { return strings.ReplaceAll(name, "_", "") }
	for _, op := range g.operations {
		name := shorten(g.toolWords(op), limit)
		if name == "" || len(name) > limit || taken[plain(name)] {
			sum := sha256.Sum256([]byte(op.method + " " + op.path))
			suffix := "_" + hex.EncodeToString(sum[:3])
			name = strings.TrimRight(name[:min(len(name), limit-len(suffix))], "_") + suffix
		}
		name = importer.Identifier(name)
		if renamed := g.Rename[name]; renamed != "" {
			name = renamed
		}
		taken[plain(name)] = true
		op.name = name
	}
}

// shorten joins words, and drops words after the first until the name is short enough.
func shorten(all []string, limit int) string {
	name := strings.Join(all, "_")
	for len(name) > limit && len(all) > 2 {
		all = slices.Delete(slices.Clone(all), 1, 2)
		name = strings.Join(all, "_")
	}
	return name
}

// toolWords returns the words of the name of a tool.
func (g *generator) toolWords(op *operation) []string {
	if name := op.custom.get("name").text(); name != "" {
		return words(name)
	}
	id := words(op.id)
	suffix := append(words(op.path), op.method)
	if n := len(id) - len(suffix); n > 0 && slices.Equal(id[n:], suffix) {
		id = id[:n] // as generators append method and path to the name of a function
	}
	if len(id) == 0 || len(id) > 1 && id[0] == op.method && (slices.Equal(id[1:], pathWords(op.path)) ||
		slices.Equal(id[1:], words(op.path))) {
		return g.pathName(op)
	}
	return id
}

// pathWords returns the words of the constant segments of a path.
func pathWords(p string) (all []string) {
	for part := range strings.SplitSeq(p, "/") {
		if !strings.Contains(part, "{") && !versionWord.MatchString(part) {
			all = append(all, words(part)...)
		}
	}
	return all
}

// pathName makes a name of method and path: GET /users is list_users, GET /users/{id} is get_user.
func (g *generator) pathName(op *operation) []string {
	p, _, _ := strings.Cut(strings.Trim(op.path, "/"), "?")
	p, _, _ = strings.Cut(p, "#")
	var parts []string
	ofOne := false // the path ends in a parameter
	parent := false
	for part := range strings.SplitSeq(p, "/") {
		switch {
		case strings.Contains(part, "{"):
			if len(parts) > 0 {
				parts[len(parts)-1] = singular(parts[len(parts)-1])
			}
			ofOne, parent = true, false
		case !versionWord.MatchString(part) && len(words(part)) > 0:
			parent = ofOne
			parts = append(parts, strings.Join(words(part), "_"))
			ofOne = false
		}
	}
	if len(parts) == 0 {
		parts = []string{"root"}
	}
	last := len(parts) - 1
	many := singular(parts[last]) != parts[last]
	verb := map[string]string{"post": "create", "put": "update", "patch": "update", "delete": "delete", "head": "head",
		"get": "get"}[op.method]
	switch {
	case op.method == "get" && !ofOne && many:
		verb = "list"
	case op.method == "post" && parent && !many && last > 0: // POST /orders/{id}/cancel
		return slices.Concat([]string{parts[last]}, parts[:last])
	case op.method == "post" && many:
		parts[last] = singular(parts[last])
	}
	return append([]string{verb}, parts...)
}

func singular(word string) string {
	switch {
	case strings.HasSuffix(word, "ies") && len(word) > 4:
		return word[:len(word)-3] + "y"
	case strings.HasSuffix(word, "sses"), strings.HasSuffix(word, "xes"), strings.HasSuffix(word, "ches"):
		return word[:len(word)-2]
	case strings.HasSuffix(word, "ss"), strings.HasSuffix(word, "us"), strings.HasSuffix(word, "is"), len(word) < 3:
		return word
	}
	return strings.TrimSuffix(word, "s")
}
