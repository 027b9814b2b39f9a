package access

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hatchel/hcl/eval"
	"hatchel/hcl/surface"
	"hatchel/internal/lazyregexp"
)

// Rules may decide about a subject or a group by other means than a comparison with its name: by a prefix, by a
// pattern, or in a local that is computed for each call. The texts in such a rule, and texts that its patterns match,
// are candidates: a candidate is a caller of its own if it gets other answers than those before it.

// maxCandidates is the maximum number of candidates of one kind.
const maxCandidates = 64

// literals matches the texts in the normal form of a rule.
var literals = lazyregexp.New(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"`)

// candidate is the name of a candidate.
type candidate struct {
	text     string
	isJoined bool // of two texts of a rule, which may ask for a beginning and for an end
}

// unnamed is the group, and the subject, that no rule names. The candidates are compared with it.
const unnamed = "\x00"

// candidates returns what rules may tell subjects, or groups, apart by. Path is that of the caller which they read.
func candidates(rules []*eval.Formula, path string) (out []candidate) {
	var texts, joined []string
	for _, rule := range rules {
		form := rule.String()
		if !strings.Contains(form, path) {
			continue
		}
		var own []string
		for _, quoted := range literals.FindAllString(form, -1) {
			text := unescape.Replace(quoted[1 : len(quoted)-1])
			own = append(own, text)
			if strings.ContainsAny(text, `^$.*+?[]()|\`) {
				own = append(own, examples(text)...)
			}
		}
		texts = append(texts, own...)
		for _, a := range own[:min(len(own), maxJoined)] {
			for _, b := range own[:min(len(own), maxJoined)] {
				if a != b {
					joined = append(joined, a+b)
				}
			}
		}
	}
	if texts != nil {
		out = append(out, candidate{text: unnamed})
	}
	for i, list := range [][]string{texts, joined} {
		for _, text := range sortedSet(list) {
			isKnown := i == 1 && slices.Contains(texts, text)
			isName := text != "" && len(text) <= maxCandidate && !strings.ContainsFunc(text, unicode.IsControl)
			if isName && !isKnown && len(out) < maxCandidates {
				out = append(out, candidate{text, i == 1})
			}
		}
	}
	return out
}

const (
	maxJoined    = 6   // texts of one rule that are joined in pairs
	maxCandidate = 100 // bytes
)

// unescape removes the backslashes of quotes and of backslashes.
var unescape = strings.NewReplacer(`\\`, `\`, `\'`, `'`, `\"`, `"`)

// maxExamples is the maximum number of texts for one pattern.
const maxExamples = 8

// examples returns texts that a pattern matches, one for each of its alternatives.
func examples(pattern string) []string {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	return examplesOf(tree)
}

func examplesOf(tree *syntax.Regexp) []string {
	switch tree.Op {
	case syntax.OpLiteral:
		return []string{string(tree.Rune)}
	case syntax.OpCharClass:
		return []string{classExample(tree.Rune)}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return []string{"x"}
	case syntax.OpCapture, syntax.OpPlus:
		return examplesOf(tree.Sub[0])
	case syntax.OpRepeat:
		if tree.Min == 0 {
			return []string{""}
		}
		return []string{strings.Repeat(examplesOf(tree.Sub[0])[0], min(tree.Min, maxCandidate))}
	case syntax.OpAlternate:
		var all []string
		for _, sub := range tree.Sub {
			all = append(all, examplesOf(sub)...)
		}
		return all[:min(len(all), maxExamples)]
	case syntax.OpConcat:
		all := []string{""}
		for _, sub := range tree.Sub {
			var longer []string
			for _, end := range examplesOf(sub) {
				for _, text := range all {
					longer = append(longer, text+end)
				}
			}
			all = longer[:min(len(longer), maxExamples)]
		}
		return all
	}
	return []string{""} // of what may be empty, and of places such as ^
}

// classExample returns a character of a class: a letter or a digit if it has one.
func classExample(ranges []rune) string {
	for _, r := range "xa0" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if r >= ranges[i] && r <= ranges[i+1] {
				return string(r)
			}
		}
	}
	if len(ranges) == 0 || !utf8.ValidRune(ranges[0]) {
		return ""
	}
	return string(ranges[0])
}

// rulesOf returns the rules of a surface about calls of tools, with the values of locals in place of their names.
func rulesOf(s *surface.Surface) (rules []*eval.Formula) {
	for _, t := range s.Tools {
		rules = append(rules, t.May.Allow)
		for _, a := range t.May.Approval {
			rules = append(rules, a.When)
		}
	}
	for _, p := range s.Policies {
		rules = append(rules, p.Allow, p.Deny, p.Approve)
	}
	return slices.DeleteFunc(rules, func(f *eval.Formula) bool { return f == nil })
}
