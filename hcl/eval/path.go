package eval

import (
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/internal/printable"
)

// A path is the text of a traversal, such as "input.x.a". Dots separate its steps. Within a name, \x000 stands for
// \x00 and \x001 for a dot; an index is \x002 and its number. Therefore two traversals with one path have the same
// steps.
const (
	escaped     = "\x00"
	escapedNUL  = escaped + "0"
	escapedDot  = escaped + "1"
	markOfIndex = escaped + "2"
)

var (
	escapeStep   = strings.NewReplacer(escaped, escapedNUL, ".", escapedDot)
	unescapeStep = strings.NewReplacer(escapedNUL, escaped, escapedDot, ".")
)

// MemberPath is the path of a member of a value. A dot in its name does not separate names.
func MemberPath(path, name string) string { return path + "." + escapeStep.Replace(name) }

// ElementPath is the path of an element of a list. A negative index counts from the end.
func ElementPath(path string, index int) string {
	return path + "." + markOfIndex + strconv.Itoa(index)
}

// SplitPath returns the names of a path without an index.
func SplitPath(path string) []string {
	names := strings.Split(path, ".")
	for i, name := range names {
		names[i] = unescapeStep.Replace(name)
	}
	return names
}

// HasIndex reports whether a path leads through an element of a list.
func HasIndex(path string) bool { return strings.Contains(path, markOfIndex) }

// ShowPath returns a path as an author writes it: x.a, x["a.b"], x[0].
func ShowPath(path string) string {
	if path == "" {
		return ""
	}
	steps := strings.Split(path, ".")
	var b strings.Builder
	b.WriteString(steps[0])
	for _, step := range steps[1:] {
		if index, ok := strings.CutPrefix(step, markOfIndex); ok {
			b.WriteString("[" + index + "]")
		} else {
			b.WriteString(ShowMember(unescapeStep.Replace(step)))
		}
	}
	return b.String()
}

// ShowMember returns the step to a member as an author writes it: .name, or ["a name"] for what is no identifier.
func ShowMember(name string) string {
	if hclsyntax.ValidIdentifier(name) {
		return "." + name
	}
	text := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(name)
	return `["` + printable.Replace(text, "", printable.Escape) + `"]`
}
