package surface

import (
	"slices"
	"strconv"
	"strings"

	"hatchel/hcl/eval"
	"hatchel/internal/lazyregexp"
)

// maxAtoms is the maximum number of different atoms of two conditions that are compared for every case.
const maxAtoms = 12

// implies reports whether a condition is certainly false wherever another is. Nil is always true. Each case of the
// atoms of both is tried, without those that comparisons with constants rule out: a number that is less than 5 is
// less than 10, too.
func implies(a, b *eval.Formula) bool {
	if b == nil || a.Equal(b) {
		return true
	}
	if a == nil {
		a = &eval.Formula{Text: "true"}
	}
	var atoms []string
	for _, text := range append(atomsOf(a), atomsOf(b)...) {
		if !slices.Contains(atoms, text) {
			atoms = append(atoms, text)
		}
	}
	if len(atoms) > maxAtoms {
		return impliesByParts(a, b)
	}
	comparisons := make([]atomComparison, len(atoms))
	for i, text := range atoms {
		comparisons[i] = parseAtom(text)
	}
	for assignment := range 1 << len(atoms) {
		holds := func(text string) bool { return assignment>>slices.Index(atoms, text)&1 == 1 }
		if truth(a, holds) && !truth(b, holds) && isPossible(comparisons, assignment) {
			return false
		}
	}
	return true
}

// isPossible reports whether the atoms may all have the truth of their bit.
func isPossible(atoms []atomComparison, assignment int) bool {
	for i, a := range atoms {
		for j, b := range atoms {
			is, also := assignment>>i&1 == 1, assignment>>j&1 == 1
			switch {
			case i == j || a.of != b.of || a.of == "":
			case is && !also && a.implies(b), is && also && a.excludes(b):
				return false
			case !is && !also && a.negates(b):
				return false
			}
		}
	}
	return true
}

// impliesByParts is implies for conditions with many atoms: a has all parts of b that are joined with "and", or only
// some of those that are joined with "or".
func impliesByParts(a, b *eval.Formula) bool {
	has := func(list []*eval.Formula, x *eval.Formula) bool { return slices.ContainsFunc(list, x.Equal) }
	all := func(list, in []*eval.Formula) bool {
		return !slices.ContainsFunc(list, func(x *eval.Formula) bool { return !has(in, x) })
	}
	return all(b.Conjuncts(), a.Conjuncts()) || all(alternativesOf(a), alternativesOf(b))
}

// alternativesOf returns the parts of which one must be true.
func alternativesOf(f *eval.Formula) []*eval.Formula {
	if f.Op == eval.OpOr {
		return f.Parts
	}
	return []*eval.Formula{f}
}

func atomsOf(f *eval.Formula) []string {
	if f.Op == "" {
		return []string{normalAtom(f.Text)}
	}
	var atoms []string
	for _, part := range f.Parts {
		atoms = append(atoms, atomsOf(part)...)
	}
	return atoms
}

// truth returns the truth of a formula.
func truth(f *eval.Formula, holds func(atom string) bool) bool {
	isTrue := func(p *eval.Formula) bool { return truth(p, holds) }
	switch f.Op {
	case eval.OpAnd:
		return !slices.ContainsFunc(f.Parts, func(p *eval.Formula) bool { return !isTrue(p) })
	case eval.OpOr:
		return slices.ContainsFunc(f.Parts, isTrue)
	case eval.OpNot:
		return !isTrue(f.Parts[0])
	}
	switch f.Text {
	case "true":
		return true
	case "false":
		return false
	}
	return holds(normalAtom(f.Text))
}

// normalAtom returns an atom in the notation in which it is compared: a comparison of two values has them in one order,
// and a search in a list of constants for one value is a membership.
func normalAtom(text string) string {
	if m := searched.FindStringSubmatch(text); m != nil && isConstantList(m[1]) {
		other := m[2]
		if other == "" {
			other = m[3]
		}
		if len(atomWords(other)) == 1 && !strings.Contains(other, "#") {
			return other + " in " + m[1]
		}
	}
	words := atomWords(text)
	if len(words) == 3 && (words[1] == "==" || words[1] == "!=") && !isConstant(words[0]) && !isConstant(words[2]) &&
		words[2] < words[0] {
		return words[2] + " " + words[1] + " " + words[0]
	}
	return text
}

// searched matches any([…], # == value), in either order.
var searched = lazyregexp.New(`^any\((\[[^\[\]]*\]), (?:# == (.+)|(.+) == #)\)$`)

// parseCondition reads the text of a condition as eval.Formula writes it.
func parseCondition(text string) *eval.Formula {
	words := atomWords(text)
	for _, op := range []string{eval.OpOr, eval.OpAnd} {
		var parts []*eval.Formula
		start := 0
		for i, word := range words {
			if word == op {
				parts, start = append(parts, parseCondition(strings.Join(words[start:i], " "))), i+1
			}
		}
		if parts != nil {
			return eval.Join(op, append(parts, parseCondition(strings.Join(words[start:], " ")))...)
		}
	}
	if inner, ok := strings.CutPrefix(text, "not ("); ok && len(words) == 2 {
		return eval.Negate(parseCondition(strings.TrimSuffix(inner, ")")))
	}
	if len(words) == 1 && strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") {
		return parseCondition(text[1 : len(text)-1])
	}
	return &eval.Formula{Text: text}
}

