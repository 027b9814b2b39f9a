package schema

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"

	"hatchel/hcl/spelling"
	"hatchel/hcl/value"
)

func (c checkCompiler) listCheck(t *Type) check {
	elem := c.compile(t.Elem)
	anything := t.Elem.isAny() && t.Elem.library == nil
	var self check
	self = func(v any, p pass) (any, bool, []Violation) {
		list, ok := v.([]any)
		if !ok {
			return c.retryDecoded("must be a list", t, v, p, self)
		}
		var violations []Violation
		if !p.partial {
			violations = checkSize(t.MinItems, t.MaxItems, len(list), "item")
		}
		if t.Kind == Set {
			violations = append(violations, findDuplicate(list, p.time)...)
		}
		if anything {
			return v, false, violations
		}
		changed := false
		for i, e := range list {
			r, other, vs := elem(e, p)
			if vs != nil {
				violations = append(violations, prefix(indexKey(i), vs)...)
				if len(violations) > maxViolations || p.time.isOver() {
					break
				}
			}
			if !other {
				continue
			}
			if !p.owned && !changed {
				list = slices.Clone(list)
			}
			changed = true
			list[i] = r
		}
		if changed {
			return list, !p.owned, violations
		}
		return v, false, violations
	}
	return self
}

// findDuplicate finds the first item of a set that equals an earlier one.
func findDuplicate(list []any, time *checkTime) []Violation {
	if len(list) <= 8 {
		for i, a := range list {
			for j, b := range list[:i] {
				if value.Equal(a, b) {
					return singleViolation(duplicateMessage(j, i))
				}
			}
		}
		return nil
	}
	type hashed struct {
		hash  uint64
		index int
	}
	seed, key, all := maphash.MakeSeed(), []byte(nil), make([]hashed, len(list))
	for i, e := range list {
		if !time.take(value.Elements(e)) {
			return nil
		}
		key = value.AppendKey(key[:0], e)
		all[i] = hashed{maphash.Bytes(seed, key), i}
	}
	const checkEvery = 512
	compared := 0
	slices.SortFunc(all, func(a, b hashed) int {
		if compared++; compared%checkEvery == 0 {
			time.take(checkEvery)
		}
		if time.isOver() {
			return 0 // ends soon, because all are equal
		}
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.index, b.index))
	})
	if time.isOver() {
		return nil
	}
	first, twice := 0, len(list)
	for i, a := range all {
		for j := i - 1; j >= 0 && all[j].hash == a.hash && a.index < twice; j-- {
			if value.Equal(list[all[j].index], list[a.index]) {
				first, twice = all[j].index, a.index
			}
		}
	}
	if twice < len(list) {
		return singleViolation(duplicateMessage(first, twice))
	}
	return nil
}

func (c checkCompiler) mapCheck(t *Type) check {
	elem := c.compile(t.Elem)
	var self check
	self = func(v any, p pass) (any, bool, []Violation) {
		m, ok := v.(map[string]any)
		if !ok {
			return c.retryDecoded("must be an object", t, v, p, self)
		}
		var violations []Violation
		d := copyOnWrite{members: m, owned: p.owned}
		for k, e := range m {
			out, changed, vs := elem(e, p)
			if vs != nil {
				violations = append(violations, prefix(memberKey(k), vs)...)
				if len(violations) > maxViolations {
					break
				}
			}
			if changed {
				d.edit()[k] = out
			}
		}
		violations = sortByPath(violations)
		if !p.partial {
			violations = append(checkSize(t.MinItems, t.MaxItems, len(m), "member"), violations...)
		}
		return d.result(violations)
	}
	return self
}

// A field is one member of an object with its compiled check.
type field struct {
	*Member
	check     check
	dropsNull bool
}

func (c checkCompiler) objectCheck(t *Type) *objectChecker {
	o := &objectChecker{checkCompiler: c, t: t, names: t.MemberNames(), open: t.Open, noun: "member"}
	for _, m := range t.Members {
		o.fields = append(o.fields, field{m, o.compile(m.Type), m.dropsNull()})
	}
	return o
}

// objectChecker is the check of an object.
type objectChecker struct {
	checkCompiler
	t      *Type
	fields []field
	names  []string
	open   bool
	noun   string // "member" or "argument", for messages
}

// copyOnWrite is an object that is copied before its first change, unless it is owned.
type copyOnWrite struct {
	members        map[string]any
	owned, changed bool
}

func (d *copyOnWrite) edit() map[string]any {
	if !d.owned && !d.changed {
		out := make(map[string]any, len(d.members)+1)
		maps.Copy(out, d.members)
		d.members = out
	}
	d.changed = true
	return d.members
}

// result returns the results of a check for the object.
func (d *copyOnWrite) result(violations []Violation) (any, bool, []Violation) {
	return d.members, d.changed && !d.owned, violations
}

func (o *objectChecker) check(v any, p pass) (any, bool, []Violation) {
	m, ok := v.(map[string]any)
	if !ok {
		return o.retryDecoded("must be an object", o.t, v, p, o.check)
	}
	if len(o.fields) > fewMembers && !p.time.take(len(o.fields)) {
		return v, false, singleViolation("was not checked")
	}
	var violations []Violation
	d := copyOnWrite{members: m, owned: p.owned}
	known, sent := 0, len(m)
	for i := range o.fields {
		f := &o.fields[i]
		e, present := d.members[f.Name]
		if present {
			known++
		}
		if present && (e != nil || !f.dropsNull) {
			out, changed, vs := f.check(e, p)
			if vs != nil {
				violations = append(violations, prefix(memberKey(f.Name), vs)...)
			}
			if changed {
				d.edit()[f.Name] = out
			}
			continue
		}
		switch {
		case f.HasDefault:
			d.edit()[f.Name] = f.Default
		case present:
			delete(d.edit(), f.Name)
		case !f.Optional && !p.partial:
			violations = append(violations, Violation{memberKey(f.Name), "is required"})
		}
	}
	if known < sent && !o.open {
		violations = append(violations, o.unknown(m)...)
	}
	return d.result(violations)
}

// unknown reports members that the type does not have.
func (o *objectChecker) unknown(m map[string]any) []Violation {
	var names []string
	for k := range m {
		if !slices.Contains(o.names, k) {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	var out []Violation
	for _, k := range names {
		message := fmt.Sprintf("unknown %s %s", o.noun, quoteShort(k))
		if near := spelling.Nearest(k, o.names); near != "" {
			message += "; did you mean " + quoteShort(near) + "?"
		} else if o.noun == "argument" && len(clip(k)) == len(k) {
			message += "; leave it out. If the client adds it to every call, the server can ignore it: " +
				"server { ignore_arguments = [" + quoteShort(k) + "] }"
		}
		out = append(out, Violation{Message: message})
	}
	return out
}
