package console

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/internal/lazyregexp"
)

// A form has a field for each input of a tool. It is made of the type and of what was posted, so that the three ways to
// fill it in, a new form, a form with mistakes and the arguments of an earlier call, are one: see fill.

// field is one input, member or element in a form.
type field struct {
	Name        string // of its controls, such as input.lines[0].qty
	Label       string
	Description string
	Type        string // with its limits, for people
	Kind        fieldKind
	Mode        string // of the keyboard, or the type of the control
	IsMember    bool   // it is an input or a member of an object, and not an element
	Required    bool
	Default     string // of one that is left out, as it is typed; empty for none
	Is          presence
	Instead     []option // what can be sent in place of what is entered, and what is entered; nil for nothing else
	Value       string   // as it was typed; empty for one that is sensitive
	Secret      bool
	Options     []option
	Members     []*field
	Rows        []*row
	New         *row // that a script adds; nil for a new row itself that has none
	Problems    []string

	of    *schema.Type
	typed string // Value, also of one that is sensitive
	path  string // as violations name it
}

// row is one element of a list, or one member of a map.
type row struct {
	Index string
	Key   *field // of a map
	Value *field
	Of    *field
}

// option is one value of an enumeration or a boolean.
type option struct {
	Value, Label string // Value is JSON
	Chosen       bool
}

type fieldKind string

const (
	textField   fieldKind = "text"
	areaField   fieldKind = "area"
	radioField  fieldKind = "radio"
	selectField fieldKind = "select"
	jsonField   fieldKind = "json"
	fileField   fieldKind = "file"
	objectField fieldKind = "object"
	listField   fieldKind = "list"
	mapField    fieldKind = "map"
)

// presence says what is sent of a field: what is entered, nothing where nothing is entered, or what was chosen instead.
type presence string

const (
	isValue presence = ""
	isOut   presence = "out"
	isNull  presence = "null"
	isEmpty presence = "empty" // a text, a list, a map or an object without anything in it
)

const (
	maxFieldDepth = 6     // deeper types are JSON
	maxFields     = 200   // before rows are added
	maxAllFields  = 2_000 // of a form that was posted with its rows
	maxRows       = 200   // of one list that is filled in
	maxLine       = 120   // characters of a text that has one line
	formRoot      = "input"
	rawField      = "arguments" // all arguments as JSON, in place of the fields
)

// newForm returns the fields of the inputs of a tool with what was posted. It reports false for too many of them.
func newForm(input *schema.Type, posted url.Values) (root *field, fits bool) {
	left := maxAllFields
	b := formBuilder{posted, depthOf(input), &left}
	root = &field{Name: formRoot, Kind: objectField, Is: isValue, of: input}
	b.members(root, input, 0)
	return root, left >= 0
}

// formBuilder makes fields of types.
type formBuilder struct {
	posted url.Values
	limit  int  // the depth from which types are JSON
	left   *int // fields that the form may still have; negative for a form that has too many
}

// depthOf returns the depth from which the types of a form are JSON, so that the form has at most maxFields before rows
// are added.
func depthOf(input *schema.Type) int {
	for limit := maxFieldDepth; limit > 0; limit-- {
		if countFields(input, -1, limit, maxFields) > 0 {
			return limit
		}
	}
	return 0
}

// countFields returns how many more fields a form may have; less than 1 for none.
func countFields(t *schema.Type, depth, limit, left int) int {
	t = t.Unfolded()
	kind, _ := kindOf(t, depth, limit, false)
	if left--; depth < 0 {
		kind = objectField
	}
	switch kind {
	case objectField:
		for _, m := range t.Members {
			if left > 0 {
				left = countFields(m.Type, depth+1, limit, left)
			}
		}
	case listField, mapField:
		if left > 0 {
			return countFields(t.Elem, depth+1, limit, left)
		}
	}
	return left
}

func (b formBuilder) members(f *field, t *schema.Type, depth int) {
	for _, m := range t.Members {
		child := b.field(m.Type, f.Name+"."+m.Name, joinPath(f.path, memberPath(m.Name)), depth, f.Secret)
		child.Label, child.Required, child.IsMember = m.Name, !m.Optional, true
		if m.HasDefault && !child.Secret {
			child.Default = typedText(m.Default)
		}
		b.setPresence(child)
		f.Members = append(f.Members, child)
	}
}

// typedText returns a value as it is typed into a control.
func typedText(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	return jsonOf(v)
}

