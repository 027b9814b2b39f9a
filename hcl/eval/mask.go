package eval

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"hatchel/hcl/diag"
	"hatchel/hcl/functions"
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/internal/wildcard"
)

// Mask is what expressions know of a mask block.
type Mask struct {
	Name     string
	With     MaskWith   // what stands in place of a value
	RevealTo []string   // the connections that unmasked values may be sent to
	patterns [][]string // in lower case
}

// MaskWith is what stands in place of a masked value.
type MaskWith string

// The words of the language, from the strictest on. When several masks apply to a value, the strictest does.
const (
	MaskHide    MaskWith = "hide"    // MaskedText for a text, null for anything else
	MaskHash    MaskWith = "hash"    // the same text for the same value
	MaskPartial MaskWith = "partial" // a part of a text; as MaskHide for anything else
)

// MaskWords are these words.
var MaskWords = []string{string(MaskHide), string(MaskHash), string(MaskPartial)}

// IsStricter reports whether it tells less of a value than another; "" tells everything.
func (w MaskWith) IsStricter(than MaskWith) bool {
	return than == "" || slices.Index(MaskWords, string(w)) < slices.Index(MaskWords, string(than))
}

// IsMember reports whether a text may name members in SetMembers.
func IsMember(text string) bool { return !slices.Contains(strings.Split(text, "."), "") }

// InvalidMember is the detail of the diagnostic about a text that may not; %q is the text.
const InvalidMember = `A member is a name, or names joined by dots, as in "email" or "customer.email", not %q.`

// SetMembers sets what the mask masks: names, which match at every depth, and paths with dots, which match at their
// ends. In a segment, * matches any characters. Upper and lower case are the same.
func (m *Mask) SetMembers(members []string) {
	m.patterns = nil
	for _, member := range members {
		m.patterns = append(m.patterns, strings.Split(strings.ToLower(member), "."))
	}
}

// Matches reports whether the mask masks the member at a path of names, which begins at the output of a backend. Lists
// have no part in it. The members of the output itself are those of the backend and not of the data: they never match.
func (m *Mask) Matches(path []string) bool {
	return slices.ContainsFunc(m.patterns, func(p []string) bool {
		n := len(path) - len(p)
		return n >= 1 && slices.EqualFunc(p, path[n:], matchesName)
	})
}

func matchesName(pattern, name string) bool { return wildcard.Match(pattern, strings.ToLower(name)) }

// NamesColumn reports whether the mask names a column of one of the tables, or a column that may hold a member that it
// names. Tables are names of tables, perhaps with their schemas.
func (m *Mask) NamesColumn(tables [][]string, name string) bool {
	return slices.ContainsFunc(m.patterns, func(p []string) bool {
		last := len(p) - 1
		if isOfTable(p, tables) {
			return matchesName(p[last], name)
		}
		return slices.ContainsFunc(p[:last], func(part string) bool { return isNamed(part) && matchesName(part, name) })
	})
}

// NamesPart reports whether a name is a part of a member that the mask names.
func (m *Mask) NamesPart(name string) bool {
	return slices.ContainsFunc(m.patterns, func(p []string) bool {
		return slices.ContainsFunc(p, func(part string) bool { return isNamed(part) && matchesName(part, name) })
	})
}

// NamesMember reports whether a name is that of a member that the mask names, wherever that is. A pattern that matches
// every name names none.
func (m *Mask) NamesMember(name string) bool {
	return slices.ContainsFunc(m.patterns, func(p []string) bool {
		last := p[len(p)-1]
		return isNamed(last) && matchesName(last, name)
	})
}

// NamesAnywhere reports whether the mask names members by their names alone.
func (m *Mask) NamesAnywhere() bool {
	return slices.ContainsFunc(m.patterns, func(p []string) bool { return len(p) == 1 })
}

// isNamed reports whether a part of a pattern is more than any name.
func isNamed(part string) bool { return strings.Trim(part, "*") != "" }

// isOfTable reports whether a pattern is that of a column of any table, or of one of the tables.
func isOfTable(p []string, tables [][]string) bool {
	table := p[:len(p)-1]
	return len(table) == 0 || slices.ContainsFunc(tables, func(name []string) bool {
		n := min(len(table), len(name))
		return slices.EqualFunc(table[len(table)-n:], name[len(name)-n:], matchesName)
	})
}

