package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/spelling"
)

// A keyword restricts or describes a type. It is written in the { ... } at the end of a type, or as
// an argument of an input.
type keyword struct {
	name  string
	kinds []Kind // the kinds it applies to; nil for all
	apply func(p *parser, t *Type, expr hclv2.Expression)
}

var (
	numbers = []Kind{Number, Integer}
	texts   = []Kind{String}
	many    = []Kind{List, Set, Map}
)

// keywords returns the keywords that are allowed in the { ... } of a type.
func keywords() []keyword {
	return []keyword{
		{"min", numbers, number(func(t *Type) *any { return &t.Min })},
		{"max", numbers, number(func(t *Type) *any { return &t.Max })},
		{"above", numbers, number(func(t *Type) *any { return &t.Above })},
		{"below", numbers, number(func(t *Type) *any { return &t.Below })},
		{"multiple_of", numbers, (*parser).multipleOf},
		{"min_length", texts, count(func(t *Type) **int { return &t.MinLength })},
		{"max_length", texts, count(func(t *Type) **int { return &t.MaxLength })},
		{"pattern", texts, (*parser).pattern},
		{"format", texts, (*parser).format},
		{"min_items", many, count(func(t *Type) **int { return &t.MinItems })},
		{"max_items", many, count(func(t *Type) **int { return &t.MaxItems })},
		{"enum", []Kind{String, Number, Integer}, (*parser).enumKeyword},
		{"max_size", []Kind{File}, func(p *parser, t *Type, e hclv2.Expression) { t.MaxSize = p.Size(e) }},
		{"types", []Kind{File}, (*parser).mediaTypes},
		{"example", nil, (*parser).example},
		{"title", nil, func(p *parser, t *Type, e hclv2.Expression) { t.Title = p.text(e, "title") }},
		{"schema", nil, (*parser).rawSchema},
	}
}

// inputKeywords returns the keywords that are allowed only as arguments of an input.
func inputKeywords() []keyword {
	return []keyword{
		{"description", nil, func(p *parser, t *Type, e hclv2.Expression) { t.Description = p.text(e, "description") }},
		{"sensitive", nil, (*parser).sensitive},
		{"header", []Kind{String, Number, Integer, Bool}, (*parser).header},
	}
}

// Keywords returns the names that With accepts.
func Keywords() []string {
	return names(append(keywords(), inputKeywords()...))
}

// With returns the type with a keyword that is written as an argument of the input, with the same
// checks as inside the type. The name must be one of Keywords.
func (t *Type) With(attr *hclv2.Attribute, env Env) *Type {
	p := &parser{env}
	all := append(keywords(), inputKeywords()...)
	i := slices.IndexFunc(all, func(k keyword) bool { return k.name == attr.Name })
	c := *t
	p.set(all[i], &c, attr.NameRange, attr.Expr)
	p.finish(&c, attr.Expr.Range())
	return &c
}

// Default returns the default of an input, converted to the type. It reports false if the default
// does not fit.
func (t *Type) Default(expr hclv2.Expression, env Env) (v any, ok bool) {
	return (&parser{env}).defaultValue(t, expr)
}

// descriptionAndKeywords reads the description and the keywords of T(...). form is the beginning of
// the call, for hints.
func (p *parser) descriptionAndKeywords(form string, args []hclv2.Expression, t *Type) *Type {
	c := *t
	t = &c
	if len(args) > 0 && !isObject(args[0]) {
		t.Description = p.text(args[0], "The description in "+form+"...)")
		args = args[1:]
	}
	if len(args) > 0 && isObject(args[0]) {
		p.keywords(t, unwrap(args[0]).(*hclsyntax.ObjectConsExpr))
		args = args[1:]
	}
	if len(args) > 0 {
		p.fail(between(args), "Too many arguments", "After the description only keywords may follow: "+
			"%s\"...\", { title = \"...\" }).%s", form, valuesHint(t, args))
	}
	return t
}

func valuesHint(t *Type, args []hclv2.Expression) string {
	if _, ok := literalText(unwrap(args[0])); ok && t.Kind == String {
		return ` For a choice of values, write enum("a", "b").`
	}
	return ""
}

func (p *parser) keywords(t *Type, braces *hclsyntax.ObjectConsExpr) {
	known := keywords()
	seen := map[string]bool{}
	for _, item := range braces.Items {
		name, ok := p.key(item.KeyExpr)
		at := item.KeyExpr.Range()
		i := slices.IndexFunc(known, func(k keyword) bool { return k.name == name })
		switch {
		case !ok:
		case seen[name]:
			p.fail(at, "Duplicate keyword", "The keyword %s is written twice.", name)
		case i < 0:
			p.unknownKeyword(t, name, at, item.ValueExpr)
		default:
			p.set(known[i], t, at, item.ValueExpr)
		}
		seen[name] = true
	}
	p.finish(t, braces.Range())
}

// misplacedKeywords holds hints for keywords that have another meaning or place here.
var misplacedKeywords = map[string]string{
	"description": `The description is the first argument: TYPE("...", { ... }).`,
	"default":     "A default is written around the type: optional(TYPE, VALUE).",
	"optional":    "A value that may be left out is written optional(TYPE).",
	"required":    "Everything is required unless it is written optional(TYPE).",
	"nullable":    "A value that may be null is written nullable(TYPE).",
	"null":        "A value that may be null is written nullable(TYPE).",
	"unique":      "A list without repetitions is written set(...).",
	"items":       "The type of the elements is the first argument: list(string).",
	"sensitive":   "sensitive is an argument of the input block, not of the type.",
	"header":      "header is an argument of the input block, not of the type.",
	"type":        "The type is the name before the parenthesis.",
}