// field returns the field of a type, at a depth below the tool.
func (b formBuilder) field(t *schema.Type, name, path string, depth int, secret bool) *field {
	t = t.Unfolded()
	*b.left--
	f := &field{
		Name: name, Description: t.Description, Secret: secret || t.Sensitive,
		of: t, path: path, typed: b.posted.Get(name),
	}
	if f.Kind, f.Mode = kindOf(t, depth, b.limit, f.Secret); f.Kind == areaField || f.Kind == jsonField {
		f.typed = strings.ReplaceAll(f.typed, "\r\n", "\n") // browsers send these for line breaks
	}
	if f.Type = describeType(t, f.IsGroup()); !f.Secret {
		f.Value = f.typed
	}
	switch f.Kind {
	case objectField:
		b.members(f, t, depth+1)
	case listField, mapField:
		b.rows(f, depth)
	}
	return f
}

// setPresence sets what is sent of a field whose parts are known. A member in which nothing is entered is left out,
// unless it has to be there and can be empty, as a list.
func (b formBuilder) setPresence(f *field) {
	if f.hasOptions() {
		f.choose()
		return
	}
	chosen := presence(b.posted.Get(f.Name + "?"))
	f.Instead = []option{{string(isValue), "value", false}}
	for _, o := range []struct {
		is     presence
		label  string
		offers bool
	}{
		{isEmpty, "empty " + f.noun(), f.canBeEmpty()},
		{isNull, "null", f.of.Nullable && f.Kind != jsonField},
	} {
		if o.offers {
			f.Instead = append(f.Instead, option{string(o.is), o.label, o.is == chosen})
			if o.is == chosen {
				f.Is = chosen
			}
		}
	}
	if len(f.Instead) == 1 {
		f.Instead = nil
	}
	if f.Is == isValue && f.IsMember && !f.hasContent() && (!f.Required || !f.IsGroup()) {
		f.Is = isOut
	}
}

// IsGroup reports whether the field has other fields in it.
func (f *field) IsGroup() bool {
	return f.Kind == objectField || f.Kind == listField || f.Kind == mapField
}

// IsOptional reports whether the field can be left out.
func (f *field) IsOptional() bool { return f.IsMember && !f.Required }

// Path returns the place of the field in the arguments; that of a name in a map is the map.
func (f *field) Path() string { return f.path }

// DefaultIsHint reports whether no control can show the default in its place.
func (f *field) DefaultIsHint() bool { return f.Default != "" && (f.IsGroup() || f.Kind == fileField) }

// HasHint reports whether there is a text about the field.
func (f *field) HasHint() bool { return f.Description != "" || f.DefaultIsHint() }

func (f *field) hasOptions() bool { return f.Kind == radioField || f.Kind == selectField }

// noun returns what an empty value of the field is.
func (f *field) noun() string {
	switch f.Kind {
	case listField, mapField, objectField:
		return string(f.Kind)
	}
	return "text"
}

// canBeEmpty reports whether the field has an empty value that can be meant where nothing is entered.
func (f *field) canBeEmpty() bool {
	t := f.of
	switch f.Kind {
	case listField, mapField, objectField:
		return f.IsOptional()
	case textField, areaField:
		return f.IsMember && f.isString() && t.Format == "" && (t.MinLength == nil || *t.MinLength == 0) &&
			(t.Pattern == nil || t.Pattern.MatchString(""))
	}
	return false
}

// isString reports whether what is typed is the text itself, and not JSON.
func (f *field) isString() bool {
	return f.of.Kind == schema.String && f.of.OneOf == nil && len(f.of.Enum) == 0
}

// rows adds the rows of a list or a map, and the one that a script adds.
func (b formBuilder) rows(f *field, depth int) {
	indexes, next := b.posted[f.Name+"[]"], 0
	if len(indexes) > maxAllFields {
		*b.left = -1
	}
	for i, index := range indexes {
		if *b.left < 0 {
			return
		}
		n, _ := strconv.Atoi(index)
		next = max(next, n+1)
		again := slices.Contains(indexes[:i], index) // nested, a short form would have any number of rows
		if n >= 0 && strconv.Itoa(n) == index && !again && b.posted.Get("remove") != f.Name+"["+index+"]" {
			f.Rows = append(f.Rows, b.row(f, index, depth))
		}
	}
	if b.posted.Get("add") == f.Name {
		f.Rows = append(f.Rows, b.row(f, strconv.Itoa(next), depth))
		b.posted.Del(f.Name + "?")
	}
	f.New = formBuilder{limit: b.limit, left: b.left}.row(f, fmt.Sprintf("{%d}", depth), depth)
}

