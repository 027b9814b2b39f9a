package toolstest

import (
	"fmt"
	"regexp"
	"strings"

	"hatchel/hcl/syntax"
	"hatchel/hcl/value"
)

// block is a block being written.
type block struct {
	out    strings.Builder
	inside *block
}

// newBlock begins a mock block.
func newBlock(kind, connection string) *block {
	b := &block{}
	b.out.WriteString("mock " + quote(kind))
	if connection != "" {
		b.out.WriteString(" " + quote(connection))
	}
	b.out.WriteString(" {\n")
	return b
}

// set writes an argument. A statement or a script of several lines becomes a heredoc.
func (b *block) set(name string, v any) {
	if text, ok := v.(string); ok && (name == "statement" || name == "script") && isHeredoc(text) {
		text = strings.TrimSuffix(strings.Trim(text, "\n"), "\n")
		fmt.Fprintf(&b.out, "%s = <<-EOT\n%s\nEOT\n", name, escapeTemplate(text))
		return
	}
	b.out.WriteString(name + " = ")
	b.value(v, "")
	b.out.WriteByte('\n')
}

// isHeredoc reports whether a text is one of several lines that a heredoc can hold.
func isHeredoc(text string) bool {
	return strings.Contains(strings.TrimSpace(text), "\n") && !controls.MatchString(text) &&
		!strings.Contains(text, "EOT")
}

// controls matches characters that are written as escapes.
var controls = regexp.MustCompile(`[^\PC\n\t]`)

// nested begins the block inside of another, which ends with it.
func (b *block) nested(name string) *block {
	b.inside = &block{}
	b.inside.out.WriteString(name + " {\n")
	return b.inside
}

// text returns the block in the canonical style.
func (b *block) text() string {
	if b.inside != nil {
		b.out.WriteString(b.inside.out.String() + "}\n")
	}
	b.out.WriteString("}\n")
	formatted, diags := syntax.Format("mock.hcl", []byte(b.out.String()))
	if diags.HasErrors() {
		return b.out.String()
	}
	return string(formatted)
}

const maxInline = 80 // bytes of an object or list on one line

// value writes a value as an expression.
func (b *block) value(v any, indent string) {
	var inline strings.Builder
	writeInline(&inline, v)
	_, isList := v.([]any)
	object, isObject := v.(map[string]any)
	if inline.Len() <= maxInline || !isList && !isObject {
		b.out.WriteString(inline.String())
		return
	}
	deeper := indent + "  "
	if isList {
		b.out.WriteString("[\n")
		for _, e := range v.([]any) {
			b.out.WriteString(deeper)
			b.value(e, deeper)
			b.out.WriteString(",\n")
		}
		b.out.WriteString(indent + "]")
		return
	}
	b.out.WriteString("{\n")
	for _, key := range value.Keys(object) {
		b.out.WriteString(deeper + memberName(key) + " = ")
		b.value(object[key], deeper)
		b.out.WriteByte('\n')
	}
	b.out.WriteString(indent + "}")
}

func writeInline(out *strings.Builder, v any) {
	switch v := v.(type) {
	case string:
		out.WriteString(quote(v))
	case []any:
		out.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				out.WriteString(", ")
			}
			writeInline(out, e)
		}
		out.WriteByte(']')
	case map[string]any:
		if len(v) == 0 {
			out.WriteString("{}")
			return
		}
		out.WriteString("{ ")
		for i, key := range value.Keys(v) {
			if i > 0 {
				out.WriteString(", ")
			}
			out.WriteString(memberName(key) + " = ")
			writeInline(out, v[key])
		}
		out.WriteString(" }")
	default:
		encoded, err := value.AppendJSON(nil, v)
		if err != nil {
			encoded = []byte("null")
		}
		out.Write(encoded)
	}
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reserved are names that are not read as the name of a member.
var reserved = map[string]bool{"null": true, "true": true, "false": true, "for": true}

func memberName(name string) string {
	if identifier.MatchString(name) && !reserved[name] {
		return name
	}
	return quote(name)
}

// quote writes a text as a quoted template without interpolation.
func quote(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range escapeTemplate(text) {
		switch {
		case r == '"' || r == '\\':
			out.WriteRune('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\r':
			out.WriteString(`\r`)
		case r == '\t':
			out.WriteString(`\t`)
		case r > 0xffff && controls.MatchString(string(r)):
			fmt.Fprintf(&out, `\U%08x`, r)
		case controls.MatchString(string(r)):
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String() + `"`
}

// escapeTemplate returns a text as it is written in a template.
func escapeTemplate(text string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(text)
}
