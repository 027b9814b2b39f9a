package injection

import (
	_ "embed"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
)

// phrase is a list of phrases with one meaning. The pattern matches the beginning of folded text, which has no spaces.
type phrase struct {
	why     string
	pattern *regexp.Regexp
	shorter *regexp.Regexp // the same, with the shortest match
}

// match returns the length of a match that ends with a word, or 0.
func (p *phrase) match(letters string, isEnd func(int) bool) int {
	for _, pattern := range []*regexp.Regexp{p.pattern, p.shorter} {
		at := pattern.FindStringIndex(letters)
		if at == nil {
			return 0
		}
		if isEnd(at[1]) {
			return at[1]
		}
	}
	return 0
}

// What literals and encodings say.
const (
	whyHarvest    = "tells the model to read credentials or private files"
	whyDisclose   = "tells the model to pass on its conversation or instructions"
	whyImitate    = "imitates the instructions of a system"
	whyRun        = "tells the model to run a program from the network"
	whyImage      = "has an image whose address takes values from the conversation"
	whyEncoded    = "has an encoded text that instructs a model"
	whyUnreadable = "has a long encoded text, which people cannot read"
)

//go:embed phrases.txt
var lists string

// phrases returns the phrases of the lists by the beginnings of what they match. They are compiled at the first use.
var phrases = sync.OnceValue(func() map[string][]*phrase { return compile(lists) })

// startLength is the number of bytes of folded text by which phrases are found.
const startLength = 3

// compile returns the phrases by the beginnings of what they match. It removes the spaces of the patterns and folds
// their letters as those of a text.
func compile(lists string) map[string][]*phrase {
	vocabulary := []string{" ", "", "…", `\pL{0,40}`, "‥", `\pL{0,14}`}
	byStart, why := map[string][]*phrase{}, ""
	for line := range strings.Lines(lists) {
		line = strings.TrimSpace(line)
		if word, meaning, ok := strings.Cut(line, " = "); ok {
			vocabulary = append(vocabulary, word, meaning)
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			why = strings.Trim(line, "[]")
			continue
		}
		words := strings.NewReplacer(vocabulary...)
		for range maxNesting {
			line = words.Replace(line)
		}
		pattern := "^(?:" + foldPattern(line) + ")"
		p := &phrase{why, regexp.MustCompile(pattern), regexp.MustCompile("(?U)" + pattern)}
		tree, _ := syntax.Parse(pattern, syntax.Perl) // compiled above
		for start := range starts(tree.Simplify()) {
			byStart[start] = append(byStart[start], p)
		}
	}
	return byStart
}

// maxNesting is how deep words of the vocabulary use each other.
const maxNesting = 3

// starts returns the first bytes of all texts that a pattern matches: startLength of them, or fewer if the text is
// shorter.
func starts(re *syntax.Regexp) map[string]bool {
	switch re.Op {
	case syntax.OpLiteral:
		return map[string]bool{cut(string(re.Rune)): true}
	case syntax.OpCharClass:
		out := map[string]bool{}
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				out[cut(string(r))] = true
			}
		}
		return out
	case syntax.OpCapture:
		return starts(re.Sub[0])
	case syntax.OpQuest:
		return join(map[string]bool{"": true}, starts(re.Sub[0]))
	case syntax.OpPlus, syntax.OpStar:
		once := starts(re.Sub[0])
		out := once
		for range startLength {
			out = join(out, follow(out, once))
		}
		if re.Op == syntax.OpStar {
			out = join(out, map[string]bool{"": true})
		}
		return out
	case syntax.OpAlternate:
		out := map[string]bool{}
		for _, sub := range re.Sub {
			out = join(out, starts(sub))
		}
		return out
	case syntax.OpConcat:
		out := map[string]bool{"": true}
		for _, sub := range re.Sub {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(out)), isShort) {
				break
			}
			out = follow(out, starts(sub))
		}
		return out
	}
	return map[string]bool{"": true} // a condition, such as the beginning of the text
}

func cut(s string) string { return s[:min(len(s), startLength)] }

func isShort(s string) bool { return len(s) < startLength }

// join returns the texts of both sets.
func join(a, b map[string]bool) map[string]bool {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// follow returns the texts of one set followed by those of another.
func follow(a, b map[string]bool) map[string]bool {
	out := map[string]bool{}
	for first := range a {
		if !isShort(first) {
			out[first] = true
			continue
		}
		for second := range b {
			out[cut(first+second)] = true
		}
	}
	return out
}

// foldPattern folds the letters of a pattern. The class of all letters remains.
func foldPattern(pattern string) string {
	parts := strings.Split(pattern, `\pL`)
	for i, part := range parts {
		var b strings.Builder
		for _, r := range part {
			switch {
			case r < 0x80 && !('a' <= r && r <= 'z'):
				b.WriteRune(r)
			case !foldOther(r, func(l rune) { b.WriteRune(l) }):
				b.WriteRune(r)
			}
		}
		parts[i] = b.String()
	}
	return strings.Join(parts, `\pL`)
}
