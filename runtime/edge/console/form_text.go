package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// describeType returns a type and its limits for people. WithParts says that a form shows the parts of the type, too.
func describeType(t *schema.Type, withParts bool) string {
	parts := []string{t.NotNull().String()}
	switch {
	case withParts:
		parts[0] = outlineOf(t)
	case len(t.Enum) > 0:
		parts[0] = "one of " + count(len(t.Enum), "value")
	case t.OneOf != nil || len(parts[0]) > maxLine:
		parts[0] = t.Kind.String()
	}
	add := func(text string, bound any) {
		if bound != nil {
			parts = append(parts, text+" "+jsonOf(bound))
		}
	}
	add("at least", t.Min)
	add("above", t.Above)
	add("at most", t.Max)
	add("below", t.Below)
	add("a multiple of", t.MultipleOf)
	size := func(least, most *int, noun string) {
		if least != nil {
			parts = append(parts, "at least "+count(*least, noun))
		}
		if most != nil {
			parts = append(parts, "at most "+count(*most, noun))
		}
	}
	size(t.MinLength, t.MaxLength, "character")
	size(t.MinItems, t.MaxItems, "element")
	if t.Format != "" {
		parts = append(parts, t.Format)
	}
	if t.Pattern != nil {
		parts = append(parts, "matches "+t.Pattern.String())
	}
	if t.MaxSize > 0 {
		parts = append(parts, fmt.Sprintf("at most %d bytes", t.MaxSize))
	}
	if len(t.MediaTypes) > 0 {
		parts = append(parts, strings.Join(t.MediaTypes, ", "))
	}
	return strings.Join(parts, ", ")
}

// outlineOf returns a type without the members of objects.
func outlineOf(t *schema.Type) string {
	switch {
	case t.Kind == schema.Object && len(t.Members) > 0 && t.OneOf == nil:
		return t.Kind.String()
	case t.Elem != nil && t.OneOf == nil:
		return t.Kind.String() + "(" + outlineOf(t.Elem) + ")"
	}
	return t.String()
}

// fill returns what a form would post for arguments. It reports false for arguments that the fields cannot express,
// such as those that are not UTF-8, of which a reader of JSON replaces what it does not understand.
func fill(input *schema.Type, arguments []byte) (url.Values, bool) {
	out := url.Values{}
	if !utf8.Valid(arguments) || !(filler{out, depthOf(input)}).value(input, formRoot, arguments, -1) {
		return nil, false
	}
	back, fits := newForm(input, out)
	return out, fits && sameJSON(back.arguments(), arguments) && !back.hasProblems()
}

// filler adds the values of controls.
type filler struct {
	out   url.Values
	limit int // see formBuilder
}

func (fl filler) value(t *schema.Type, name string, text []byte, depth int) bool {
	out := fl.out
	t = t.Unfolded()
	kind, _ := kindOf(t, depth, fl.limit, false)
	if string(text) == "null" && t.Nullable && kind != radioField && kind != selectField && kind != jsonField {
		out.Set(name+"?", string(isNull))
		return true
	}
	if depth < 0 {
		kind = objectField
	}
	switch kind {
	case objectField, mapField:
		var members map[string]json.RawMessage
		if json.Unmarshal(text, &members) != nil || members == nil {
			return false
		}
		if kind == mapField {
			return fl.mapping(t, name, text, depth)
		}
		for _, m := range t.Members {
			member, ok := members[m.Name]
			if delete(members, m.Name); !ok {
				continue
			}
			at := name + "." + m.Name
			if !fl.value(m.Type, at, member, depth+1) {
				return false
			}
			if !fl.hasContent(at) {
				out.Set(at+"?", string(isEmpty))
			}
		}
		return len(members) == 0
	case listField:
		var elements []json.RawMessage
		if json.Unmarshal(text, &elements) != nil || elements == nil || len(elements) > maxRows {
			return false
		}
		for i, e := range elements {
			out.Add(name+"[]", strconv.Itoa(i))
			if !fl.value(t.Elem, name+"["+strconv.Itoa(i)+"]", e, depth+1) {
				return false
			}
		}
		return true
	case areaField, textField:
		var s string
		if t.Kind == schema.String {
			if json.Unmarshal(text, &s) != nil || strings.Contains(s, "\r") ||
				kind == textField && strings.Contains(s, "\n") { // browsers change these
				return false
			}
			out.Set(name, s)
			return true
		}
	}
	out.Set(name, string(text))
	return true
}

// hasContent reports whether a field or one below has a value.
func (fl filler) hasContent(name string) bool {
	for key, values := range fl.out {
		rest, ok := strings.CutPrefix(key, name)
		if ok && (rest == "" || strings.Contains(".[?", rest[:1])) && slices.Max(values) != "" {
			return true
		}
	}
	return false
}

// mapping adds a row for each member, in their order.
func (fl filler) mapping(t *schema.Type, name string, text []byte, depth int) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	d.Token() // the brace, which was read before
	for i := 0; d.More(); i++ {
		key, err := d.Token()
		var member json.RawMessage
		if err != nil || d.Decode(&member) != nil || i == maxRows || strings.ContainsAny(key.(string), "\r\n") {
			return false
		}
		row := name + "[" + strconv.Itoa(i) + "]"
		fl.out.Add(name+"[]", strconv.Itoa(i))
		fl.out.Set(row+".key", key.(string))
		if !fl.value(t.Elem, row+".value", member, depth+1) {
			return false
		}
	}
	return true
}

// sameJSON reports whether two texts mean the same.
func sameJSON(a, b []byte) bool {
	x, errX := value.Decode(a)
	y, errY := value.Decode(b)
	return errX == nil && errY == nil && value.Equal(x, y)
}
