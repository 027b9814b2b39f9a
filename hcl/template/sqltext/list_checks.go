package sqltext

import (
	"fmt"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
)

const warning = hclv2.DiagWarning

func rangeOf(h *template.Interpolation) func(int, int) hclv2.Range {
	return func(int, int) hclv2.Range { return h.Range }
}

// checkSingleValue checks the type of an interpolation that is bound as one parameter.
func (c *checker) checkSingleValue(h *template.Interpolation, inElements bool) {
	joined := inElements && strings.HasPrefix(h.Source, "join(")
	if h.Type.Kind != template.List && !joined {
		return
	}
	switch {
	case joined:
		c.errorAt(h.Range, "List inside parentheses",
			"join(…) joins a list into one string, and each row would be compared with that whole string. "+
				"Write IN ${…} with the list itself.")
	case inElements:
		c.errorAt(h.Range, "List inside parentheses", "A list adds its own parentheses. Write IN ${%s}.", h.Source)
	case c.dialect != PostgreSQL:
		c.errorAt(h.Range, "List instead of value",
			"${%s} is a list, and %s has no list values here. Write IN ${%s} to compare with each element, "+
				"or ${jsonencode(%s)} to bind its JSON.",
			h.Source, c.dialect, h.Source, h.Source)
	}
}

// checkList checks [NOT] IN ${list}.
func (l *lexer) checkList(h *template.Interpolation, p *holeContext, list span) {
	t := h.Type
	switch t.Kind {
	case template.Any:
	case template.List:
		for _, e := range elementTypes(t) {
			if e.Kind == template.List || e.Kind == template.Object {
				l.errorAt(h.Range, "List of single values needed",
					"IN compares with each element, and the elements of %s are %ss. Write [for x in %s : "+
						"x.name] to take one value of each.", h.Source, kindName(e.Kind), h.Source)
				break
			}
		}
	default:
		l.errorAt(h.Range, "Value instead of list",
			"IN takes a list, and %s is one value. Write IN (${%s}), or = ${%s}.", h.Source, h.Source, h.Source)
	}
	if hasNullableElement(t) {
		l.report(warning, h.Range, "Comparison with null",
			fmt.Sprintf("An element of %s may be null. IN never matches it, and NOT IN then matches no row "+
				"at all. Leave it out: [for x in %s : x if x != null].", h.Source, h.Source))
	}
	if t.Nullable {
		l.report(warning, h.Range, "Comparison with null",
			fmt.Sprintf("%s may be null, and then no row is found. Guard it with %%{if %s != null}.", h.Source,
				h.Source))
	}
	if l.dialect != PostgreSQL {
		return
	}
	if list.text == nil || l.index == 0 || l.siblings[l.index-1] != template.Node(list.text) {
		l.errorAt(h.Range, "IN in pieces",
			"On PostgreSQL [NOT] IN ${%s} is rewritten as a whole. Write IN or NOT IN directly before it, "+
				"in each branch.", h.Source)
		return
	}
	p.list = list
}

func hasNullableElement(t template.Type) bool {
	if t.Kind != template.List {
		return false
	}
	for _, e := range elementTypes(t) {
		if e.Nullable || e.Known && e.Constant == nil {
			return true
		}
	}
	return false
}

// checkRows checks VALUES ${rows}.
func (c *checker) checkRows(h *template.Interpolation, cols int) {
	t := h.Type
	switch {
	case t.Kind == template.Any:
		return
	case t.Kind != template.List:
		c.errorAt(h.Range, "Rows needed",
			"VALUES takes a list of rows, and %s is one value. Write VALUES (${%s}) for one row.", h.Source, h.Source)
		return
	}
	length := -1
	for _, row := range elementTypes(t) {
		switch {
		case row.Kind == template.Any:
			continue
		case row.Kind == template.Object:
			c.errorAt(h.Range, "Rows needed",
				"VALUES takes rows that are lists, and the elements of %s are objects. Write VALUES ${[for "+
					"r in %s : [r.a, r.b]]} with the members in the order of the columns.", h.Source, h.Source)
			return
		case row.Kind != template.List:
			c.errorAt(h.Range, "Rows needed",
				"VALUES takes a list of rows, each a list itself, and the elements of %s are single values. "+
					"Write VALUES ${[for v in %s : [v]]} for one column.", h.Source, h.Source)
			return
		}
		n, ok := knownLength(row)
		if !ok {
			continue
		}
		switch {
		case n == 0:
			c.errorAt(h.Range, "Rows needed", "A row needs at least one value.")
			return
		case length >= 0 && n != length:
			c.errorAt(h.Range, "Rows of different lengths", "One row of %s has %d values and another %d.", h.Source,
				length, n)
			return
		case cols > 0 && n != cols:
			c.errorAt(h.Range, "Row does not fit", "A row of %s has %d values, and the statement names %d columns.",
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

// warnNullComparison warns of a comparison that a null makes false for every row.
func (c *checker) warnNullComparison(h *template.Interpolation, op string) {
	if !h.Type.Nullable || h.Func != "" {
		return
	}
	equal := op != "<>" && op != "!="
	var better string
	switch {
	case op == "IN":
		better = "Add OR ... IS NULL where null should be found"
	case c.dialect == MySQL && equal:
		better = "Use <=> in place of ="
	case c.dialect == MySQL:
		better = "Write NOT (a <=> b)"
	case c.dialect == PostgreSQL && equal:
		better = "Use IS NOT DISTINCT FROM in place of ="
	case c.dialect == PostgreSQL:
		better = "Use IS DISTINCT FROM in place of " + op
	case equal:
		better = "Use IS in place of ="
	default:
		better = "Use IS NOT in place of " + op
	}
	c.report(warning, h.Range, "Comparison with null",
		fmt.Sprintf("%s may be null, and a comparison with null is never true, so no row is found then. %s, "+
			"or leave the condition out with %%{if %s != null}.", h.Source, better, h.Source))
}

func kindName(k template.Kind) string {
	if k == template.List {
		return "list"
	}
	return "object"
}
