package surface

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"hatchel/hcl/value"
	"hatchel/internal/cut"
)

// bounds compares the limits of numbers, texts and collections.
func (d *schemaDiff) bounds(path string, old, new map[string]any) {
	whole := isWhole(old) || isWhole(new)
	d.bound(path, old, new, lower(old, whole), lower(new, whole), 1)
	d.bound(path, old, new, upper(old, whole), upper(new, whole), -1)
	for _, name := range []string{"minLength", "minItems", "minProperties"} {
		d.bound(path, old, new, limit{at: old[name], name: name}, limit{at: new[name], name: name}, 1)
	}
	for _, name := range []string{"maxLength", "maxItems", "maxProperties"} {
		d.bound(path, old, new, limit{at: old[name], name: name}, limit{at: new[name], name: name}, -1)
	}
	d.multiple(path, old["multipleOf"], new["multipleOf"])
	for _, name := range []string{"pattern", "format"} {
		if a, b := old[name], new[name]; !value.Equal(a, b) {
			d.change(path, name, b != nil, a != nil, name+" "+orNone(a)+" → "+orNone(b))
		}
	}
	if a, b := old["uniqueItems"] == true, new["uniqueItems"] == true; a != b {
		d.change(path, "bound", b, a, describe(old)+" → "+describe(new))
	}
	d.files(path, old["x-file"], new["x-file"])
}

// limit is a lower or upper bound; at is nil for none.
type limit struct {
	at     any
	strict bool // the bound itself is excluded
	name   string
}

func (l limit) String() string {
	switch {
	case l.at == nil:
		return "unlimited"
	case l.name != "":
		return l.name + " " + show(l.at)
	}
	return ""
}

// isWhole reports whether the numbers of a schema are integers.
func isWhole(m map[string]any) bool {
	kinds := kindsOf(m)
	return slices.Contains(kinds, "integer") && !slices.Contains(kinds, "number")
}

// lower returns the lower bound of a number. That of an integer includes the bound.
func lower(m map[string]any, whole bool) limit {
	return stricter(limit{at: m["minimum"]}, excluded(m["exclusiveMinimum"], whole, 1), 1)
}

func upper(m map[string]any, whole bool) limit {
	return stricter(limit{at: m["maximum"]}, excluded(m["exclusiveMaximum"], whole, -1), -1)
}

func excluded(at any, whole bool, step int) limit {
	if n, ok := value.Int(at); ok && whole && n > -1<<52 && n < 1<<52 {
		return limit{at: n + step}
	}
	return limit{at: at, strict: true}
}

// stricter returns the stricter one of two bounds. Sign is 1 for lower bounds and -1 for upper ones.
func stricter(a, b limit, sign int) limit {
	switch c := compareLimits(a, b, sign); {
	case c >= 0:
		return a
	default:
		return b
	}
}