// ColumnsOf returns patterns of the columns that the mask names with one of the tables, without the table.
func (m *Mask) ColumnsOf(tables [][]string) (columns []string) {
	for _, p := range m.patterns {
		if len(p) > 1 && isOfTable(p, tables) {
			columns = append(columns, p[len(p)-1])
		}
	}
	return columns
}

// Columns are what a mask masks of the rows of a statement besides the members that it names: patterns of names in any
// case, of columns that hold masked values under other names.
type Columns []string

// Applied is a mask that applies to the output of a backend.
type Applied struct {
	*Mask
	Columns *Columns // nil for an output without rows of a statement
}

// Matches reports whether the mask masks the member at a path, as Mask.Matches does.
func (a Applied) Matches(path []string) bool {
	last := len(path) - 1
	if a.Mask.Matches(path) || a.Columns == nil || last < 1 || path[last-1] != "rows" && path[last-1] != "row" {
		return a.Mask.Matches(path)
	}
	name := FirstName(repeatedName(path[last]))
	return slices.ContainsFunc(*a.Columns, func(column string) bool {
		column = strings.ToLower(column)
		return matchesName(column, path[last]) || matchesName(column, name)
	}) || a.Mask.Matches(append(slices.Clip(path[:last]), name))
}

// FirstName returns the name of a column before SQLite has made it distinct in a subquery, as in email:1.
func FirstName(name string) string {
	at := strings.LastIndexByte(name, ':')
	if at < 1 || at == len(name)-1 || strings.Trim(name[at+1:], "0123456789") != "" {
		return name
	}
	return name[:at]
}

// repeatedName returns the name of a column before a result has made it distinct by a number at its end.
func repeatedName(name string) string {
	at := strings.LastIndexByte(name, '_')
	if at < 1 || at == len(name)-1 || strings.Trim(name[at+1:], "0123456789") != "" {
		return name
	}
	return name[:at]
}

// MaskedDecides is the summary of the diagnostic about a masked value that decides.
const MaskedDecides = "Masked value decides"

// MaskedDecidesDetail is its detail; source is the expression.
func MaskedDecidesDetail(source string, masks []*Mask) string {
	return fmt.Sprintf("%s is masked by %s for callers who may not see it, so the outcome would be another one for "+
		"them, or would tell them the value. Decide by a value that is not masked, or in the statement or the "+
		"request that gets it.", source, NameMasks(masks))
}

// NameMasks names masks in a sentence.
func NameMasks(masks []*Mask) string {
	names := make([]string, len(masks))
	for i, m := range masks {
		names[i] = fmt.Sprintf("mask %q", m.Name)
	}
	return diag.JoinAnd(names)
}

// MaskedAt returns what stands in place of the member at a path of names, in which lists have no part; empty for what
// no mask masks.
func (e TypedExpr) MaskedAt(path []string) (with MaskWith) {
	for _, name := range path {
		for e.Elem != nil && len(e.Members) == 0 {
			e = TypedExpr{Type: AnyType, Facts: e.ElementFacts(true)}
		}
		e = TypedExpr{Type: AnyType, Facts: e.MemberFacts(name)}
	}
	for _, m := range e.Masked {
		if m.With.IsStricter(with) {
			with = m.With
		}
	}
	return with
}

// Masks are the masks that apply to an output of a backend, for any caller. They are the same for every part of it.
type Masks []Applied

// Matching returns the masks that mask the member at a path, as Mask.Matches does.
func (m Masks) Matching(path []string) (found []*Mask) {
	for i := range m {
		if m[i].Matches(path) {
			found = append(found, m[i].Mask)
		}
	}
	return found
}

func (m Masks) all() []*Mask {
	all := make([]*Mask, len(m))
	for i := range m {
		all[i] = m[i].Mask
	}
	return all
}

// Cover says that masks apply to parts of a value, and where the value is in the output of a backend.
type Cover struct {
	masks *Masks
	path  string // of names, each after a dot
}

// CoverOutput returns what is known of an output of a backend to which masks apply.
func CoverOutput(masks Masks) []Cover {
	if len(masks) == 0 {
		return nil
	}
	return []Cover{{masks: &masks}}
}

func (c Cover) names() []string { return strings.Split(c.path, ".")[1:] }

// member returns what covers the members of that name, or the masks that mask them.
func (c Cover) member(name string) (Cover, []*Mask) {
	below := Cover{c.masks, c.path + "." + strings.ReplaceAll(name, ".", "\x00")}
	return below, c.masks.Matching(below.names())
}

