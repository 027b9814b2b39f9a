package schema

import (
	"cmp"
	"slices"
	"strings"

	"hatchel/hcl/value"
)

// AppendSchema appends the type's JSON Schema 2020-12. Members and keywords are in declared order,
// so the output is deterministic.
func (t *Type) AppendSchema(dst []byte) []byte {
	o := &jsonWriter{out: dst, clients: true}
	return t.writeShared(o)
}

// AppendIdentity appends a schema that identifies the type in digests, which are stored and shared by processes of
// several versions: it does not change with what clients accept.
func (t *Type) AppendIdentity(dst []byte) []byte { return t.writeShared(&jsonWriter{out: dst}) }

// writeShared writes a document whose definitions are shared, and returns the output.
func (t *Type) writeShared(o *jsonWriter) []byte {
	if t.verbatim == nil {
		o.shared = t.sharedDefinitions(o.clients)
	}
	t.writeDocument(o)
	return o.out
}

// AppendReviewSchema is AppendSchema for those who review a tool: it has no upload URL, and it has the
// limits of files as keywords, and types that do not contain themselves where they are used.
func (t *Type) AppendReviewSchema(dst []byte) []byte {
	o := &jsonWriter{out: dst, review: true}
	t.writeDocument(o)
	return o.out
}

func (t *Type) writeDocument(o *jsonWriter) {
	if t.verbatim != nil {
		o.value(*t.verbatim)
		return
	}
	o.nest("{}", func() {
		if t.OneOf != nil {
			t.writeType(o) // the protocol needs it at the root; elsewhere the alternatives say it
		}
		t.writeKeywords(o, nil)
		o.writeDefinitions()
	})
}

// AppendForm appends the schema of a form: an object whose members, in declared order, use only the
// schemas that the protocol allows there. No member may have a FormError.
func (t *Type) AppendForm(dst []byte) []byte {
	o := &jsonWriter{out: dst, form: true}
	o.nest("{}", func() {
		o.text("type", "object")
		t.writeMembers(o)
	})
	return o.out
}

// jsonWriter appends the members of JSON objects and the elements of lists.
type jsonWriter struct {
	out   []byte
	comma bool // the innermost object or list has an element
	form  bool // writes a form

	// clients is set for what clients load: Gemini accepts no list of types, OpenAI no oneOf, and VS Code no list
	// without items.
	clients bool

	review bool                   // writes for AppendReviewSchema
	shared map[*Definition]bool   // those that are written once, beside those that contain themselves
	names  map[*Definition]string // of those that are referred to so far
	defs   []*Definition          // the same, in the order of their names
}

// nest writes an object or a list, whose content write writes.
func (o *jsonWriter) nest(brackets string, write func()) {
	o.out, o.comma = append(o.out, brackets[0]), false
	write()
	o.out, o.comma = append(o.out, brackets[1]), true
}

// next begins an element.
func (o *jsonWriter) next() {
	if o.comma {
		o.out = append(o.out, ',')
	}
	o.comma = true
}

func (o *jsonWriter) key(name string) {
	o.next()
	o.out = append(value.AppendString(o.out, name), ':')
}

func (o *jsonWriter) text(name, v string) {
	if v != "" {
		o.always(name, v)
	}
}

func (o *jsonWriter) any(name string, v any) {
	if v != nil {
		o.always(name, v)
	}
}

// always writes a member whose value may be null.
func (o *jsonWriter) always(name string, v any) {
	o.key(name)
	o.value(v)
}

// value appends a constant of the configuration, which always has a JSON form.
func (o *jsonWriter) value(v any) {
	var err error
	if o.out, err = value.AppendJSON(o.out, v); err != nil {
		panic("schema: " + err.Error())
	}
}

// write writes the schema of t as that of member m, which may be nil.
func (t *Type) write(o *jsonWriter, m *Member) {
	if o.refersTo(t) {
		o.nest("{}", func() { t.writeReference(o, m) })
		return
	}
	o.nest("{}", func() { t.writeKeywords(o, m) })
}

