package schema

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"hatchel/hcl/value"
)

// Misfit is a value that one type has and another one certainly refuses.
type Misfit struct {
	Path  string // within the value: "", ".name", "[].name"
	Text  string // the end of a sentence about it: "accepts 0, and the pinned schema requires 1 or more"
	Write string // the keywords to write, as in "{ min = 1 }", or ""
}

// misfitFinder compares a type with one that a pinned schema was read as, which accepts at least what the schema
// accepts: what the type refuses, the schema refuses.
type misfitFinder struct {
	// every says that each value of the type occurs, as those of an input do. Of a value that is computed only the kind
	// is known.
	every bool
	found []Misfit
}

// maxMisfitDepth bounds the comparison of types that contain themselves.
const maxMisfitDepth = 32

// Misfits returns the values of from that to certainly refuses, of each part the first. If every is set, each value of
// from occurs, as those of an input do; otherwise only its kinds are compared. What cannot be proved at load is left to
// the check of each call.
func Misfits(from, to *Type, every bool) []Misfit {
	f := misfitFinder{every: every}
	f.compare("", from, to, 0)
	return f.found
}

func (f *misfitFinder) add(path, write, format string, args ...any) {
	f.found = append(f.found, Misfit{path, fmt.Sprintf(format, args...), write})
}

func (f *misfitFinder) compare(path string, from, to *Type, depth int) {
	from, to = from.Unfolded(), to.Unfolded()
	if from == to || from.isAny() || to.isAny() || depth > maxMisfitDepth {
		return
	}
	if from.AllowsNull() && !to.AllowsNull() {
		f.add(path, "", "may be null, and the pinned schema does not accept null")
		return
	}
	if from.Kind == Null && from.OneOf == nil {
		return
	}
	switch {
	case from.OneOf != nil:
		for _, a := range from.OneOf {
			f.compare(path, a, to, depth+1)
		}
		return
	case to.OneOf != nil:
		f.alternatives(path, from, to, depth)
		return
	case from.Kind.base() != to.Kind.base():
		f.add(path, "", "is %s, and the pinned schema requires %s", from, to)
		return
	}
	for _, e := range from.Enum {
		if _, violations, _ := to.NotNull().Compile().Check(e.Value, Unlimited); len(violations) > 0 {
			f.add(path, "", "may be %s, which the pinned schema refuses: it %s", showJSON(e.Value),
				violations[0].Message)
			return
		}
	}
	if f.every && len(from.Enum) == 0 {
		f.scalars(path, from, to)
	}
	f.parts(path, from, to, depth)
}

// alternatives compares a type with alternatives. Of several of its kind it is not known which one takes a value.
func (f *misfitFinder) alternatives(path string, from, to *Type, depth int) {
	var same []*Type
	for _, a := range to.OneOf {
		if a = a.Unfolded(); a.isAny() || a.OneOf != nil {
			return
		} else if a.Kind.base() == from.Kind.base() {
			same = append(same, a)
		}
	}
	switch len(same) {
	case 0:
		f.add(path, "", "is %s, and the pinned schema requires %s", from, to)
	case 1:
		f.compare(path, from.NotNull(), same[0], depth+1)
	}
}

// scalars compares the keywords of numbers and texts, and those of the size of lists and maps.
func (f *misfitFinder) scalars(path string, from, to *Type) {
	if from.Kind == Number && to.Kind == Integer {
		if step, ok := rational(from.MultipleOf); !ok || !step.IsInt() {
			f.add(path, "integer", "accepts fractions, and the pinned schema requires an integer")
		}
		return
	}
	switch {
	case len(to.Enum) > 0:
		listed := listValues(enumValues(to))
		f.add(path, "enum("+listed+")", "accepts any %s, and the pinned schema requires one of %s", from.Kind, listed)
	case to.Kind.base() == Number:
		f.lowerBound(path, from, to)
		f.upperBound(path, from, to)
		f.multiple(path, from, to)
	case to.Kind == String:
		f.texts(path, from, to)
	default:
		f.size(path, "items", from.MinItems, from.MaxItems, to.MinItems, to.MaxItems)
		if to.Kind == Set && from.Kind != Set && (from.MaxItems == nil || *from.MaxItems > 1) {
			f.add(path, "set", "accepts a list that repeats an item, and the pinned schema refuses it")
		}
	}
}

