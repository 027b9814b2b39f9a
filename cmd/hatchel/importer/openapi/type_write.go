package openapi

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"hatchel/cmd/hatchel/importer"
	language "hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/printable"
)

// typeWriter writes trees as types of the language.
type typeWriter struct {
	named map[typeKey]string // the type blocks of components
}

// typeKey is a component, as inputs or as results have it.
type typeKey struct {
	*yaml.Node
	answer bool
	cap    int // of descriptions
}

func (t *tree) typeKey() typeKey { return typeKey{t.identity(), t.answer, t.cap} }

var identifier = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_]*$`)

// reserved are identifiers that are words of HCL or of the programs in quotes.
var reserved = []string{"true", "false", "null", "for", "in", "if", "else", "endif", "endfor", "not", "and", "or",
	"let"}

// IsIdentifier reports whether a name is one of the language in both of its notations.
func IsIdentifier(s string) bool { return identifier.MatchString(s) && !slices.Contains(reserved, s) }

// key returns the key of an object.
func key(name string) string {
	if IsIdentifier(strings.ReplaceAll(name, "-", "_")) {
		return name
	}
	return importer.Quote(name)
}

// member returns the type of an input or a member, with optional(...) and a default in HCL or "".
func (w *typeWriter) member(t *tree, required bool, fallback string) string {
	typ := w.typ(t)
	switch {
	case fallback != "":
		return importer.Optional(typ, fallback)
	case required:
		return typ
	}
	return "optional(" + typ + ")"
}

func (w *typeWriter) typ(t *tree) string {
	if name := w.named[t.typeKey()]; (t.named || t.kind == recursionKind) && name != "" {
		if t.nullable {
			return "nullable(type." + name + ")"
		}
		return "type." + name
	}
	return w.inPlace(t)
}

// inPlace writes a type that is not a reference to a type block.
func (w *typeWriter) inPlace(t *tree) string {
	typ := w.bare(t)
	if t.nullable && t.kind != anyKind && typ != "any" && !strings.HasPrefix(typ, "any(") &&
		!strings.HasPrefix(typ, "nullable(") {
		return "nullable(" + typ + ")"
	}
	return typ
}

func (w *typeWriter) bare(t *tree) string {
	var first []string
	switch t.kind {
	case listKind, setKind, mapKind:
		first = append(first, w.typ(t.elem))
	case objectKind:
		first = append(first, w.object(t))
	case oneOfKind:
		options := w.options(t)
		switch {
		case len(options) == 1:
			return options[0]
		case options == nil:
			return call(string(anyKind), described(strings.TrimSpace(ended(t.text)+" "+describeAlternatives(t.schema))))
		}
		return call("one_of", append(options, described(t.text)...))
	case fileKind:
		if t.text == "" {
			return "file"
		}
		return call("file", described(t.text))
	}
	if t.kind == stringKind && len(t.enum) > 0 && t.text == "" && t.enumTitles == nil && !hasSentence(t.enum) {
		return call("enum", hclValues(t.enum))
	}
	if len(t.enum) > 0 && t.text == "" && t.enumTitles == nil && t.kind != stringKind {
		return call("enum", hclValues(t.enum))
	}
	args := append(first, described(t.text)...)
	if words := w.keywords(t); len(words) > 0 {
		args = append(args, "{ "+strings.Join(words, ", ")+" }")
	}
	if len(args) == 0 {
		return string(t.kind)
	}
	return call(string(t.kind), args)
}

// options returns the different alternatives of a one_of, or nil if any value is one.
func (w *typeWriter) options(t *tree) (all []string) {
	for _, o := range t.options {
		if o.kind == anyKind {
			return nil
		}
		if typ := w.typ(o); !slices.Contains(all, typ) {
			all = append(all, typ)
		}
	}
	return all
}

func described(text string) []string {
	if text == "" {
		return nil
	}
	return []string{importer.Quote(text)}
}

// call writes a call, on several lines when it is long.
func call(name string, args []string) string {
	line := strings.Join(args, ", ")
	if len(line) < 100 || len(args) < 8 {
		return name + "(" + line + ")"
	}
	return name + "(\n" + wrapped(args) + "\n)"
}

// wrapped joins words with commas into lines.
func wrapped(words []string) string {
	var out strings.Builder
	column := 0
	for i, word := range words {
		if i > 0 {
			out.WriteByte(',')
			if column+len(word) > 100 {
				out.WriteByte('\n')
				column = 0
			} else {
				out.WriteByte(' ')
			}
		}
		out.WriteString(word)
		column += len(word) + 2
	}
	return out.String()
}

func (w *typeWriter) object(t *tree) string {
	var out strings.Builder
	out.WriteString("{\n")
	for _, m := range t.members {
		out.WriteString(key(m.name) + " = " + w.member(m.tree, m.required, "") + "\n")
	}
	return out.String() + "}"
}

func (w *typeWriter) keywords(t *tree) (words []string) {
	add := func(name, v string) {
		if v != "" {
			words = append(words, name+" = "+v)
		}
	}
	b := t.bounds
	switch t.kind {
	case numberKind, integerKind:
		add("min", b.min)
		add("max", b.max)
		add("above", b.above)
		add("below", b.below)
		add("multiple_of", b.multipleOf)
	case stringKind:
		add("min_length", b.minLength)
		add("max_length", b.maxLength)
		if t.pattern != "" {
			add("pattern", importer.Quote(t.pattern))
		}
		if t.format != "" {
			add("format", importer.Quote(t.format))
		}
	case listKind, setKind, mapKind:
		add("min_items", b.minItems)
		add("max_items", b.maxItems)
	}
	switch {
	case len(t.enum) == 0 || t.kind == boolKind:
	case t.enumTitles != nil && t.kind == stringKind:
		pairs := make([]string, len(t.enum))
		for i, v := range t.enum {
			pairs[i] = key(unquoteJSON(v)) + " = " + importer.Quote(t.enumTitles[i])
		}
		add("enum", "{\n"+strings.Join(pairs, "\n")+"\n}")
	case hasSentence(t.enum) && t.kind == stringKind:
		add("schema", "{ enum = ["+strings.Join(hclValues(t.enum), ", ")+"] }")
	default:
		add("enum", "["+strings.Join(hclValues(t.enum), ", ")+"]")
	}
	return words
}

func hasSentence(values []string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return looksLikeSentence(unquoteJSON(v)) })
}

// hclValues writes JSON scalars as HCL.
func hclValues(values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v
		if strings.HasPrefix(v, `"`) {
			out[i] = importer.Quote(unquoteJSON(v))
		}
	}
	return out
}