func (t *Type) writeKeywords(o *jsonWriter, m *Member) {
	if o.clients && t.Nullable && t.OneOf == nil && t.Kind != Any && t.Kind != Null && !t.hasExtra("anyOf") {
		t.writeNullable(o, m)
		return
	}
	if o.clients && t.OneOf != nil && !t.hasExtra("anyOf") {
		t.writeUnion(o, m)
		return
	}
	if t.OneOf == nil {
		t.writeType(o)
	}
	o.text("title", t.Title)
	switch {
	case o.review:
		o.text("description", t.Description)
	case o.clients:
		o.text("description", t.descriptionWithTitles())
	default:
		o.text("description", t.descriptionWithUpload())
	}
	if t.OneOf != nil {
		t.writeAlternatives(o)
	} else {
		t.writeContent(o)
		t.writeEnum(o, "oneOf")
		if !o.form || len(t.Enum) == 0 {
			t.writeBounds(o)
		}
	}
	if m != nil && m.HasDefault {
		o.always("default", m.Default)
	}
	if len(t.Examples) > 0 {
		o.any("examples", t.Examples)
	}
	o.text("x-mcp-header", t.Header)
	t.writeExtra(o)
}

// writeUnion writes alternatives with the texts of the type within the first and the default within the first that
// accepts it: Vertex AI refuses an anyOf with another member that it knows. A default of null is left out, because that
// is what an absent member is.
func (t *Type) writeUnion(o *jsonWriter, m *Member) {
	var takesDefault *Type
	if m != nil && m.Default != nil {
		takesDefault = t.alternativeOf(m.Default, &checkTime{limit: Unlimited})
	}
	o.key("anyOf")
	o.nest("[]", func() {
		for i, a := range t.OneOf {
			var def *Member
			if a == takesDefault {
				def = m
			}
			if texts := strings.TrimSpace(t.Description + "\n" + a.Description); i == 0 &&
				(texts != a.Description || t.Title != "" || len(t.Examples) > 0) {
				first := *a
				first.Description = texts
				first.Title = cmp.Or(a.Title, t.Title)
				first.Examples = slices.Concat(t.Examples, a.Examples)
				a = &first
			}
			o.next()
			a.write(o, def)
		}
		if t.Nullable {
			o.next()
			o.value(map[string]any{"type": "null"})
		}
	})
	o.text("x-mcp-header", t.Header)
	t.writeExtra(o)
}

// writeNullable writes a type and null as alternatives, as writeUnion does. An input that clients repeat in a header is
// written without null: they leave out a tool if its type is not a single one.
func (t *Type) writeNullable(o *jsonWriter, m *Member) {
	notNull := *t.NotNull()
	if m != nil && m.Default == nil {
		m = nil
	}
	if t.Header != "" {
		notNull.writeKeywords(o, m)
		return
	}
	notNull.Extra = nil
	o.key("anyOf")
	o.nest("[]", func() {
		o.next()
		o.nest("{}", func() { notNull.writeKeywords(o, m) })
		o.next()
		o.value(map[string]any{"type": "null"})
	})
	t.writeExtra(o)
}

// descriptionWithTitles is descriptionWithUpload with the titles of the values of an enumeration.
func (t *Type) descriptionWithTitles() string {
	description := strings.TrimSpace(t.descriptionWithUpload())
	for _, e := range t.Enum {
		if e.Title != "" {
			text, _ := value.Text(e.Value)
			description += "\n- " + text + ": " + e.Title
		}
	}
	return strings.TrimPrefix(description, "\n")
}

func (t *Type) writeType(o *jsonWriter) {
	name := kinds[t.Kind].json
	if t.Nullable && t.Kind != Any && t.Kind != Null {
		o.any("type", []any{name, "null"})
	} else {
		o.text("type", name)
	}
}

func (t *Type) writeAlternatives(o *jsonWriter) {
	o.key("anyOf")
	o.nest("[]", func() {
		for _, a := range t.OneOf {
			o.next()
			a.write(o, nil)
		}
		if t.Nullable {
			o.next()
			o.value(map[string]any{"type": "null"})
		}
	})
}

