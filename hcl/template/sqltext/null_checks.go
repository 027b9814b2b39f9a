package sqltext

import (
	"slices"

	"hatchel/hcl/template"
)

// nullSafe is the advice for a comparison with = and with another operator.
var nullSafe = map[Dialect][2]string{
	SQLite:     {"Use IS in place of =", "Use IS NOT in place of "},
	PostgreSQL: {"Use IS NOT DISTINCT FROM in place of =", "Use IS DISTINCT FROM in place of "},
	MySQL:      {"Use <=> in place of =", "Write NOT (a <=> b) in place of "},
}

// nullComparison is a comparison with a value that may be null.
type nullComparison struct {
	value    *template.Interpolation
	operator string
	scopes   string // of the state
}

// nullTest is a condition that tells whether a value is null, such as ${x} IS NULL.
type nullTest struct {
	source  string // of the value
	negated bool   // IS NOT NULL
	scopes  string // of the state
}

// noteNullComparison records a comparison that a null makes false for every row.
func (l *lexer) noteNullComparison(h *template.Interpolation, operator string) {
	n := nullComparison{h, operator, l.scopes}
	if h.Type.Nullable && h.Func == "" && !slices.Contains(l.nullComparisons, n) {
		l.nullComparisons = append(l.nullComparisons, n)
	}
}

// noteNullTest records that the condition at this place tells whether a value is null.
func (l *lexer) noteNullTest(h *template.Interpolation, negated bool) {
	n := nullTest{h.Source, negated, l.scopes}
	if !slices.Contains(l.nullTests, n) {
		l.nullTests = append(l.nullTests, n)
	}
}

// nullFunctions are functions that replace a null by another value.
var nullFunctions = template.WordSet(`COALESCE IFNULL ISNULL NVL`)

// followTested judges a token after a value that may be null, which IS NULL may follow, also behind a cast.
func (l *lexer) followTested(k kind, w string) {
	switch {
	case k == word && (w == "ISNULL" || w == "NOTNULL"):
		l.noteNullTest(l.tested, w == "NOTNULL")
	case k == word && w == "NULL" && l.prev == word && (l.word == "IS" || l.word == "IS NOT"):
		l.noteNullTest(l.tested, l.word == "IS NOT")
	case k == word && (w == "IS" || w == "NOT" || w == "AS" || typeWord(l.prev, l.word)):
		return
	case k == cast, k == name, k == dot, k == open, k == literal, k == closed:
		return
	}
	l.tested = nil
}

// typeWord reports whether a word after a token belongs to the type of a cast.
func typeWord(before kind, w string) bool {
	return before == cast || before == dot || before == word && w == "AS"
}

// warnNullComparisons warns of each comparison that is reached with a null.
func (c *checker) warnNullComparisons() {
	for _, n := range c.nullComparisons {
		guards := func(t nullTest) bool { return t.source == n.value.Source && t.guards(n.scopes) }
		if !slices.ContainsFunc(c.nullTests, guards) {
			c.warnNullComparison(n.value, n.operator)
		}
	}
}

// guards reports whether a condition decides where a null leads: as another operand of an OR than the comparison, as
// in (${x} IS NULL OR a = ${x}), or as one that must be true as well, as in ${x} IS NOT NULL AND a = ${x}.
func (t nullTest) guards(comparison string) bool {
	at, own := t.scopes, comparison
	for len(at) > 0 && len(own) > 0 && at[:scopeSize] == own[:scopeSize] {
		at, own = at[scopeSize:], own[scopeSize:]
	}
	sameGroup := len(at) > 0 && len(own) > 0 && at[:scopeSize/2] == own[:scopeSize/2]
	return sameGroup != t.negated
}

func (c *checker) warnNullComparison(h *template.Interpolation, op string) {
	advice := nullSafe[c.dialect][0]
	switch op {
	case "IN":
		advice = "Add OR ... IS NULL where null should be found"
	case "<>", "!=":
		advice = nullSafe[c.dialect][1] + op
	}
	c.Warnf(h.Range, "Comparison with null",
		"%[1]s may be null, and a comparison with null is never true, so no row is found then. %[2]s, leave the "+
			"condition out with %%{if %[1]s != null}, or guard it, as in (${%[1]s} IS NULL OR …).", h.Source, advice)
}