// AddMasks adds masks of what the value is made of.
func (f *Facts) AddMasks(masks []*Mask) { f.Masked = addAll(f.Masked, masks) }

// coverMember completes the facts of a member of a value.
func (f *Facts) coverMember(of Facts, name string) {
	f.Masked = addAll(f.Masked, of.Masked)
	for _, c := range of.Covers {
		if below, masks := c.member(name); masks == nil {
			f.Covers = addAll(f.Covers, []Cover{below})
		} else {
			f.Masked = addAll(f.Masked, masks)
		}
	}
}

// coverElement completes the facts of an element of a value. An element of a list is where the list is; that of an
// object may be any member.
func (f *Facts) coverElement(of TypedExpr) {
	f.Masked = addAll(f.Masked, of.Masked)
	if of.Type == nil || of.Type.Kind == schema.List || of.Type.Kind == schema.Set || of.Type.Kind == schema.Any {
		f.Covers = addAll(f.Covers, of.Covers)
		return
	}
	held, covers := of.below(of.Type, of.Covers)
	f.Masked, f.Covers = addAll(f.Masked, held), addAll(f.Covers, covers)
}

// coverNamedBy completes the facts of a part of a value that a key chooses: a text names a member, which may be any.
func (f *Facts) coverNamedBy(key, of TypedExpr) {
	if of.Type == nil || key.Type == nil {
		return
	}
	isList := of.Type.Kind == schema.List || of.Type.Kind == schema.Set
	if isIndex := key.Type.Kind == schema.Integer || key.Type.Kind == schema.Number; !isList && !isIndex {
		f.Masked = addAll(f.Masked, of.PossibleMasks())
	}
}

// coverResult completes the facts of what a function computes of values that masks cover: the members of a list or an
// object that it returns are masked by their names, as those of the arguments are. Where they have lost their names,
// the result is masked as a whole.
func (f *Facts) coverResult(fn *functions.Function, args []TypedExpr) {
	parts := []functions.Kind{functions.Any, functions.List, functions.Object}
	isText := fn.Result.Rule == functions.Fixed && !slices.Contains(parts, fn.Result.Kind)
	for _, a := range args {
		isObject := a.Type != nil && (a.Type.Kind == schema.Object || a.Type.Kind == schema.Map)
		switch {
		case fn.Counts:
		case fn.Keeps.Has(functions.Unnamed), isText && isObject:
			f.Masked = addAll(f.Masked, a.PossibleMasks())
		case !isText:
			f.Covers = a.Facts.addHeldCovers(f.Covers, map[*Facts]bool{})
		}
	}
}

// addHeldCovers adds what covers the value, and its parts that are known apart.
func (f *Facts) addHeldCovers(covers []Cover, seen map[*Facts]bool) []Cover {
	if f == nil || seen[f] {
		return covers
	}
	seen[f] = true
	covers = addAll(covers, f.Covers)
	for _, m := range f.Members {
		covers = m.addHeldCovers(covers, seen)
	}
	return f.Elem.addHeldCovers(covers, seen)
}

// below returns the masks of the members of an object, and what covers the members that are not masked.
func (e TypedExpr) below(t *schema.Type, of []Cover) (masks []*Mask, covers []Cover) {
	for _, c := range of {
		for _, m := range t.Unfolded().Members {
			below, masked := c.member(m.Name)
			if masks = addAll(masks, masked); masked == nil {
				covers = addAll(covers, []Cover{below})
			}
		}
	}
	return masks, covers
}

// HeldMasks returns the masks of the value and of the parts that its type says it has.
func (e TypedExpr) HeldMasks() []*Mask { return e.heldMasks(false) }

// PossibleMasks returns HeldMasks, and the masks that may apply to parts of which the type says nothing.
func (e TypedExpr) PossibleMasks() []*Mask { return e.heldMasks(true) }

// UnknownMasks returns the masks that may apply to parts of which the type says nothing, and to none of the others.
func (e TypedExpr) UnknownMasks() []*Mask {
	held := e.HeldMasks()
	return slices.DeleteFunc(slices.Clone(e.PossibleMasks()), func(m *Mask) bool { return slices.Contains(held, m) })
}

// IsOf reports whether masks apply to parts of the value, and it is, or is in, a member of the output of a backend.
func (e TypedExpr) IsOf(member string) bool {
	return slices.ContainsFunc(e.Covers, func(c Cover) bool { return strings.HasPrefix(c.path+".", "."+member+".") })
}

