package test

import (
	"fmt"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/hcl/mock"
	"hatchel/hcl/schema"
	"hatchel/hcl/syntax"
	"hatchel/hcl/value"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/printable"
)

// block is a block being written.
type block struct {
	header string
	parts  []string // arguments, and whole blocks
	inside []*block // behind them

	written string // instead of all that
}

// suggest returns the mock block that answers a question, on every machine: the configuration directory can be
// anywhere.
func (m *Mocks) suggest(q *question) string {
	k, of, hide := m.kinds.Mock(q.Kind), q.Suggest(), m.hideOf(q.Question)
	elsewhere := func(text string) string {
		return hide(stagedFile.ReplaceAllString(strings.ReplaceAll(text, m.dir+"/", "*/"), "*/"))
	}
	b := &block{header: "mock " + importer.Quote(q.Kind)}
	if of.Connection != "" {
		b.header += " " + importer.Quote(of.Connection)
	}
	for _, a := range k.Asked() {
		if v, ok := of.Request[a.Name]; ok && a.Local {
			b.setArgument(a, hideValue(v, elsewhere))
		} else if ok {
			b.setArgument(a, hideValue(v, hide))
		}
	}
	for _, values := range of.Replies {
		reply := b.nested("reply")
		for _, a := range k.Replied() {
			v, ok := values[a.Name]
			if t, isType := v.(*schema.Type); isType {
				v = sampler{}.sample(t, 0)
			}
			if ok {
				reply.setArgument(a, v)
			}
		}
	}
	return b.text()
}

// hideValue returns a value with the secrets in its texts hidden.
func hideValue(v any, hide func(string) string) any {
	switch v := v.(type) {
	case string:
		return hide(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = hideValue(e, hide)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			out[hide(key)] = hideValue(e, hide)
		}
		return out
	}
	return v
}

// setArgument writes an argument of a mock. Code of several lines becomes a heredoc.
func (b *block) setArgument(a mock.Argument, v any) {
	if text, ok := v.(string); ok && a.Code && isHeredoc(text) {
		text = blankLines.ReplaceAllString(strings.Trim(text, "\n"), "\n    ")
		b.parts = append(b.parts, fmt.Sprintf("%s = <<-EOT\n    %s\n  EOT\n", a.Name, importer.Template(text)))
		return
	}
	b.set(a.Name, v)
}

// set writes an argument.
func (b *block) set(name string, v any) { b.parts = append(b.parts, name+" = "+writeValue(v, "")+"\n") }

// blankLines matches line breaks with the blank lines behind them, which mean nothing in statements and scripts.
var blankLines = lazyregexp.New(`\n(\s*\n)*`)

// isHeredoc reports whether a text is one of several lines that a heredoc can hold.
func isHeredoc(text string) bool {
	return strings.Contains(strings.TrimSpace(text), "\n") && !printable.HasHidden(text) &&
		importer.TemplateHolds(text) && !strings.Contains(text, "EOT")
}

// nested begins a block inside of another, which ends with it.
func (b *block) nested(header string) *block {
	n := &block{header: header}
	b.inside = append(b.inside, n)
	return n
}

const maxLine = 100 // bytes of a block on one line

// source returns the block as it is written; on one line if it has one short argument.
func (b *block) source() string {
	if b.written != "" {
		return b.written
	}
	if len(b.parts) == 1 && b.inside == nil && strings.Count(b.parts[0], "\n") == 1 &&
		len(b.header)+len(b.parts[0]) < maxLine {
		return b.header + " { " + strings.TrimSuffix(b.parts[0], "\n") + " }\n"
	}
	var out strings.Builder
	out.WriteString(b.header + " {\n" + strings.Join(b.parts, ""))
	for _, n := range b.inside {
		out.WriteString(n.source())
	}
	return out.String() + "}\n"
}

// text returns the block in the canonical style.
func (b *block) text() string {
	source := b.source()
	formatted, diags := syntax.Format("mock.hcl", []byte(source))
	if diags.HasErrors() {
		return source
	}
	return string(formatted)
}

const maxInline = 80 // bytes of an object or list on one line

// writeValue returns a value as an expression.
func writeValue(v any, indent string) string {
	var out strings.Builder
	writeInline(&out, v)
	list, isList := v.([]any)
	object, isObject := v.(map[string]any)
	if out.Len() <= maxInline || !isList && !isObject {
		return out.String()
	}
	out.Reset()
	deeper := indent + "  "
	if isList {
		out.WriteString("[\n")
		for _, e := range list {
			out.WriteString(deeper + writeValue(e, deeper) + ",\n")
		}
		return out.String() + indent + "]"
	}
	out.WriteString("{\n")
	for _, key := range value.Keys(object) {
		out.WriteString(deeper + memberName(key) + " = " + writeValue(object[key], deeper) + "\n")
	}
	return out.String() + indent + "}"
}

func writeInline(out *strings.Builder, v any) {
	switch v := v.(type) {
	case string:
		out.WriteString(importer.Quote(v))
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

var identifier = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reserved are names that are not read as the name of a member.
var reserved = map[string]bool{"null": true, "true": true, "false": true, "for": true}

func memberName(name string) string {
	if identifier.MatchString(name) && !reserved[name] {
		return name
	}
	return importer.Quote(name)
}