// numberBound is a lower or upper bound of a number; at is nil for none.
type numberBound struct {
	at     any
	strict bool // the bound itself is excluded
}

// boundOf returns the stricter one of an inclusive and an exclusive bound. Sign is 1 for lower bounds and -1 for upper
// ones. The bound of an integer is inclusive.
func boundOf(kind Kind, inclusive, exclusive any, sign int) numberBound {
	in, ex := numberBound{at: inclusive}, numberBound{at: exclusive, strict: true}
	if n, ok := value.Int(exclusive); ok && kind == Integer && n > -1<<52 && n < 1<<52 {
		ex = numberBound{at: n + sign}
	}
	if !value.IsNumber(ex.at) || value.IsNumber(in.at) && sign*value.Compare(in.at, ex.at) > 0 {
		return in
	}
	return ex
}

// admits reports whether a value within bound b may be outside of bound a.
func (a numberBound) admits(b numberBound, sign int) bool {
	switch {
	case !value.IsNumber(a.at):
		return false
	case !value.IsNumber(b.at):
		return true
	}
	c := sign * value.Compare(b.at, a.at)
	return c < 0 || c == 0 && a.strict && !b.strict
}

// witness returns a number within bound b, and within the bound on the other side, that bound a excludes; nil if none
// is evident. MultipleOf is that of the numbers within.
func (a numberBound) witness(b, other numberBound, multipleOf any, sign int) (found any) {
	at, ok := value.Int(a.at)
	switch {
	case value.IsNumber(b.at) && !b.strict:
		found = b.at
	case !ok || value.IsNumber(b.at):
		return nil
	case sign*at > 0:
		found = 0
	case a.strict:
		found = at
	default:
		found = at - sign
	}
	if multipleOf != nil && !value.Equal(found, 0) || other.excludes(found, -sign) {
		return nil
	}
	return found
}

// excludes reports whether a number is outside of a bound.
func (a numberBound) excludes(n any, sign int) bool { return a.admits(numberBound{at: n}, sign) }

func (f *misfitFinder) lowerBound(path string, from, to *Type) {
	a, b := boundOf(to.Kind, to.Min, to.Above, 1), boundOf(from.Kind, from.Min, from.Above, 1)
	if a.admits(b, 1) {
		other := boundOf(from.Kind, from.Max, from.Below, -1)
		f.bound(path, a.witness(b, other, from.MultipleOf, 1), a, "min", "above", "or more", "less")
	}
}

func (f *misfitFinder) upperBound(path string, from, to *Type) {
	a, b := boundOf(to.Kind, to.Max, to.Below, -1), boundOf(from.Kind, from.Max, from.Below, -1)
	if a.admits(b, -1) {
		other := boundOf(from.Kind, from.Min, from.Above, 1)
		f.bound(path, a.witness(b, other, from.MultipleOf, -1), a, "max", "below", "or less", "more")
	}
}

func (f *misfitFinder) bound(path string, witness any, a numberBound, inclusive, exclusive, requires, other string) {
	accepts, limit := other, showJSON(a.at)
	if witness != nil {
		accepts = showJSON(witness)
	}
	if a.strict {
		f.add(path, "{ "+exclusive+" = "+limit+" }", "accepts %s, and the pinned schema requires a number %s %s",
			accepts, exclusive, limit)
		return
	}
	f.add(path, "{ "+inclusive+" = "+limit+" }", "accepts %s, and the pinned schema requires %s %s", accepts, limit,
		requires)
}

func (f *misfitFinder) multiple(path string, from, to *Type) {
	step, ok := rational(to.MultipleOf)
	if !ok || step.Sign() == 0 {
		return
	}
	of, ok := rational(from.MultipleOf)
	if !ok && from.MultipleOf == nil && from.Kind == Integer {
		of, ok = big.NewRat(1, 1), true
	}
	low, high := boundOf(from.Kind, from.Min, from.Above, 1), boundOf(from.Kind, from.Max, from.Below, -1)
	if value.IsNumber(low.at) && value.IsNumber(high.at) || !ok && from.MultipleOf != nil {
		return // the bounds may leave nothing but multiples
	}
	if !ok || !new(big.Rat).Quo(of, step).IsInt() {
		shown := showJSON(to.MultipleOf)
		f.add(path, "{ multiple_of = "+shown+" }", "accepts numbers that are not multiples of %s, and the pinned "+
			"schema refuses them", shown)
	}
}

