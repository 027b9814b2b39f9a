package openapi

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/printable"
)

type kind string

const (
	anyKind     kind = "any"
	stringKind  kind = "string"
	numberKind  kind = "number"
	integerKind kind = "integer"
	boolKind    kind = "bool"
	listKind    kind = "list"
	setKind     kind = "set"
	mapKind     kind = "map"
	objectKind  kind = "object"
	fileKind    kind = "file"

	// of trees only
	oneOfKind     kind = "one_of"
	recursionKind kind = "recursion"
)

// schema is a schema of the document, read. Schemas refer to each other and may form cycles; see shrink.
type schema struct {
	kind         kind
	name         string // of its component; empty for a schema written in place
	title, text  string // of a description
	nullable     bool
	enum         []string // values, as in JSON
	enumTitles   []string
	bounds       bounds
	pattern      string
	format       string
	members      []*member
	elem         *schema
	alternatives []*schema // of anyKind
	fallback     node      // the default
	readOnly     bool
	writeOnly    bool
	described    bool     // the component with another description
	closed       bool     // an object that has no members
	requires     []string // members that are required, wherever they are declared
	at           node
	target       *yaml.Node // of a reference
	plain        *string    // the description without markup, once it was needed
	names        memberNames
	losses       []importer.Loss
	done         bool
}

// bounds are the limits of a schema, as they are written; empty if there is none.
type bounds struct {
	min, max, above, below, multipleOf       string
	minLength, maxLength, minItems, maxItems string
}

type member struct {
	name     string
	schema   *schema
	required bool
}

func (s *schema) lookup(name string) *member {
	for _, m := range s.members {
		if m.name == name {
			return m
		}
	}
	return nil
}

func (s *schema) lose(kind, detail string) {
	s.losses = append(s.losses, importer.Loss{Kind: kind, Detail: detail, Origin: s.at.place()})
}

// isScalar reports whether a value of the schema is one text, number or bool.
func (s *schema) isScalar() bool {
	return s.kind == stringKind || s.kind == numberKind || s.kind == integerKind || s.kind == boolKind
}

func (s *schema) isObject() bool { return s.kind == objectKind || s.kind == mapKind }

// schemaReader reads schemas, each once.
type schemaReader struct {
	*resolver
	read  map[*yaml.Node]*schema
	bases map[*yaml.Node]*schema // schemas with a discriminator, as those see them that extend them
}

// schema reads a schema. It always returns one; what cannot be read is any.
func (r *schemaReader) schema(n node) *schema {
	if n.Node == nil {
		return &schema{kind: anyKind, done: true}
	}
	if s := r.read[n.Node]; s != nil {
		return s
	}
	s := &schema{kind: anyKind, at: n}
	r.read[n.Node] = s
	defer func() { s.done = true }()
	switch {
	case n.get("$ref").isString():
		r.reference(s, n)
	case isBase(n):
		r.base(s, n)
	case n.isMap():
		r.keywords(s, n)
	}
	return s
}

// reference reads a schema with a $ref. Other members are an additional schema, as in OpenAPI 3.1; a description
// replaces that of the target.
func (r *schemaReader) reference(s *schema, n node) {
	target, err := r.resolve(n)
	if err != nil {
		s.lose("broken reference", err.Error())
		s.text = n.get("description").text()
		return
	}
	base := r.schema(target)
	if !base.done {
		if base.name == "" {
			base.name = componentName(n.get("$ref").Value)
		}
		s.alternatives = []*schema{base} // an alias of itself, which shrink follows
		s.kind = anyKind
		return
	}
	at := s.at
	*s = *base
	s.at, s.target, s.plain = at, base.identity(), nil
	s.losses = slices.Clone(base.losses)
	if s.name == "" {
		s.name = componentName(n.get("$ref").Value)
	}
	if n.size() == 2 {
		return
	}
	over := &schema{kind: anyKind, at: n}
	r.keywords(over, n)
	if over.text != "" && over.text != s.text {
		s.text, s.described = over.text, true
	}
	s.readOnly, s.writeOnly = s.readOnly || over.readOnly, s.writeOnly || over.writeOnly
	if over.nullable && !s.nullable {
		s.nullable, s.described = true, true
	}
	if over.fallback.exists() {
		s.fallback = over.fallback
	}
	if over.kind != anyKind {
		s.name = ""
		intersect(s, over)
	}
}

// keywords reads the members of a schema in place.
func (r *schemaReader) keywords(s *schema, n node) {
	s.title, s.text = n.get("title").text(), n.get("description").text()
	s.nullable = n.get("nullable").isTrue() || n.get("x-nullable").isTrue()
	s.readOnly, s.writeOnly = n.get("readOnly").isTrue(), n.get("writeOnly").isTrue()
	s.fallback = n.get("default")
	s.kind = r.kindOf(s, n)
	if s.kind == stringKind {
		s.format = n.get("format").text()
	}
	if s.kind == stringKind || s.kind == anyKind {
		r.textKeywords(s, n)
	}
	s.bounds = readBounds(s.kind, n)
	readEnum(s, n)
	if values := n.get("enum"); s.kind == anyKind && s.alternatives == nil && values.isList() {
		s.alternatives = r.typeAlternatives(n, kindsOfValues(values))
		hasNull := slices.ContainsFunc(slices.Collect(values.list()), node.isNull)
		s.nullable = s.nullable || s.alternatives != nil && hasNull
	}
	switch s.kind {
	case listKind:
		s.elem = r.schema(n.get("items"))
		if n.get("uniqueItems").isTrue() {
			s.kind = setKind
		}
	case objectKind:
		r.object(s, n)
	case stringKind:
		if s.format == "binary" {
			s.kind = fileKind
		}
		base64 := s.format == "byte" || n.get("contentEncoding").text() == "base64"
		if base64 && s.pattern == "" {
			s.pattern = "^[-A-Za-z0-9+/_]*={0,2}$"
		}
		if base64 {
			s.text = strings.TrimSpace(s.text + " In base64.")
		}
		if !slices.Contains(enforcedFormats, s.format) {
			s.format = ""
		}
	}
	for name := range n.get("required").list() {
		if name.text() != "" && len(s.requires) < maxRequired {
			s.requires = append(s.requires, name.text())
		}
	}
	for part := range n.get("allOf").list() {
		s.addPart(r.partOf(n, part))
	}
	for _, word := range []string{"oneOf", "anyOf"} {
		if n.get(word).isList() {
			r.oneOf(s, n, n.get(word))
		}
	}
	s.require(s.requires)
	for _, word := range []string{"not", "if", "dependentSchemas", "patternProperties", "dependencies"} {
		if n.has(word) {
			s.lose("ignored keyword", word)
		}
	}
}

