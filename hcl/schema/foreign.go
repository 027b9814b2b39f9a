package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"hatchel/hcl/value"
)

// Foreign is the JSON Schema of an object that another program declares: of what it is sent, or of what it returns. It
// is safe for concurrent use.
type Foreign struct {
	typ      *Type
	quick    func() *quickCheck // compiled when it is first used
	library  *library
	declared bool // it has no other members than those of its type
}

// foreignDrafts are the parts of $schema that name the drafts that are read. The first one is the default.
var foreignDrafts = []string{"2020-12", "2019-09", "draft-07", "draft-06"}

// ReadForeign reads a JSON Schema of draft-06, draft-07, 2019-09 or 2020-12. References to other documents, and
// patterns that cannot be matched in linear time, such as those with look-arounds, are errors. The error is a sentence
// for an author, without a period.
func ReadForeign(text string) (*Foreign, error) {
	raw, err := value.Decode([]byte(text))
	if err != nil {
		return nil, err
	}
	m, ok := raw.(map[string]any)
	if !ok {
		return nil, errors.New("a schema is an object, not " + describeValue(raw))
	}
	if name, ok := m["$schema"].(string); ok && !slices.ContainsFunc(foreignDrafts, func(draft string) bool {
		return strings.HasPrefix(name, "http") && strings.Contains(name, "://json-schema.org/") &&
			strings.Contains(name, draft)
	}) {
		return nil, fmt.Errorf("its $schema is %s, and the drafts that are read are %s", quoteShort(name),
			strings.Join(foreignDrafts, ", "))
	}
	checker := &library{doc: raw}
	if !isPlain(raw) {
		if checker, err = compileLibrary(raw); err != nil {
			return nil, err
		}
	}
	r := schemaReader{root: raw, bare: true}
	t := r.read(raw)
	if t.Kind != Object && t.Kind != Map || t.OneOf != nil {
		t = &Type{Kind: Object, Open: true}
	}
	quick := sync.OnceValue(func() *quickCheck { return newQuickCheck(raw) })
	return &Foreign{typ: t, quick: quick, library: checker, declared: declaresAll(m)}, nil
}

// declaresAll reports whether a schema says which members an object has: it has properties, and says nothing of others
// than that there are none.
func declaresAll(m map[string]any) bool {
	for _, name := range []string{"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties",
		"dependentSchemas", "dependencies", "unevaluatedProperties", "propertyNames"} {
		if m[name] != nil {
			return false
		}
	}
	_, has := m["properties"]
	rest, said := m["additionalProperties"]
	return rest == false || has && !said
}

// Type returns a type that accepts at least what the schema accepts: any, for what the language has no type for. It has
// no texts of the schema.
func (f *Foreign) Type() *Type { return f.typ }

// Names returns the names of the declared members.
func (f *Foreign) Names() []string { return f.typ.MemberNames() }

// Declares reports whether the schema knows a member by this name. A schema that says nothing of members that it does
// not declare knows none of them, although JSON Schema accepts them, because a server ignores what it does not know.
func (f *Foreign) Declares(name string) bool {
	_, ok := f.typ.Lookup(name)
	return ok || !f.declared
}

// Check returns what the schema refuses of a value. An error is one of the time, within which a schema that another
// program wrote must not cost more than one of the configuration. If sensitive is set, violations do not show values.
func (f *Foreign) Check(v any, time Time, sensitive bool) ([]Violation, error) {
	if f.quick().accepts(v) {
		return nil, nil
	}
	t := &checkTime{limit: time}
	violations := f.library.validate(v, t, sensitive)
	if t.err != nil {
		return nil, t.err
	}
	return limitViolations(violations), nil
}