// keywordAliases maps keywords of JSON Schema and other languages to those of this language.
var keywordAliases = map[string]string{
	"minimum": "min", "maximum": "max", "gte": "min", "lte": "max", "ge": "min", "le": "max",
	"exclusiveminimum": "above", "exclusivemaximum": "below", "gt": "above", "lt": "below",
	"multipleof": "multiple_of", "step": "multiple_of", "minlen": "min_length", "maxlen": "max_length",
	"regex": "pattern", "regexp": "pattern",
	"minproperties": "min_items", "maxproperties": "max_items", "min_size": "min_items", "max_size": "max_items",
	"values": "enum", "one_of": "enum", "oneof": "enum", "choices": "enum", "options": "enum",
	"examples": "example", "label": "title",
}

func (p *parser) unknownKeyword(t *Type, name string, at hclv2.Range, expr hclv2.Expression) {
	if answer, ok := misplacedKeywords[name]; ok {
		answer = strings.NewReplacer("TYPE", t.Kind.String(), "VALUE", p.sourceOf(expr)).Replace(answer)
		p.fail(at, "Misplaced keyword", "%s is not a keyword of a type. %s", name, answer)
		return
	}
	fits := names(slices.DeleteFunc(keywords(), func(k keyword) bool { return !k.appliesTo(t) }))
	near := cmp.Or(keywordAliases[strings.ToLower(name)], spelling.Nearest(name, fits),
		spelling.Nearest(name, names(keywords())))
	if near != "" {
		p.fail(at, "Unknown keyword", "There is no keyword %q. Did you mean %s?", name, diag.Correct(name, near, near))
		return
	}
	p.fail(at, "Unknown keyword", "There is no keyword %q. A %s takes %s. Any other keyword of JSON Schema goes "+
		"into schema = { ... }.", name, t.noun(), diag.OneOf(fits, strings.Join(fits, ", ")))
}

// noun returns what a message calls a value of the type.
func (t *Type) noun() string {
	if t.OneOf != nil {
		return "one_of"
	}
	return t.Kind.String()
}

func names(list []keyword) []string {
	var out []string
	for _, k := range list {
		out = append(out, k.name)
	}
	return out
}

func (k keyword) appliesTo(t *Type) bool {
	if t.OneOf != nil {
		return k.kinds == nil
	}
	return k.kinds == nil || slices.Contains(k.kinds, t.Kind) || t.broken && t.Kind == Any
}

// counterparts maps a keyword to its equivalent for another kind, such as min to min_length.
var counterparts = map[string]map[Kind]string{
	"min":        {String: "min_length", List: "min_items", Set: "min_items", Map: "min_items"},
	"max":        {String: "max_length", List: "max_items", Set: "max_items", Map: "max_items"},
	"above":      {String: "min_length", List: "min_items", Set: "min_items", Map: "min_items"},
	"below":      {String: "max_length", List: "max_items", Set: "max_items", Map: "max_items"},
	"min_length": {Number: "min", Integer: "min", List: "min_items", Set: "min_items", Map: "min_items"},
	"max_length": {Number: "max", Integer: "max", List: "max_items", Set: "max_items", Map: "max_items"},
	"min_items":  {Number: "min", Integer: "min", String: "min_length"},
	"max_items":  {Number: "max", Integer: "max", String: "max_length"},
}

// annotations are the keywords that change nothing of what a type accepts.
var annotations = []string{"title", "description", "example", "sensitive", "header"}

// set applies one keyword, and reverts it if it contradicts another.
func (p *parser) set(k keyword, t *Type, at hclv2.Range, expr hclv2.Expression) {
	if !k.appliesTo(t) {
		kind := t.noun()
		if kind != "any" && t.OneOf == nil {
			kind = diag.WithArticle(kind)
		}
		p.fail(at, "Keyword does not apply", "%s does not apply to %s.%s", k.name, kind, k.alternative(t))
		return
	}
	before, errors := *t, len(*p.Diags)
	k.apply(p, t, expr)
	if len(*p.Diags) > errors {
		return
	}
	if !slices.Contains(annotations, k.name) {
		t.def = nil // the type is another one than its definition
	}
	if problem := contradiction(t); problem != "" {
		p.fail(expr.Range(), "Contradictory bounds", "%s", problem)
		*t = before
	}
}

// alternative returns a hint for a type to which the keyword does not apply.
func (k keyword) alternative(t *Type) string {
	if t.OneOf != nil {
		return " Write it inside the alternatives."
	}
	elements := ""
	if t.Elem != nil && k.appliesTo(t.Elem) && misplacedKeywords[k.name] == "" {
		elements = fmt.Sprintf(" For the elements, write it inside: %s(%s(\"...\", { %s = ... })).", t.Kind,
			t.Elem.Kind, k.name)
	}
	if other := counterparts[k.name][t.Kind]; other != "" {
		return fmt.Sprintf(" Write %s.", other) + elements
	}
	if elements != "" {
		return elements
	}
	var kinds []string
	for _, kind := range k.kinds {
		kinds = append(kinds, kind.String())
	}
	return fmt.Sprintf(" It applies to %s.", diag.JoinAnd(kinds))
}
