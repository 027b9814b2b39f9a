package eval

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"hatchel/hcl/functions"
	"hatchel/hcl/schema"
	"hatchel/hcl/template"
)

// Facts are what is known at load of a value, besides its type. Operators of both languages carry them: [Same] for a
// value that is another one, [Either] for one that is one of several, [From] for one that is computed from others. A
// list or an object that is written out, and each part that is taken of it, keep the facts of the parts apart. A new
// fact is one field with its rule in each of them; TestEveryFactHasItsRules checks that.
type Facts struct {
	Marks

	// Of the value alone; what is computed from it has others.
	NullReason string            // why the value may be null here; empty when it is not
	Known      bool              // the value was computed at load: it is Value
	Value      any               // when Known
	Choices    func() []any      // see AllChoices; nil if the type says all
	Absent     func(*Frame) bool // of a null value: whether it stands for something optional that is absent; may be nil

	// Of the texts and lists in the value. Members and Elem have those of its parts, if these are known apart.
	Text
	Cuts    []*Cut  // the limits that may have cut the value itself
	Masked  []*Mask // the masks of the value, or of what it is made of
	Covers  []Cover // the masks that apply to its parts, where the type alone says which parts there are
	Members map[string]*Facts
	Elem    *Facts // of the elements, and of the members that are not in Members
}

// Text is what is known of the texts in a value.
type Text struct {
	Dash   bool // it is not AllChoices, and one begins with a dash of the author in some calls
	AsPath template.PathKind
}

// and returns what is known of texts that are made of both.
func (t Text) and(o Text) Text {
	return Text{t.Dash || o.Dash, min(t.AsPath, o.AsPath, template.PathUnknown)}
}

// or returns what is known of a text that is one of both.
func (t Text) or(o Text) Text {
	return Text{t.Dash || o.Dash, min(t.AsPath, o.AsPath)}
}

// Marks are the facts that everything has which depends on the value.
type Marks struct {
	Call           bool // it depends on the call, or on an invalid part, so that it is not known at load
	Sensitive      bool // it holds a secret
	Supplied       bool // it holds the value of a variable that the operator gave, so that it is no literal
	CallerSpecific bool // it depends on the caller's identity
}

// Union returns the marks of what depends on both.
func (m Marks) Union(o Marks) Marks {
	return Marks{
		m.Call || o.Call, m.Sensitive || o.Sensitive, m.Supplied || o.Supplied, m.CallerSpecific || o.CallerSpecific,
	}
}

// Same returns the facts of a value that is another one, under another name.
func Same(e TypedExpr) Facts { return e.Facts }

// Either returns the facts of a value that is one of several.
func Either(parts ...TypedExpr) Facts {
	one := parts[0]
	for _, p := range parts[1:] {
		a, b := one, p
		f := *join(a.contents(), b.contents())
		f.Marks = a.Marks.Union(b.Marks)
		f.NullReason = cmp.Or(a.NullReason, b.NullReason)
		f.Choices = sync.OnceValue(eitherChoice(a, b))
		one = TypedExpr{Type: AnyType, Facts: f}
	}
	return one.Facts
}

// From returns the facts of a value that is computed from others: it depends on them, and may hold what they hold.
func From(parts ...TypedExpr) Facts {
	var f Facts
	for _, p := range parts {
		f.Marks = f.Marks.Union(p.Marks)
		f.Text = f.and(Text{p.MayBeginWithDash(), p.AsPath})
		f.Cuts = append(f.Cuts, p.HeldCuts()...)
		f.Masked = addAll(f.Masked, p.HeldMasks())
	}
	return f
}

// By returns the facts of a value that others choose or order.
func (f Facts) By(parts ...TypedExpr) Facts {
	for _, p := range parts {
		f.Marks = f.Marks.Union(p.Marks)
	}
	return f
}

// ChosenBy is By for parts that choose or name the value, so that it tells what they are.
func (f Facts) ChosenBy(parts ...TypedExpr) Facts {
	for _, p := range parts {
		f.Masked = addAll(f.Masked, p.HeldMasks())
	}
	return f.By(parts...)
}

// fromList returns the facts of a list of elements.
func fromList(elems []TypedExpr) Facts {
	f := From(elems...)
	f.Cuts, f.Masked = nil, nil
	for _, e := range elems {
		f.Elem = join(f.Elem, e.contents())
		f.AsPath = f.Elem.AsPath
	}
	return f
}

// fromMembers returns the facts of an object: those of its members by name, and those of members without one.
func fromMembers(entries []Entry) Facts {
	f := Facts{Members: make(map[string]*Facts, len(entries))}
	for _, e := range entries {
		member := e.Value.contents()
		f = f.ChosenBy(e.Key).By(e.Value)
		f.Text = f.and(member.Text)
		if e.NameOf == nil {
			f.Members[e.Name] = member
		} else {
			f.Elem = join(f.Elem, member)
		}
	}
	return f
}

// MemberFacts returns the facts of a member of a value.
func (e TypedExpr) MemberFacts(name string) Facts {
	f := e.partFacts(join(e.Members[name], e.rest()), e.Cuts, memberChoices(e, name))
	f.coverMember(e.Facts, name)
	return f
}

// ElementFacts returns the facts of an element of a value. Which element it is depends on what has cut the value unless
// first is set: a limit leaves the first element of a list.
func (e TypedExpr) ElementFacts(first bool) Facts {
	part, cuts := e.rest(), e.Cuts
	for _, m := range e.Members {
		part = join(part, m)
	}
	if first {
		cuts = nil
	}
	f := e.partFacts(part, cuts, elementChoices(e))
	f.coverElement(e)
	return f
}