// row returns the next row of a list or a map.
func (b formBuilder) row(f *field, index string, depth int) *row {
	r := &row{Index: index, Of: f}
	name, path := f.Name+"["+index+"]", f.path+"["+strconv.Itoa(len(f.Rows))+"]"
	label := "Element"
	if f.Kind == mapField {
		r.Key = b.field(&schema.Type{Kind: schema.String}, name+".key", "", depth+1, false)
		r.Key.Label, r.Key.Kind, r.Key.path = "Name", textField, path
		name, path, label = name+".value", joinPath(f.path, memberPath(r.Key.typed)), "Value"
	}
	r.Value = b.field(f.of.Elem, name, path, depth+1, f.Secret)
	r.Value.Label = label
	b.setPresence(r.Value)
	return r
}

var plainMember = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// memberPath and joinPath build paths as violations have them.
func memberPath(name string) string {
	if plainMember.MatchString(name) {
		return name
	}
	return "[" + string(value.AppendString(nil, name)) + "]"
}

func joinPath(path, member string) string {
	if path == "" || member[0] == '[' {
		return path + member
	}
	return path + "." + member
}

// kindOf returns how a type is entered, at a depth below the tool. From the limit on, nested types are JSON.
func kindOf(t *schema.Type, depth, limit int, secret bool) (kind fieldKind, mode string) {
	text := func(mode string) (fieldKind, string) {
		if secret {
			mode = "password"
		}
		return textField, mode
	}
	switch {
	case t.Kind == schema.File && t.OneOf == nil:
		return fileField, ""
	case t.OneOf != nil || depth >= limit && slices.Contains(nested, t.Kind):
	case secret && len(t.Enum) > 0:
		return text("")
	case t.Kind == schema.Bool:
		return radioField, ""
	case len(t.Enum) > 0:
		return selectField, ""
	case t.Kind == schema.Integer:
		return text("numeric")
	case t.Kind == schema.Number:
		return text("decimal")
	case t.Kind == schema.String:
		if mode, ok := formatModes[t.Format]; ok || secret {
			return text(mode)
		}
		if t.MaxLength != nil && *t.MaxLength <= maxLine || t.Format != "" || t.Pattern != nil {
			return text("text")
		}
		return areaField, ""
	case t.Kind == schema.Object && !t.Open && len(t.Members) > 0:
		return objectField, ""
	case (t.Kind == schema.List || t.Kind == schema.Set) && t.Elem != nil:
		return listField, ""
	case t.Kind == schema.Map && t.Elem != nil:
		return mapField, ""
	}
	if secret {
		return text("")
	}
	return jsonField, ""
}

var nested = []schema.Kind{schema.List, schema.Set, schema.Map, schema.Object}

// formatModes are the types of controls for formats of texts.
var formatModes = map[string]string{"date": "date", "email": "email", "uri": "url"}

// choose makes the choices of a field, among which are those to leave it out and null.
func (f *field) choose() {
	switch {
	case f.of.Nullable && f.typed == "null":
		f.Is, f.typed = isNull, ""
	case f.IsMember && f.typed == "":
		f.Is = isOut
	}
	if f.IsOptional() {
		f.Options = []option{{"", "left out", f.Is == isOut}}
		if f.Default != "" {
			f.Options[0].Label += " (" + f.Default + ")"
		}
	}
	if f.of.Nullable {
		f.Options = append(f.Options, option{"null", "null", f.Is == isNull})
	}
	f.Options = append(f.Options, optionsOf(f.of, f.Value)...)
}

func optionsOf(t *schema.Type, chosen string) (options []option) {
	if t.Kind == schema.Bool && len(t.Enum) == 0 {
		return []option{{"true", "true", chosen == "true"}, {"false", "false", chosen == "false"}}
	}
	for _, e := range t.Enum {
		o := option{Value: jsonOf(e.Value), Label: e.Title}
		if o.Label == "" {
			o.Label = strings.Trim(o.Value, `"`)
		}
		o.Chosen = o.Value == chosen
		options = append(options, o)
	}
	return options
}

func jsonOf(v any) string {
	text, err := value.AppendJSON(nil, v)
	if err != nil {
		return ""
	}
	return string(text)
}