// constant returns a constant of the document in HCL if it fits a tree without members, and "" otherwise.
func constant(t *tree, n node) string {
	switch {
	case !n.exists() || t.isContainer() && t.kind != listKind:
		return ""
	case t.kind == listKind && n.isList() && t.elem != nil && !t.elem.isContainer():
		var all []string
		for v := range n.list() {
			one := constant(t.elem, v)
			if one == "" {
				return ""
			}
			all = append(all, one)
		}
		return "[" + strings.Join(all, ", ") + "]"
	case !n.isScalar():
		return ""
	}
	out := ""
	switch t.kind {
	case boolKind:
		if n.isTrue() || n.isFalse() {
			out = strings.ToLower(n.Value)
		}
		return out
	case integerKind, numberKind:
		if out = numberText(n); out == "" {
			return ""
		}
	case stringKind:
		if len(n.Value) > 200 || looksLikeSentence(n.Value) && len(t.enum) == 0 || printable.HasHidden(n.Value) {
			return ""
		}
		out = quoteJSON(n.Value)
	default:
		return ""
	}
	if !fits(t, out) {
		return ""
	}
	return hclValues([]string{out})[0]
}

// fits reports whether a constant in JSON is a value of a scalar.
func fits(t *tree, constant string) bool {
	v, err := value.Decode([]byte(constant))
	if err != nil {
		return false
	}
	typ := &language.Type{Kind: map[kind]language.Kind{stringKind: language.String, numberKind: language.Number,
		integerKind: language.Integer}[t.kind], Format: t.format}
	if t.pattern != "" {
		typ.Pattern, _ = language.NewPattern(t.pattern)
	}
	for into, text := range map[*any]string{&typ.Min: t.bounds.min, &typ.Max: t.bounds.max, &typ.Above: t.bounds.above,
		&typ.Below: t.bounds.below, &typ.MultipleOf: t.bounds.multipleOf} {
		if text != "" {
			*into, _ = value.Decode([]byte(text))
		}
	}
	for into, text := range map[**int]string{&typ.MinLength: t.bounds.minLength, &typ.MaxLength: t.bounds.maxLength} {
		if n, err := strconv.Atoi(text); err == nil {
			*into = &n
		}
	}
	for _, e := range t.enum {
		one, _ := value.Decode(json.RawMessage(e))
		typ.Enum = append(typ.Enum, language.EnumValue{Value: one})
	}
	_, violations, _ := typ.Compile().Check(v, language.Unlimited)
	return len(violations) == 0
}