// compareLimits returns 1 if a is stricter than b, -1 if it is weaker, and 0 if they are the same.
func compareLimits(a, b limit, sign int) int {
	number := func(l limit) bool { return l.at != nil && value.IsNumber(l.at) }
	switch {
	case !number(a) && !number(b):
		return 0
	case !number(a):
		return -1
	case !number(b):
		return 1
	}
	if c := sign * value.Compare(a.at, b.at); c != 0 {
		return c
	}
	return cmp.Compare(asInt(a.strict), asInt(b.strict))
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (d *schemaDiff) bound(path string, old, new map[string]any, from, to limit, sign int) {
	c := compareLimits(to, from, sign)
	if c == 0 {
		return
	}
	text := fmt.Sprintf("%v → %v", from, to)
	if from.name == "" {
		text = fmt.Sprintf("%s %s → %s", kindName(new), from.symbol(sign), to.symbol(sign))
	}
	d.change(path, "bound", c > 0, c < 0, text)
}

// symbol returns a bound of numbers as in "≥ 1".
func (l limit) symbol(sign int) string {
	if l.at == nil {
		return "unlimited"
	}
	symbols := map[bool][2]string{true: {"≥", ">"}, false: {"≤", "<"}}
	return symbols[sign > 0][asInt(l.strict)] + " " + show(l.at)
}

// multiple compares multipleOf.
func (d *schemaDiff) multiple(path string, old, new any) {
	if value.Equal(old, new) {
		return
	}
	narrowed, relaxed := new != nil, old != nil
	if a, b := rational(old), rational(new); a != nil && b != nil {
		narrowed = !newRat().Quo(a, b).IsInt()
		relaxed = !newRat().Quo(b, a).IsInt()
	}
	d.change(path, "bound", narrowed, relaxed, "multiple of "+orNone(old)+" → "+orNone(new))
}

func newRat() *big.Rat { return new(big.Rat) }

// rational returns a number other than 0; nil for anything else.
func rational(v any) *big.Rat {
	text := show(v)
	if !value.IsNumber(v) || len(text) > 40 || strings.ContainsAny(text, "eE") {
		return nil
	}
	if r, ok := newRat().SetString(text); ok && r.Sign() != 0 {
		return r
	}
	return nil
}

// files compares the limits of uploaded files.
func (d *schemaDiff) files(path string, old, new any) {
	from, _ := old.(map[string]any)
	to, _ := new.(map[string]any)
	if from == nil || to == nil {
		return // the type changed
	}
	size := func(m map[string]any) limit {
		if n, _ := value.Int(m["maxSize"]); n > 0 {
			return limit{at: n, name: "max_size"}
		}
		return limit{name: "max_size"}
	}
	d.bound(path, nil, nil, size(from), size(to), -1)
	a, _ := from["types"].([]any)
	b, _ := to["types"].([]any)
	lacks := func(list, other []any) bool {
		return slices.ContainsFunc(other, func(v any) bool { return !slices.Contains(list, v) })
	}
	narrowed, relaxed := len(b) > 0 && (len(a) == 0 || lacks(b, a)), len(a) > 0 && (len(b) == 0 || lacks(a, b))
	d.change(path, "type", narrowed, relaxed, "types "+show(from["types"])+" → "+show(to["types"]))
}

// members compares the members of objects and the values of maps.
func (d *schemaDiff) members(path string, old, new map[string]any, depth int) {
	from, _ := old["properties"].(map[string]any)
	to, _ := new["properties"].(map[string]any)
	fromRest, toRest := orTrue(old["additionalProperties"]), orTrue(new["additionalProperties"])
	for _, name := range value.CanonicalKeys(from) {
		at := join(path, name)
		was, is := isRequired(old, name), isRequired(new, name)
		if to[name] == nil {
			// an open object still accepts the member, and no longer reads it
			d.change(at, "removed", true, d.output, "removed")
			continue
		}
		switch {
		case !was && is:
			d.change(at, "required", true, false, "optional → required")
		case was && !is:
			d.change(at, "required", false, true, "required → optional")
		}
		if !was && !is && !d.output {
			d.defaults(at, from[name], to[name])
		}
		d.compare(at, from[name], to[name], depth+1)
	}
	for _, name := range value.CanonicalKeys(to) {
		if from[name] != nil {
			continue
		}
		at := join(path, name)
		switch is := isRequired(new, name); {
		case d.output:
			// readers ignore members that they do not know, unless they know the type of all
			d.change(at, "added", true, fromRest != false && !d.accepts(fromRest, to[name], depth, false), "added")
		case is:
			d.change(at, "added", true, true, "required input added")
		case fromRest == false:
			d.change(at, "added", false, true, "optional input added")
		case d.accepts(fromRest, to[name], depth, true):
			d.change(at, "added", false, true, "optional input added")
		default:
			d.change(at, "added", true, false,
				"optional input added, where any value was accepted: "+describe(schemaOf(to[name])))
		}
	}
	for _, name := range requiredNames(new) {
		if to[name] == nil && from[name] == nil && !isRequired(old, name) {
			d.change(join(path, name), "required", true, false, "optional → required")
		}
	}
	for _, name := range requiredNames(old) {
		if to[name] == nil && from[name] == nil && !isRequired(new, name) {
			d.change(join(path, name), "required", false, true, "required → optional")
		}
	}
	d.rest(path, fromRest, toRest, depth)
}

// rest compares additionalProperties.
func (d *schemaDiff) rest(path string, old, new any, depth int) {
	switch {
	case value.Equal(old, new) && d.sameDefs:
	case new == false:
		d.change(path, "closed", !d.output, false, "other members are no longer accepted")
	case old == false:
		d.change(path, "opened", false, !d.output, "other members are accepted")
	default:
		d.compare(path+"{}", old, new, depth+1)
	}
}

// defaults compares the value that an absent optional input has.
func (d *schemaDiff) defaults(path string, old, new any) {
	a, had := schemaOf(old)["default"]
	b, has := schemaOf(new)["default"]
	if had != has || !value.Equal(a, b) {
		from, to := "none", "none"
		if had {
			from = show(a)
		}
		if has {
			to = show(b)
		}
		d.change(path, "default", true, true, "default "+from+" → "+to)
	}
}

func requiredNames(m map[string]any) (names []string) {
	list, _ := m["required"].([]any)
	for _, v := range list {
		if name, ok := v.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

func isRequired(m map[string]any, name string) bool { return slices.Contains(requiredNames(m), name) }

func join(path, name string) string { return path + "." + name }

func orNone(v any) string {
	if v == nil {
		return "none"
	}
	return show(v)
}

// maxShown is the maximum length of a shown value in bytes.
const maxShown = 60

// show returns a value as short JSON.
func show(v any) string {
	text := revealHidden(string(value.AppendCanonical(nil, v)))
	if len(text) > maxShown {
		return text[:cut.Before(text, maxShown)] + "…"
	}
	return text
}

func kindName(m map[string]any) string { return strings.Join(kindsOf(m), " or ") }

// describe returns a schema in a few words.
func describe(m map[string]any) string {
	if values, ok := enumOf(m); ok {
		shown := make([]string, 0, 4)
		for i, e := range values {
			if i == 3 && len(values) > 4 {
				shown = append(shown, fmt.Sprintf("%d more", len(values)-i))
				break
			}
			shown = append(shown, show(e.value))
		}
		return "enum(" + strings.Join(shown, ", ") + ")"
	}
	if list, ok := m["anyOf"].([]any); ok {
		shown := make([]string, len(list))
		for i, x := range list {
			shown[i] = describe(schemaOf(x))
		}
		return "one_of(" + strings.Join(shown, ", ") + ")"
	}
	kinds := kindsOf(m)
	switch {
	case len(kinds) == len(allKinds):
		return "any"
	case slices.Contains(kinds, "array") && m["items"] != nil:
		name := "list"
		if m["uniqueItems"] == true {
			name = "set"
		}
		return name + "(" + describe(schemaOf(m["items"])) + ")"
	}
	return kindName(m)
}