// textKeywords reads pattern and format, as far as the language enforces them.
func (r *schemaReader) textKeywords(s *schema, n node) {
	if source := n.get("pattern").text(); source != "" {
		if s.pattern = repairPattern(source); s.pattern == "" {
			s.lose("pattern of another dialect", source)
		}
	}
}

// kindOf finds the type, or infers it from the other keywords.
func (r *schemaReader) kindOf(s *schema, n node) kind {
	var kinds []kind
	add := func(name string) {
		switch k := kind(name); {
		case name == "null":
			s.nullable = true
		case name == "array":
			kinds = append(kinds, listKind)
		case name == "boolean":
			kinds = append(kinds, boolKind)
		case slices.Contains([]kind{stringKind, numberKind, integerKind, objectKind, fileKind}, k):
			kinds = append(kinds, k)
		}
	}
	types := n.get("type")
	add(types.text())
	for one := range types.list() {
		add(one.text())
	}
	switch {
	case len(kinds) == 1:
		return kinds[0]
	case len(kinds) == 2 && slices.Contains(kinds, numberKind) && slices.Contains(kinds, integerKind):
		return numberKind
	case len(kinds) > 1:
		s.alternatives = r.typeAlternatives(n, kinds)
		return anyKind
	case n.has("properties") || n.has("additionalProperties") && !n.has("items"):
		return objectKind
	case n.has("items"):
		return listKind
	case n.has("minimum") || n.has("maximum"):
		return numberKind
	case n.has("minLength") || n.has("maxLength") || n.has("pattern"):
		return stringKind
	case n.get("format").text() != "" && !slices.Contains([]string{"int32", "int64", "float", "double"},
		n.get("format").text()):
		return stringKind
	}
	return anyKind
}

func readBounds(k kind, n node) (b bounds) {
	number := func(name string) string { return numberText(n.get(name)) }
	switch k {
	case numberKind, integerKind:
		b.min, b.max, b.multipleOf = number("minimum"), number("maximum"), number("multipleOf")
		b.above, b.below = number("exclusiveMinimum"), number("exclusiveMaximum")
		if n.get("exclusiveMinimum").isTrue() { // the form of OpenAPI 3.0
			b.above, b.min = b.min, ""
		}
		if n.get("exclusiveMaximum").isTrue() {
			b.below, b.max = b.max, ""
		}
		if !positive(b.multipleOf) {
			b.multipleOf = ""
		}
	case stringKind:
		b.minLength, b.maxLength = countText(n.get("minLength")), countText(n.get("maxLength"))
	case listKind:
		b.minItems, b.maxItems = countText(n.get("minItems")), countText(n.get("maxItems"))
	case objectKind:
		b.minItems, b.maxItems = countText(n.get("minProperties")), countText(n.get("maxProperties"))
	}
	for _, pair := range [][2]*string{{&b.min, &b.max}, {&b.above, &b.below}, {&b.min, &b.below}, {&b.above, &b.max},
		{&b.minLength, &b.maxLength}, {&b.minItems, &b.maxItems}} {
		if less(*pair[1], *pair[0]) {
			*pair[0], *pair[1] = "", ""
		}
	}
	return b
}

// object reads properties and additionalProperties.
func (r *schemaReader) object(s *schema, n node) {
	required := map[string]bool{}
	for name := range n.get("required").list() {
		required[name.text()] = true
	}
	for name, property := range n.get("properties").members() {
		if !property.isMap() && !property.isTrue() {
			continue
		}
		if name == "" {
			s.lose("member without a name left out", "")
			continue
		}
		must := required[name] || property.get("required").isTrue() // the latter is a common mistake
		switch hidden := printable.HasHidden(name); {
		case hidden && !must:
			s.lose("member with hidden characters left out", printable.Reveal(name, ""))
			continue
		case hidden:
			s.lose("name with hidden characters", printable.Reveal(name, "")+" is required, so it is sent with them")
		}
		s.members = append(s.members, &member{name: name, schema: r.schema(property), required: must})
	}
	more := n.get("additionalProperties")
	if s.members != nil {
		if positive(s.bounds.minItems) && len(required) == 0 || less(s.bounds.maxItems, strconv.Itoa(len(s.members))) {
			s.lose("number of members is not checked", "minProperties or maxProperties")
		}
		s.bounds.minItems, s.bounds.maxItems = "", ""
		if more.isMap() && more.size() > 0 || more.isTrue() {
			s.lose("further members are not allowed", "additionalProperties beside properties")
		}
		return
	}
	s.kind, s.closed = mapKind, more.isFalse()
	s.elem = &schema{kind: anyKind, done: true}
	if more.isMap() {
		s.elem = r.schema(more)
	}
}