// HiddenPart returns the path of a part of a value that a mask hides from a caller for whom others are lifted, as in
// .people[0].email, if there is one. A text that is JSON has parts, too.
func (e TypedExpr) HiddenPart(v any, lifted []*Mask) (path string, found bool) {
	if slices.ContainsFunc(e.Masked, func(m *Mask) bool { return !slices.Contains(lifted, m) }) {
		return "", true
	}
	part := func(f Facts) TypedExpr { return TypedExpr{Type: AnyType, Facts: f} }
	switch v := v.(type) {
	case map[string]any:
		for _, name := range value.Keys(v) {
			if at, found := part(e.MemberFacts(name)).HiddenPart(v[name], lifted); found {
				return "." + name + at, true
			}
		}
	case []any:
		element := part(e.ElementFacts(true))
		for i, one := range v {
			if at, found := element.HiddenPart(one, lifted); found {
				return fmt.Sprintf("[%d]%s", i, at), true
			}
		}
	case string:
		if c := jsonscan.FirstByte(v, value.MaxDepth); c != '{' && c != '[' {
			return "", v == MaskedText
		}
		if decoded, err := value.Decode([]byte(v)); err == nil {
			return e.HiddenPart(decoded, lifted)
		}
	case value.LazyJSON:
		if decoded, err := v.Value(); err == nil {
			return e.HiddenPart(decoded, lifted)
		}
	}
	return "", false
}

func (e TypedExpr) heldMasks(possible bool) []*Mask {
	if e.Masked == nil && e.Covers == nil && e.Members == nil && e.Elem == nil {
		return nil
	}
	masks := e.Masked
	for _, c := range e.Covers {
		masks = c.addHeld(masks, e.Type, possible, 0)
	}
	return e.Facts.addHeldMasks(masks, possible, map[*Facts]bool{})
}

// addHeldMasks adds the masks of the parts that are known apart.
func (f *Facts) addHeldMasks(masks []*Mask, possible bool, seen map[*Facts]bool) []*Mask {
	if f == nil || seen[f] {
		return masks
	}
	seen[f] = true
	masks = addAll(masks, f.Masked)
	for _, c := range f.Covers {
		if possible {
			masks = addAll(masks, c.masks.all())
		}
	}
	for _, m := range f.Members {
		masks = m.addHeldMasks(masks, possible, seen)
	}
	return f.Elem.addHeldMasks(masks, possible, seen)
}

// maxTypeDepth is how deep a type is searched for masked members. A type may contain itself.
const maxTypeDepth = 32

// addHeld adds the masks of the members of a type.
func (c Cover) addHeld(masks []*Mask, t *schema.Type, possible bool, depth int) []*Mask {
	if t == nil || depth > maxTypeDepth {
		return masks
	}
	t = t.Unfolded()
	if possible && (t.Kind == schema.Any || t.Kind == schema.Map || t.Open) {
		masks = addAll(masks, c.masks.all())
	}
	if t.Elem != nil && t.Kind != schema.Map {
		masks = c.addHeld(masks, t.Elem, possible, depth+1)
	}
	for _, m := range t.Members {
		below, masked := c.member(m.Name)
		if masks = addAll(masks, masked); masked == nil {
			masks = below.addHeld(masks, m.Type, possible, depth+1)
		}
	}
	for _, one := range t.OneOf {
		masks = c.addHeld(masks, one, possible, depth+1)
	}
	return masks
}

// MaskedText stands in place of a masked text, and of every masked value where nothing is sent.
const MaskedText = "(masked)"

// Revealed are the texts that unmasked has given to backends in one call, whose caller may not see them. It is safe for
// concurrent use.
type Revealed struct {
	mu    sync.Mutex
	texts map[string]bool // guarded by mu
}

// Add adds the texts in a value.
func (r *Revealed) Add(v any) {
	switch v := v.(type) {
	case string:
		if v != "" {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.texts == nil {
				r.texts = map[string]bool{}
			}
			r.texts[v] = true
		}
	case []any:
		for _, e := range v {
			r.Add(e)
		}
	case map[string]any:
		for _, e := range v {
			r.Add(e)
		}
	case value.LazyJSON:
		if decoded, err := v.Value(); err == nil {
			r.Add(decoded)
		}
	}
}

// Texts returns the texts, sorted; nil for nil.
func (r *Revealed) Texts() []string {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.texts))
}