func (t *Type) writeBounds(o *jsonWriter) {
	o.any("minimum", t.Min)
	o.any("maximum", t.Max)
	o.any("exclusiveMinimum", t.Above)
	o.any("exclusiveMaximum", t.Below)
	o.any("multipleOf", t.MultipleOf)
	o.any("minLength", intOrNil(t.MinLength))
	o.any("maxLength", intOrNil(t.MaxLength))
	if t.Pattern != nil {
		o.text("pattern", t.Pattern.Source)
	}
	o.text("format", t.Format)
}

func (t *Type) hasExtra(name string) bool {
	return slices.ContainsFunc(t.Extra, func(k Keyword) bool { return k.Name == name })
}

func (t *Type) writeExtra(o *jsonWriter) {
	for _, k := range t.Extra {
		o.always(k.Name, k.Value)
	}
}

func (t *Type) writeContent(o *jsonWriter) {
	switch t.Kind {
	case Bytes:
		o.text("contentEncoding", "base64")
	case List, Set:
		switch {
		case o.form:
			o.key("items")
			o.nest("{}", func() { t.Elem.writeChoiceItems(o) })
		case t.Elem.Kind != Any || t.Elem.described() || o.clients && !t.hasExtra("items"):
			o.key("items")
			t.Elem.write(o, nil)
		}
		if t.Kind == Set {
			o.any("uniqueItems", true)
		}
		o.any("minItems", intOrNil(t.MinItems))
		o.any("maxItems", intOrNil(t.MaxItems))
	case Map:
		o.key("additionalProperties")
		t.Elem.write(o, nil)
		o.any("minProperties", intOrNil(t.MinItems))
		o.any("maxProperties", intOrNil(t.MaxItems))
	case Object:
		t.writeMembers(o)
	case File:
		fileForm.writeMembers(o)
		if o.review {
			t.writeFileLimits(o)
		}
	}
}

// FileKeyword is the keyword of AppendReviewSchema that holds the limits of a file.
const FileKeyword = "x-file"

func (t *Type) writeFileLimits(o *jsonWriter) {
	types := []any{}
	for _, name := range t.MediaTypes {
		types = append(types, name)
	}
	o.any(FileKeyword, map[string]any{"maxSize": int(t.MaxSize), "types": types})
}

// described reports whether the schema of an Any is not empty.
func (t *Type) described() bool {
	return t.OneOf != nil || t.isRef ||
		t.Title != "" || t.Description != "" || len(t.Examples) > 0 || len(t.Extra) > 0 || len(t.Enum) > 0
}

func (t *Type) writeMembers(o *jsonWriter) {
	var required []any
	o.key("properties")
	o.nest("{}", func() {
		for _, m := range t.Members {
			o.key(m.Name)
			m.Type.write(o, m)
			if !m.Optional {
				required = append(required, m.Name)
			}
		}
	})
	if required != nil {
		o.any("required", required)
	}
	if !t.Open && !o.form {
		o.any("additionalProperties", false)
	}
}

func (t *Type) hasTitles() bool {
	return slices.ContainsFunc(t.Enum, func(e EnumValue) bool { return e.Title != "" })
}

// writeEnum writes the values of an enumeration: as an enum, or with titles as a list of constants
// under the given keyword, the form that clients of the protocol show to people.
func (t *Type) writeEnum(o *jsonWriter, keyword string) {
	if len(t.Enum) == 0 {
		return
	}
	if !t.hasTitles() || o.clients {
		values := enumValues(t)
		if t.Nullable {
			values = append(values, nil)
		}
		o.any("enum", values)
		return
	}
	o.key(keyword)
	o.nest("[]", func() {
		for _, e := range t.Enum {
			title := e.Title
			if o.form { // the protocol requires a title
				title = cmp.Or(title, e.Value.(string))
			}
			o.next()
			o.nest("{}", func() {
				o.any("const", e.Value)
				o.text("title", title)
			})
		}
		if t.Nullable {
			o.next()
			o.value(map[string]any{"const": nil})
		}
	})
}

// writeChoiceItems writes the schema of the elements of a multiple choice in a form.
func (t *Type) writeChoiceItems(o *jsonWriter) {
	if !t.hasTitles() {
		o.text("type", "string")
	}
	t.writeEnum(o, "anyOf")
	t.writeExtra(o)
}
