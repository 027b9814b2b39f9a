package schema

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"hatchel/hcl/value"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// rawSchema reads schema = {...}: raw keywords that are advertised in addition to those of the type
// and enforced by the JSON Schema library.
func (p *parser) rawSchema(t *Type, expr hclv2.Expression) {
	keywords, ok := p.rawKeywords(expr)
	if !ok {
		return
	}
	plain := *t
	plain.Extra, plain.library = nil, nil
	emitted, err := value.Decode(plain.AppendReviewSchema(nil))
	if err != nil {
		panic("schema: " + err.Error())
	}
	doc := map[string]any{}
	for _, k := range keywords {
		doc[k.Name] = k.Value
		if _, twice := emitted.(map[string]any)[k.Name]; twice {
			p.fail(expr.Range(), "Repeated schema keyword",
				"The type %s already sets %q. Leave it out here, or give the input the type any.", t, k.Name)
			return
		}
	}
	if value.Contains(doc, isLocalRef) {
		p.fail(expr.Range(), "Invalid schema", "A $ref to # would refer to the schema of the whole tool, which has "+
			"no such part. Give the tool a whole schema, or write this one without $ref.")
		return
	}
	library, err := compileLibrary(doc)
	if err != nil {
		p.fail(expr.Range(), "Invalid schema", "The schema cannot be used: %s.", err)
		return
	}
	t.Extra, t.library = keywords, library
}

// rawKeywords returns the keywords of an object literal in written order, and those of any other
// value sorted.
func (p *parser) rawKeywords(expr hclv2.Expression) ([]Keyword, bool) {
	v, ok := p.constant(expr)
	if !ok {
		return nil, false
	}
	m, isObject := v.(map[string]any)
	if !isObject {
		p.fail(expr.Range(), "Invalid schema",
			"schema is an object of JSON Schema keywords, like { minProperties = 1 }, not %s.", describeValue(v))
		return nil, false
	}
	var out []Keyword
	if braces, ok := unwrap(expr).(*hclsyntax.ObjectConsExpr); ok {
		for _, item := range braces.Items {
			name, _ := p.key(item.KeyExpr)
			out = append(out, Keyword{name, m[name]})
		}
		return out, true
	}
	for _, name := range value.Keys(m) {
		out = append(out, Keyword{name, m[name]})
	}
	return out, true
}

// isLocalRef reports whether v is a schema with a reference into its own document.
func isLocalRef(v any) bool {
	m, _ := v.(map[string]any)
	ref, _ := m["$ref"].(string)
	dynamic, _ := m["$dynamicRef"].(string)
	return strings.HasPrefix(ref, "#") || strings.HasPrefix(dynamic, "#")
}

// noLoader rejects references to other documents, because loading never accesses the network.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("not available") }

// libraryViolations converts the violations that the library reports.
func libraryViolations(e *jsonschema.ValidationError, sensitive bool) []Violation {
	switch e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		var out []Violation
		for _, c := range e.Causes {
			out = append(out, libraryViolations(c, sensitive)...)
		}
		return out
	}
	out := singleViolation(libraryMessage(e.ErrorKind, sensitive) + alternatives(e, sensitive))
	for _, token := range slices.Backward(e.InstanceLocation) {
		key := memberKey(token)
		if i, err := strconv.Atoi(token); err == nil {
			key = indexKey(i)
		}
		prefix(key, out)
	}
	return out
}

// alternatives explains why a value matches none of the alternatives.
func alternatives(e *jsonschema.ValidationError, sensitive bool) string {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
	default:
		return ""
	}
	var reasons []string
	for _, c := range e.Causes {
		if list := libraryViolations(c, sensitive); len(list) > 0 {
			reasons = append(reasons, list[0].Message)
		}
	}
	if len(reasons) == 0 || len(reasons) > 4 {
		return ""
	}
	return ": it " + strings.Join(reasons, "; or it ")
}

func libraryMessage(k jsonschema.ErrorKind, sensitive bool) string {
	tail := func(v any) string {
		if sensitive {
			return ""
		}
		return ", got " + describeValue(v)
	}
	switch k := k.(type) {
	case *kind.Type:
		return "must be " + strings.Join(k.Want, " or ") + ", got " + k.Got
	case *kind.Enum:
		return "must be one of " + listValues(k.Want) + tail(k.Got)
	case *kind.Const:
		return "must be " + showJSON(k.Want) + tail(k.Got)
	case *kind.Required:
		return "needs " + quotedList(k.Missing)
	case *kind.DependentRequired:
		return fmt.Sprintf("needs %s because it has %q", quotedList(k.Missing), k.Prop)
	case *kind.AdditionalProperties:
		return "may not have " + quotedList(k.Properties)
	case *kind.PropertyNames:
		return fmt.Sprintf("the name %s is not allowed", quoteShort(k.Property))
	case *kind.UniqueItems:
		return duplicateMessage(k.Duplicates[0], k.Duplicates[1])
	case *kind.Pattern:
		return "must match the pattern " + k.Want + tail(k.Got)
	case *kind.Format:
		if k.Want == "regex" && k.Err != nil && !sensitive {
			return "must be a regular expression: " + k.Err.Error() + tail(k.Got)
		}
		if _, ok := formats[k.Want]; ok {
			return formatPhrase(k.Want, k.Err == errLongFormat) + tail(k.Got)
		}
		return "must have the format " + k.Want + tail(k.Got)
	case *kind.FalseSchema:
		return "is not allowed here"
	case *kind.Not:
		return "is a value that the schema excludes with \"not\""
	case *kind.AnyOf:
		return "matches none of the alternatives in anyOf"
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return "matches more than one of the alternatives in oneOf"
		}
		return "matches none of the alternatives in oneOf"
	case *kind.Contains:
		return "must contain an item that matches \"contains\""
	case *kind.Minimum:
		return "must be at least " + rat(k.Want)
	case *kind.Maximum:
		return "must be at most " + rat(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be above " + rat(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be below " + rat(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + rat(k.Want)
	case *kind.MinLength:
		return sizeMessage("at least", k.Want, k.Got, "character")
	case *kind.MaxLength:
		return sizeMessage("at most", k.Want, k.Got, "character")
	case *kind.MinItems:
		return sizeMessage("at least", k.Want, k.Got, "item")
	case *kind.MaxItems:
		return sizeMessage("at most", k.Want, k.Got, "item")
	case *kind.MinProperties:
		return sizeMessage("at least", k.Want, k.Got, "member")
	case *kind.MaxProperties:
		return sizeMessage("at most", k.Want, k.Got, "member")
	}
	if path := k.KeywordPath(); len(path) > 0 {
		return fmt.Sprintf("does not satisfy the schema keyword %q", path[0])
	}
	return "does not satisfy the schema"
}

func rat(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return value.FormatFloat(f)
}

func quotedList(names []string) string {
	sorted := slices.Sorted(slices.Values(names))
	for i, n := range sorted {
		sorted[i] = quoteShort(n)
	}
	return strings.Join(sorted, ", ")
}

func duplicateMessage(first, second int) string {
	return fmt.Sprintf("must not repeat items; [%d] equals [%d]", second, first)
}

const maxListedValues = 20

// listValues writes the values of an enumeration.
func listValues(values []any) string {
	var b strings.Builder
	for i, v := range values {
		if i == maxListedValues {
			fmt.Fprintf(&b, " and %d more", len(values)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(showJSON(v))
	}
	return b.String()
}