// rational returns a number that is written without an exponent.
func rational(v any) (*big.Rat, bool) {
	text := showJSON(v)
	if !value.IsNumber(v) || len(text) > 40 || strings.ContainsAny(text, "eE") {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// texts compares the keywords of texts. What a pattern or a format leaves of the lengths is not known.
func (f *misfitFinder) texts(path string, from, to *Type) {
	if from.Pattern == nil && from.Format == "" {
		f.size(path, "characters", from.MinLength, from.MaxLength, to.MinLength, to.MaxLength)
	}
	switch {
	case to.Format == "" || from.Format == to.Format:
	case from.Format == "" && from.Pattern == nil:
		f.add(path, "{ format = \""+to.Format+"\" }", "accepts any text, and the pinned schema requires the format %s",
			to.Format)
		return
	}
	if to.Pattern == nil || from.Pattern != nil || from.Format != "" {
		return
	}
	for _, sample := range samplesOf(from) {
		if !to.Pattern.MatchString(sample) {
			f.add(path, "{ pattern = "+showJSON(to.Pattern.Source)+" }", "accepts %s, and the pinned schema requires "+
				"the pattern %s", showJSON(sample), to.Pattern.Source)
			return
		}
	}
}

// samplesOf returns texts of the lengths of a type.
func samplesOf(t *Type) (samples []string) {
	low := 0
	if t.MinLength != nil {
		low = *t.MinLength
	}
	const maxSample = 100
	if low > maxSample {
		return nil
	}
	for _, part := range []string{"", " ", "a", "0", "\n"} {
		sample := strings.Repeat(part, max(low, 1))
		if n := len(sample); n >= low && (t.MaxLength == nil || n <= *t.MaxLength) {
			samples = append(samples, sample)
		}
	}
	return samples
}

// size compares lower and upper bounds of lengths.
func (f *misfitFinder) size(path, noun string, low, high, toLow, toHigh *int) {
	keyword := map[string]string{"characters": "length", "items": "items"}[noun]
	if toLow != nil && *toLow > 0 && (low == nil || *low < *toLow) {
		f.add(path, fmt.Sprintf("{ min_%s = %d }", keyword, *toLow), "accepts fewer than %d %s, and the pinned schema "+
			"requires %d or more", *toLow, noun, *toLow)
	}
	if toHigh != nil && (high == nil || *high > *toHigh) {
		f.add(path, fmt.Sprintf("{ max_%s = %d }", keyword, *toHigh), "accepts more than %d %s, and the pinned schema "+
			"allows %d", *toHigh, noun, *toHigh)
	}
}

// parts compares elements and members.
func (f *misfitFinder) parts(path string, from, to *Type, depth int) {
	switch {
	case from.Elem != nil && to.Elem != nil:
		key := "[]"
		if to.Kind == Map {
			key = "{}"
		}
		f.compare(path+key, from.Elem, to.Elem, depth+1)
	case from.Kind == Object && to.Kind == Object:
		f.members(path, from, to, depth)
	case from.Kind == Object && to.Kind == Map:
		for _, m := range from.Members {
			f.compare(path+"."+m.Name, m.Type, to.Elem, depth+1)
		}
	case from.Kind == Map && to.Kind == Object && f.every:
		for _, m := range to.Members {
			if !m.Optional {
				f.add(path, "", "may lack %s, and the pinned schema requires it", quoteShort(m.Name))
				return
			}
		}
	}
}

func (f *misfitFinder) members(path string, from, to *Type, depth int) {
	for _, m := range to.Members {
		given, ok := from.Lookup(m.Name)
		switch {
		case ok && given.Optional && !given.HasDefault && !m.Optional && f.every:
			f.add(path+"."+m.Name, "", "is optional, and the pinned schema requires it")
		case ok:
			f.compare(path+"."+m.Name, given.Type, m.Type, depth+1)
		case !m.Optional && !from.Open:
			f.add(path, "", "has no member %s, and the pinned schema requires it", quoteShort(m.Name))
		}
	}
	if to.Open {
		return
	}
	for _, m := range from.Members {
		if _, ok := to.Lookup(m.Name); !ok && (f.every || !m.Optional) {
			f.add(path+"."+m.Name, "", "is not a member of the pinned schema, which accepts no others: it has %s",
				quotedList(slices.Clone(to.MemberNames())))
		}
	}
}
