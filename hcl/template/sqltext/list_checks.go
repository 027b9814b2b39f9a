package sqltext

import (
	"slices"
	"strings"

	"hatchel/hcl/template"
)

// checkSingleValue checks the type of an interpolation that is bound as one parameter.
func (c *checker) checkSingleValue(h *template.Interpolation, inElements bool) {
	isList := h.Type.Kind == template.List
	switch {
	case inElements && strings.HasPrefix(h.Source, "join("):
		c.Errorf(h.Range, "List inside parentheses",
			"join(…) joins a list into one string, and each row would be compared with that whole string. Write IN "+
				"${…} with the list itself.")
	case inElements && isList:
		c.Errorf(h.Range, "List inside parentheses", "A list adds its own parentheses. Write IN ${%s}.", h.Source)
	case isList && c.dialect != PostgreSQL:
		c.Errorf(h.Range, "List instead of value",
			"${%[1]s} is a list, and %[2]s has no list values here. Write IN ${%[1]s} to compare with each element, "+
				"or ${jsonencode(%[1]s)} to bind its JSON.", h.Source, c.dialect)
	}
}

// checkList checks [NOT] IN ${list}.
func (l *lexer) checkList(h *template.Interpolation, p *interpolationContext, list span) {
	t := h.Type
	switch t.Kind {
	case template.Any:
	case template.List:
		for _, e := range elementTypes(t) {
			if kind := nestedKinds[e.Kind]; kind != "" {
				l.Errorf(h.Range, "List of single values needed",
					"IN compares with each element, and the elements of %[1]s are %[2]s. Write [for x in %[1]s : "+
						"x.name] to take one value of each.", h.Source, kind)
				break
			}
		}
		if slices.ContainsFunc(elementTypes(t), isNullable) {
			l.Warnf(h.Range, "Comparison with null",
				"An element of %[1]s may be null. IN never matches it, and NOT IN then matches no row at all. Leave "+
					"it out: [for x in %[1]s : x if x != null].", h.Source)
		}
	default:
		l.Errorf(h.Range, "Value instead of list",
			"IN takes a list, and %[1]s is one value. Write IN (${%[1]s}), or = ${%[1]s}.", h.Source)
	}
	if t.Nullable {
		l.Warnf(h.Range, "Comparison with null",
			"%[1]s may be null, and then no row is found. Guard it with %%{if %[1]s != null}.", h.Source)
	}
	if l.dialect != PostgreSQL {
		return
	}
	if list.text == nil || l.index == 0 || l.siblings[l.index-1] != template.Node(list.text) {
		l.Errorf(h.Range, "IN in pieces",
			"On PostgreSQL [NOT] IN ${%s} is rewritten as a whole. Write IN or NOT IN directly before it, in each "+
				"branch.", h.Source)
		return
	}
	p.list = list
}

var nestedKinds = map[template.Kind]string{template.List: "lists", template.Object: "objects"}

func isNullable(t template.Type) bool { return t.Nullable || t.Known && t.Constant == nil }

// checkRows checks VALUES ${rows}.
func (c *checker) checkRows(h *template.Interpolation, cols int) {
	t := h.Type
	switch t.Kind {
	case template.Any:
		return
	case template.List:
	default:
		c.Errorf(h.Range, "Rows needed",
			"VALUES takes a list of rows, and %[1]s is one value. Write VALUES (${%[1]s}) for one row.", h.Source)
		return
	}
	length := -1
	for _, row := range elementTypes(t) {
		n, known := knownLength(row)
		switch {
		case row.Kind == template.Any:
			continue
		case row.Kind == template.Object:
			c.Errorf(h.Range, "Rows needed",
				"VALUES takes rows that are lists, and the elements of %[1]s are objects. Write VALUES ${[for r in "+
					"%[1]s : [r.a, r.b]]} with the members in the order of the columns.", h.Source)
			return
		case row.Kind != template.List:
			c.Errorf(h.Range, "Rows needed",
				"VALUES takes a list of rows, each a list itself, and the elements of %[1]s are single values. Write "+
					"VALUES ${[for v in %[1]s : [v]]} for one column.", h.Source)
			return
		case !known:
			continue
		case n == 0:
			c.Errorf(h.Range, "Rows needed", "A row needs at least one value.")
			return
		case length >= 0 && n != length:
			c.Errorf(h.Range, "Rows of different lengths", "One row of %s has %d values and another %d.", h.Source,
				length, n)
			return
		case cols > 0 && n != cols:
			c.Errorf(h.Range, "Row does not fit", "A row of %s has %d values, and the statement names %d columns.",
				h.Source, n, cols)
			return
		}
		length = n
	}
}

// knownLength returns the number of elements of a value of the type, if it is known.
func knownLength(t template.Type) (int, bool) {
	if list, ok := t.Constant.([]any); ok && t.Known {
		return len(list), true
	}
	return len(t.Tuple), t.Tuple != nil
}