// atomComparison is an atom that compares a value with constants; without of it is another one.
type atomComparison struct {
	of     string
	op     string // ==, !=, <, <=, >, >= or in
	among  []string
	number float64
}

// parseAtom reads an atom such as "input.n < 5" or "caller.subject in ['ann', 'bob']".
func parseAtom(text string) atomComparison {
	words := atomWords(text)
	i := slices.IndexFunc(words, func(w string) bool {
		return slices.Contains([]string{"==", "!=", "<", "<=", ">", ">=", "in"}, w)
	})
	if i < 1 || i != len(words)-2 {
		return atomComparison{}
	}
	if flipped := mirrored[words[1]]; i == 1 && flipped != "" { // 5 < input.n
		if _, constant := constantValues(words[0]); constant {
			words = []string{words[2], flipped, words[0]}
		}
	}
	out := atomComparison{of: strings.Join(words[:i], " "), op: words[i]}
	value, ok := constantValues(words[i+1])
	switch {
	case !ok || out.op == "in" && !strings.HasPrefix(words[i+1], "["), out.op != "in" && len(value) != 1:
		return atomComparison{}
	case out.op == "==" || out.op == "!=" || out.op == "in":
		out.among = value
	default:
		n, err := strconv.ParseFloat(value[0], 64)
		if err != nil {
			return atomComparison{}
		}
		out.number = n
	}
	return out
}

// mirrored are the operators of comparisons whose sides have changed places.
var mirrored = map[string]string{"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// atomWords splits a text at blanks outside of quotes and brackets.
func atomWords(text string) (words []string) {
	depth, quote, start := 0, byte(0), 0
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case quote != 0 && ch == '\\':
			i++
		case quote != 0:
			if ch == quote {
				quote = 0
			}
		case ch == '"' || ch == '\'':
			quote = ch
		case strings.IndexByte("([{", ch) >= 0:
			depth++
		case strings.IndexByte(")]}", ch) >= 0:
			depth--
		case ch == ' ' && depth == 0:
			words, start = append(words, text[start:i]), i+1
		}
	}
	return append(words, text[start:])
}

// constantValues returns a number, a text or true and false as it is written in quotes of one kind, and those of a
// list.
func constantValues(text string) (values []string, ok bool) {
	if inner, isList := strings.CutPrefix(text, "["); isList && strings.HasSuffix(inner, "]") {
		inner = strings.TrimSuffix(inner, "]")
		if inner == "" {
			return nil, true
		}
		for _, element := range atomWords(inner) {
			element = strings.TrimSuffix(element, ",")
			value, ok := constantValues(element)
			if !ok || strings.HasPrefix(element, "[") {
				return nil, false
			}
			values = append(values, value...)
		}
		return values, true
	}
	if text == "true" || text == "false" {
		return []string{text}, true
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return []string{text}, true
	}
	if len(text) < 2 || strings.IndexByte(`"'`, text[0]) < 0 || text[len(text)-1] != text[0] ||
		strings.ContainsAny(text, `\{`) {
		return nil, false
	}
	return []string{"'" + text[1:len(text)-1] + "'"}, true
}

// accepts reports whether a comparison is true for a constant.
func (a atomComparison) accepts(constant string) bool {
	switch a.op {
	case "==", "in":
		return slices.Contains(a.among, constant)
	case "!=":
		return !slices.Contains(a.among, constant)
	}
	n, err := strconv.ParseFloat(constant, 64)
	if err != nil {
		return false
	}
	switch a.op {
	case "<":
		return n < a.number
	case "<=":
		return n <= a.number
	case ">":
		return n > a.number
	}
	return n >= a.number
}

func (a atomComparison) isSet() bool { return a.op == "==" || a.op == "in" }

// implies reports whether b is true wherever a is.
func (a atomComparison) implies(b atomComparison) bool {
	switch {
	case a.isSet():
		return !slices.ContainsFunc(a.among, func(c string) bool { return !b.accepts(c) })
	case a.op == "!=":
		return false
	case b.op == "!=":
		return !a.accepts(b.among[0])
	case b.isSet() || a.op[0] != b.op[0]:
		return false
	case a.number == b.number:
		return a.op == b.op || len(b.op) == 2
	}
	return (a.number < b.number) == (a.op[0] == '<')
}

// excludes reports whether a and b are never true together.
func (a atomComparison) excludes(b atomComparison) bool {
	switch {
	case a.isSet():
		return !slices.ContainsFunc(a.among, b.accepts)
	case b.isSet():
		return b.excludes(a)
	case a.op == "!=" || b.op == "!=" || a.op[0] == b.op[0]:
		return false
	case a.op[0] == '>':
		return b.excludes(a)
	case a.number == b.number:
		return a.op == "<" || b.op == ">"
	}
	return a.number < b.number
}

// negates reports whether one of a and b is always true.
func (a atomComparison) negates(b atomComparison) bool {
	return a.op == "==" && b.op == "!=" && slices.Equal(a.among, b.among)
}
