package console

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// arguments returns what a form says as JSON. The fields have the problems that JSON cannot have.
func (f *field) arguments() []byte {
	text, _ := f.json()
	return text
}

// json returns the value of a field. It reports false for one that is left out.
func (f *field) json() (text []byte, present bool) {
	switch {
	case (f.Is == isNull || f.Is == isEmpty) && f.hasContent():
		f.problem("has a value, but something else is chosen: choose “value”, or clear it")
		return nil, false
	case f.Is == isOut:
		return nil, false
	case f.Is == isNull:
		return []byte("null"), true
	}
	switch f.Kind {
	case objectField:
		return f.object(), true
	case mapField:
		return f.mapping(), true
	case listField:
		elements := make([][]byte, len(f.Rows))
		for i, r := range f.Rows {
			elements[i] = r.Value.jsonOrNull()
		}
		return joinJSON('[', elements, ']'), true
	}
	switch {
	case f.isString():
		return value.AppendString(nil, f.typed), true
	case strings.TrimSpace(f.typed) == "":
		return nil, false
	case json.Valid([]byte(f.typed)):
		return []byte(strings.TrimSpace(f.typed)), true
	case f.Kind == jsonField || f.Kind == fileField:
		f.problem("is not valid JSON")
		return nil, false
	}
	return value.AppendString(nil, f.typed), true // which the validator refuses in its words
}

// jsonOrNull returns the value of a row, where nothing can be left out.
func (f *field) jsonOrNull() []byte {
	if text, ok := f.json(); ok {
		return text
	}
	return []byte("null")
}

func (f *field) object() []byte {
	var members [][]byte
	for _, m := range f.Members {
		if text, ok := m.json(); ok {
			name := append(value.AppendString(nil, m.Label), ':')
			members = append(members, append(name, text...))
		}
	}
	return joinJSON('{', members, '}')
}

func (f *field) mapping() []byte {
	var members [][]byte
	seen := map[string]bool{}
	for _, r := range f.Rows {
		if seen[r.Key.typed] {
			r.Key.problem("is the name of another row, too")
			continue
		}
		seen[r.Key.typed] = true
		name := append(value.AppendString(nil, r.Key.typed), ':')
		members = append(members, append(name, r.Value.jsonOrNull()...))
	}
	return joinJSON('{', members, '}')
}

func joinJSON(begin byte, parts [][]byte, end byte) []byte {
	return slices.Concat([]byte{begin}, bytes.Join(parts, []byte{','}), []byte{end})
}

func (f *field) problem(text string) { f.Problems = append(f.Problems, text) }

// hasContent reports whether anything was entered in a field or below.
func (f *field) hasContent() bool {
	return f.typed != "" || len(f.Rows) > 0 || slices.ContainsFunc(f.Members, func(m *field) bool {
		return m.Is == isNull || m.Is == isEmpty || m.hasContent()
	})
}

// each calls do for a field and all fields below that are shown.
func (f *field) each(do func(*field)) {
	do(f)
	for _, m := range f.Members {
		m.each(do)
	}
	for _, r := range f.Rows {
		if r.Key != nil {
			r.Key.each(do)
		}
		r.Value.each(do)
	}
}

// hasProblems reports whether any field has one.
func (f *field) hasProblems() (has bool) {
	f.each(func(f *field) { has = has || len(f.Problems) > 0 })
	return has
}

// HasFile reports whether a file can be chosen in the form.
func (f *field) HasFile() bool { return f.of.HoldsFile() }

// addViolations puts violations beside the fields that they are about, or the nearest ones around these.
func (f *field) addViolations(violations []schema.Violation) {
	for _, v := range violations {
		nearest := f
		f.each(func(other *field) {
			rest, ok := strings.CutPrefix(v.Path, other.path)
			if ok && other.path != "" && (rest == "" || rest[0] == '.' || rest[0] == '[') &&
				len(other.path) >= len(nearest.path) {
				nearest = other
			}
		})
		text := v.Message
		if rest := strings.TrimPrefix(strings.TrimPrefix(v.Path, nearest.path), "."); rest != "" {
			text = rest + ": " + text
		}
		if !slices.Contains(nearest.Problems, text) {
			nearest.problem(text)
		}
	}
}
