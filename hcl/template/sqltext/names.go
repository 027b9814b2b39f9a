package sqltext

import (
	"slices"
	"strings"

	"hatchel/hcl/template"
	"hatchel/hcl/value"
)

// readIdent reads ident(...) and checks that all possible names are known at load.
func (l *lexer) readIdent(h *template.Interpolation) {
	l.endTokenBefore(h)
	switch {
	case l.prev == start:
		l.Errorf(h.Range, "Name in wrong place", "A statement cannot begin with a name.")
	case l.prev == word && (l.word == "VALUES" || l.word == "LIMIT" || l.word == "OFFSET" || l.word == "INTERVAL" ||
		l.word == "FETCH"),
		l.prev == word && (l.word == "IN" || l.word == "NOT IN") && l.frame() != special:
		l.Errorf(h.Range, "Name in wrong place",
			"A value belongs after %s, not the name of a table or column. Write ${%s} without ident().", l.word,
			h.FirstArg().Source)
	}
	if len(h.Args) == 0 {
		l.Errorf(h.Range, "Name missing",
			"ident() takes the name, a list of names, or a schema and a name: ${ident(input.sort)}.")
	}
	for i, a := range h.Args {
		l.checkNameType(a, len(h.Args) > 1, i == 0)
	}
	if l.frame() == columns {
		l.cols = addColumns(l.cols, h)
	}
	l.recordContext(h, interpolationContext{mode: asName})
	l.token(ident, "")
}

// addColumns adds the number of columns in a list of names, which was counted as one column.
func addColumns(cols int, h *template.Interpolation) int {
	if len(h.Args) != 1 || h.Args[0].Type.Kind != template.List || cols < 0 {
		return cols
	}
	if t := h.Args[0].Type; t.Tuple != nil {
		return cols + len(t.Tuple) - 1
	}
	return -1
}

func (c *checker) checkNameType(a *template.Interpolation, qualified, first bool) {
	t := a.Type
	if t.Kind == template.List && qualified {
		c.Errorf(a.Range, "List instead of value",
			"A list of names is the only argument of ident(). Write ${ident(%s)}.", a.Source)
		return
	}
	names, all := knownNames(t)
	if !all {
		c.Errorf(a.Range, "Name needs an enum",
			"%s can be any text, so its names are not known at load. Give it the type enum(...) with the "+
				"allowed names.", a.Source)
		return
	}
	if t.Nullable {
		c.Errorf(a.Range, "Name may be null",
			"%[1]s may be null, which cannot be a name. Give it a default, or guard it with %%{if %[1]s != null}.",
			a.Source)
	}
	for _, text := range names {
		if text == "" || strings.IndexByte(text, 0) >= 0 {
			c.Errorf(a.Range, "Name not possible", "%s can be %q, which cannot be the name of a table or column.",
				a.Source, text)
		} else if schema, table, dotted := strings.Cut(text, "."); dotted && first && !qualified {
			c.Warnf(a.Range, "Dot inside a name",
				`"%s" is quoted as one name with a dot in it. For a name in a schema or of a table write `+
					`${ident("%s", "%s")} or put the part before the dot in the text.`, text, schema, table)
		}
	}
}

// elementTypes returns the types of a list's elements, or the type itself if it is not a list.
func elementTypes(t template.Type) []template.Type {
	switch {
	case t.Kind != template.List:
		return []template.Type{t}
	case t.Tuple != nil:
		return t.Tuple
	case t.Known:
		list, ok := t.Constant.([]any)
		if !ok {
			break
		}
		types := make([]template.Type, len(list))
		for i, e := range list {
			types[i] = template.Type{Kind: constantKinds[value.Kind(e)], Known: true, Constant: e}
		}
		return types
	case t.Elem != nil:
		return []template.Type{*t.Elem}
	}
	return []template.Type{{}}
}

var constantKinds = map[string]template.Kind{"string": template.String, "bool": template.Bool,
	"number": template.Number, "list": template.List, "object": template.Object}

// knownNames returns the distinct strings that an argument of ident can be, in the author's order,
// and reports whether it can be nothing else.
func knownNames(t template.Type) (names []string, all bool) {
	all = true
	for _, e := range elementTypes(t) {
		texts, known := knownTexts(e)
		all = all && known
		for _, text := range texts {
			if !slices.Contains(names, text) {
				names = append(names, text)
			}
		}
	}
	return names, all
}

// knownTexts returns all strings that a value of the type can be, if they are known.
func knownTexts(t template.Type) ([]string, bool) {
	if s, known := t.KnownText(); known {
		return []string{s}, true
	}
	return t.Values, len(t.Values) > 0
}

// readRaw reads raw(...): every possible text, as if the author had written it there.
func (c *checker) readRaw(h *template.Interpolation, s state, out *states) {
	c.recordContext(h, interpolationContext{mode: asRaw})
	if len(h.Args) != 1 {
		c.Errorf(h.Range, "Raw text missing", "raw() takes one string that is known at load.")
		out.Add(s)
		return
	}
	texts, ok := knownTexts(h.Args[0].Type)
	if !ok || h.Args[0].Type.Nullable {
		c.Errorf(h.Range, "Raw text not known",
			"raw() inserts text into the statement, so it must be known when the file is loaded, and %s is not. To "+
				"choose between strings by a value, index a map: raw(local.texts[input.x]), or use "+
				"%%{if}.", h.Args[0].Source)
		l := c.lexerAt(s, c.end())
		l.flush()
		l.set(operator, "")
		out.Add(l.state)
		return
	}
	if c.rawTexts[h] == nil {
		for _, text := range texts {
			c.rawTexts[h] = append(c.rawTexts[h], &template.Text{Value: text, Place: placeAt(h.Range)})
		}
	}
	for _, t := range c.rawTexts[h] {
		out.Add(c.readText(t, s))
	}
}