// PartFacts returns the facts of the element, or of the member, that a key chooses.
func (e TypedExpr) PartFacts(key TypedExpr) Facts {
	if name, ok := key.Value.(string); ok && key.Known {
		return e.MemberFacts(name).By(key)
	}
	f := e.ElementFacts(e.Type != nil && e.Type.Kind == schema.List && key.Value == 0).ChosenBy(key)
	f.coverNamedBy(key, e)
	return f
}

func (e TypedExpr) partFacts(part *Facts, cuts []*Cut, choices func() []any) Facts {
	f := Facts{Marks: e.Marks, Choices: choices, Cuts: cuts}
	if part != nil {
		f.Text, f.Members, f.Elem = part.Text, part.Members, part.Elem
		f.Masked, f.Covers = part.Masked, part.Covers
		f.Cuts = addAll(part.Cuts, cuts)
	}
	return f
}

// contents returns what is known of the texts and lists in a value.
func (e TypedExpr) contents() *Facts {
	return &Facts{Text: Text{e.MayBeginWithDash(), e.asPath()}, Cuts: e.Cuts, Masked: e.Masked, Covers: e.Covers,
		Members: e.Members, Elem: e.Elem}
}

// rest returns the facts of the parts that are not in Members; nil for none.
func (f Facts) rest() *Facts {
	if f.Members == nil && f.Elem == nil { // nothing is known apart
		return &Facts{Text: f.Text}
	}
	return f.Elem
}

// asPath returns what is known of the value as a path. Null is no path.
func (e TypedExpr) asPath() template.PathKind {
	switch {
	case e.IsNull():
		return template.PathUnder
	case e.AsPath == template.PathUnknown && e.TemplateType().SafeInPath():
		return template.PathSafe
	}
	return e.AsPath
}

// join returns what is known of the texts and lists in one of two values; nil stands for none.
func join(a, b *Facts) *Facts {
	if a == nil || b == nil || a == b {
		return cmp.Or(a, b)
	}
	f := &Facts{Text: a.or(b.Text), Cuts: addAll(a.Cuts, b.Cuts), Masked: addAll(a.Masked, b.Masked),
		Covers: addAll(a.Covers, b.Covers)}
	if a.Members == nil && a.Elem == nil && b.Members == nil && b.Elem == nil {
		return f
	}
	f.Elem, f.Members = join(a.rest(), b.rest()), maps.Clone(a.Members)
	for name, m := range b.Members {
		if f.Members == nil {
			f.Members = map[string]*Facts{}
		}
		f.Members[name] = join(f.Members[name], m)
	}
	return f
}

// fromCall returns the facts of what a function returns for arguments, as its declaration says.
func fromCall(fn *functions.Function, args []TypedExpr) Facts {
	var f Facts
	switch fn.Chooses {
	case functions.AnArgument:
		f = Either(args...)
		for _, a := range args { // null only if every argument may be
			if f.NullReason = a.NullReason; f.NullReason == "" {
				break
			}
		}
	case functions.AnElement, functions.FirstElement:
		element := TypedExpr{Type: AnyType, Facts: args[0].ElementFacts(fn.Chooses == functions.FirstElement)}
		if len(args) > 1 {
			element.Facts = args[0].PartFacts(args[1])
		}
		f = Either(append([]TypedExpr{element}, args[min(2, len(args)):]...)...)
		f.NullReason = ""
	default:
		f = From(args...)
		f.coverResult(fn, args)
		if len(args) > 0 && fn.Result.Rule == functions.SameAsFirst { // some of its elements, or all in another order
			f.Covers = args[0].Covers
			f.Masked = args[0].Facts.addHeldMasks(nil, false, map[*Facts]bool{})
			for _, a := range args[1:] {
				f.Masked = addAll(f.Masked, a.HeldMasks())
			}
		}
	}
	f = f.By(args...)
	f.Call = f.Call || fn.CallOnly
	if !fn.Keeps.Has(functions.Beginning) {
		f.Text = Text{}
	}
	if fn.Result.Nullable {
		f.NullReason = fn.Name + " may give null"
	}
	return f
}

// EachOf returns the facts of a list, or of a map, of values that are as e.
func EachOf(e TypedExpr) Facts { return fromList([]TypedExpr{e}) }

// AddCuts adds limits that may have cut the value itself.
func (f *Facts) AddCuts(cuts []*Cut) { f.Cuts = addAll(f.Cuts, cuts) }

// LookedAt returns what a function looks at of an argument: if it only counts, the elements do not matter.
func LookedAt(fn *functions.Function, arg TypedExpr) TypedExpr {
	if fn.Counts {
		arg.Members, arg.Elem, arg.Covers = nil, nil, nil
	}
	return arg
}

// Some returns the facts of a value that is a part of the elements of e, or of its text, which others choose or order.
func (e TypedExpr) Some(by ...TypedExpr) Facts {
	f := e.contents()
	f.Marks, f.Choices = e.Marks, nil
	return f.ChosenBy(by...)
}

// addAll returns the elements of both lists, each once.
func addAll[T comparable](a, b []T) []T {
	for _, one := range b {
		if !slices.Contains(a, one) {
			a = append(a[:len(a):len(a)], one)
		}
	}
	return a
}
