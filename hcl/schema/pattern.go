package schema

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"hatchel/hcl/value"
	"hatchel/internal/lazyregexp"
)

// Pattern is a regular expression of JSON Schema: ECMA 262 with the u flag, unanchored. Only
// features that both that dialect and Go's linear-time engine support are accepted, so that a
// client and the server never disagree about a match.
type Pattern struct {
	Source string
	re     *regexp.Regexp
	size   int  // instructions
	plain  bool // what it matches has only letters, digits and _ - . :
	word   bool // what it matches is one word for a shell, and no option
	name   bool // what it matches has no slash, and no dot at the beginning
}

// NewPattern compiles a pattern. Its error is a sentence for an author.
func NewPattern(source string) (*Pattern, error) {
	t := ecmaTranslator{src: source}
	for t.at < len(t.src) {
		if err := t.next(); err != nil {
			return nil, err
		}
	}
	re, err := regexp.Compile(t.out.String())
	if bad, ok := errors.AsType[*syntax.Error](err); ok {
		return nil, errors.New(cmp.Or(regexpErrors[bad.Code], "it is not a valid regular expression"))
	}
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	whole := err == nil && isAnchored(tree)
	option, _ := canBegin(tree, '-')
	return &Pattern{Source: source, re: re, size: value.PatternSize(tree), plain: whole && holdsOnly(tree, isPlainRune),
		word: whole && !option && holdsOnly(tree, isWordRune), name: whole && isFileName(tree)}, nil
}

// Patterns compiles each pattern once, because many tools of a configuration have the same. The zero value is ready to
// use, and safe for concurrent use. Nil compiles each anew.
type Patterns struct {
	compiled sync.Map // of *Pattern, by source
}

// Compile returns the compiled pattern, which others share. Its error is that of NewPattern.
func (p *Patterns) Compile(source string) (*Pattern, error) {
	if p == nil {
		return NewPattern(source)
	}
	if known, ok := p.compiled.Load(source); ok {
		return known.(*Pattern), nil
	}
	pattern, err := NewPattern(source)
	if err != nil {
		return nil, err
	}
	shared, _ := p.compiled.LoadOrStore(source, pattern)
	return shared.(*Pattern), nil
}

// isAnchored reports whether an expression matches whole texts only.
func isAnchored(e *syntax.Regexp) bool {
	switch e.Op {
	case syntax.OpCapture:
		return isAnchored(e.Sub[0])
	case syntax.OpAlternate:
		return !slices.ContainsFunc(e.Sub, func(sub *syntax.Regexp) bool { return !isAnchored(sub) })
	case syntax.OpConcat:
		return e.Sub[0].Op == syntax.OpBeginText && e.Sub[len(e.Sub)-1].Op == syntax.OpEndText
	}
	return false
}

// holdsOnly reports whether what an expression matches consists of accepted characters.
func holdsOnly(e *syntax.Regexp, accepts func(rune) bool) bool {
	switch e.Op {
	case syntax.OpLiteral:
		return !slices.ContainsFunc(e.Rune, func(r rune) bool { return !accepts(r) })
	case syntax.OpCharClass:
		for i := 0; i < len(e.Rune); i += 2 {
			for r := e.Rune[i]; r <= e.Rune[i+1]; r++ {
				if !accepts(r) {
					return false
				}
			}
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return false
	}
	return !slices.ContainsFunc(e.Sub, func(sub *syntax.Regexp) bool { return !holdsOnly(sub, accepts) })
}

// isWordRune reports whether a character has no meaning in a shell and is not changed by echo.
func isWordRune(r rune) bool { return isPlainRune(r) || strings.ContainsRune("/@%+=,", r) }

// isPlainRune reports whether a character has no meaning in the languages of queries.
func isPlainRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.:", r)
}

// MatchString reports whether s contains a match. With String, it makes a Pattern a regular
// expression of the JSON Schema library.
func (p *Pattern) MatchString(s string) bool { return p.re.MatchString(s) }
func (p *Pattern) String() string            { return p.Source }

// regexpErrors describes the errors of Go's regexp parser.
var regexpErrors = map[syntax.ErrorCode]string{
	syntax.ErrMissingBracket:        "a [ is not closed",
	syntax.ErrMissingParen:          "a ( is not closed",
	syntax.ErrUnexpectedParen:       "a ) is unmatched; write \\) for the character",
	syntax.ErrMissingRepeatArgument: "a repetition such as * or + has nothing before it to repeat",
	syntax.ErrInvalidRepeatOp:       "two repetitions follow each other; possessive forms such as *+ are not available",
	syntax.ErrInvalidRepeatSize: "a repetition may count up to 1000, also multiplied with the repetitions " +
		"around it",
	syntax.ErrInvalidCharRange:    "a range in [...] runs backwards or names an unknown class",
	syntax.ErrInvalidNamedCapture: "the name of a (?<name>...) is not valid or is used twice",
	syntax.ErrInvalidEscape:       "an escape is not known",
	syntax.ErrLarge:               "it is too large once its repetitions are written out",
	syntax.ErrNestingDepth:        "it nests too deeply",
}

// The characters that \s matches in ECMA 262, and those that it does not match, as the inside of a
// character class.
const (
	space    = `\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
	notSpace = `\x00-\x08\x0e-\x1f\x21-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}` +
		`\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`
	anything = `[^\n\r\x{2028}\x{2029}]`
)

// ecmaTranslator translates the ECMA dialect into Go's and rejects features that only one of them
// has.
type ecmaTranslator struct {
	src   string
	at    int
	class bool // inside [...]
	out   strings.Builder
}

var (
	quantifier = lazyregexp.New(`^\{[0-9]+(,[0-9]*)?\}`)
	posix      = lazyregexp.New(`^\[:\^?[a-z]+:\]`)
	hexEscape  = lazyregexp.New(`^\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\})`)
	property   = lazyregexp.New(`^\\[pP]\{[^}]+\}`)
	surrogates = lazyregexp.New(`^\\u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}`)
)

func (t *ecmaTranslator) next() error {
	rest := t.src[t.at:]
	switch c := rest[0]; {
	case c == '\\':
		return t.escape(rest)
	case t.class:
		return t.inClass(rest)
	case c == '[':
		t.class = true
		n := 1
		if strings.HasPrefix(rest, "[^") {
			n = 2
		}
		if strings.HasPrefix(rest[n:], "]") {
			return errors.New("an empty [...] is not available; write [\\s\\S] for any character")
		}
		return t.copy(n)
	case c == '(':
		return t.group(rest)
	case c == '.':
		return t.replace(1, anything)
	case c == '{':
		if q := quantifier.FindString(rest); q != "" {
			return t.copy(len(q))
		}
		return errors.New("a { that is not a repetition must be written \\{")
	case c == '}' || c == ']':
		return fmt.Errorf("an unmatched %c must be written \\%c", c, c)
	}
	return t.copy(1)
}

func (t *ecmaTranslator) inClass(rest string) error {
	switch {
	case rest[0] == ']':
		t.class = false
		return t.copy(1)
	case rest[0] == '[':
		if posix.MatchString(rest) {
			return fmt.Errorf("%s is not available in JSON Schema; write the characters, like a-z",
				posix.FindString(rest))
		}
		return t.replace(1, `\[`)
	}
	return t.copy(1)
}

func (t *ecmaTranslator) group(rest string) error {
	switch {
	case !strings.HasPrefix(rest, "(?"):
		return t.copy(1)
	case strings.HasPrefix(rest, "(?:"):
		return t.copy(3)
	case strings.HasPrefix(rest, "(?=") || strings.HasPrefix(rest, "(?!"):
		return errors.New("lookahead is not available")
	case strings.HasPrefix(rest, "(?<=") || strings.HasPrefix(rest, "(?<!"):
		return errors.New("lookbehind is not available")
	case strings.HasPrefix(rest, "(?<"):
		return t.copy(3)
	case strings.HasPrefix(rest, "(?P<"):
		return errors.New("a named group is written (?<name>...)")
	}
	return errors.New("flags such as (?i) are not available in JSON Schema; write the letters, like [Aa]")
}

func (t *ecmaTranslator) escape(rest string) error {
	if pair := surrogates.FindString(rest); pair != "" {
		var high, low rune
		fmt.Sscanf(pair, `\u%4x\u%4x`, &high, &low)
		return t.replace(len(pair), fmt.Sprintf(`\x{%x}`, (high-0xd800)<<10+(low-0xdc00)+0x10000))
	}
	if m := hexEscape.FindStringSubmatch(rest); m != nil {
		return t.replace(len(m[0]), `\x{`+m[1]+m[2]+m[3]+`}`)
	}
	if p := property.FindString(rest); p != "" {
		return t.copy(len(p))
	}
	if len(rest) < 2 {
		return errors.New("it ends in a single backslash")
	}
	switch c := rest[1]; c {
	case 's':
		return t.set(space)
	case 'S':
		return t.set(notSpace)
	case 'd', 'D', 'w', 'W', 't', 'n', 'r', 'f', 'v', '0', '^', '$', '\\', '.', '*', '+', '?', '(', ')', '[', ']',
		'{', '}', '|', '/':
		return t.copy(2)
	case 'b', 'B':
		if !t.class {
			return t.copy(2)
		}
		if c == 'b' {
			return t.replace(2, `\x08`)
		}
	case '-':
		if t.class {
			return t.copy(2)
		}
	case 'A':
		return errors.New("\\A is not available in JSON Schema; write ^")
	case 'z', 'Z':
		return fmt.Errorf("\\%c is not available in JSON Schema; write $", c)
	case 'c':
		if len(rest) > 2 && (rest[2]|0x20 >= 'a' && rest[2]|0x20 <= 'z') {
			return t.replace(3, fmt.Sprintf(`\x%02x`, rest[2]&0x1f))
		}
	case 'k', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return errors.New("references to an earlier group are not available")
	}
	if c := rest[1]; c < 0x80 && !(c|0x20 >= 'a' && c|0x20 <= 'z') {
		return fmt.Errorf("\\%c is not an escape in JSON Schema; write %c", c, c)
	}
	return errors.New("the escape \\" + string([]rune(rest[1:])[:1]) + " is not available in JSON Schema")
}

func (t *ecmaTranslator) set(inside string) error {
	if !t.class {
		inside = "[" + inside + "]"
	}
	return t.replace(2, inside)
}

func (t *ecmaTranslator) copy(n int) error { return t.replace(n, t.src[t.at:t.at+n]) }

func (t *ecmaTranslator) replace(n int, with string) error {
	t.out.WriteString(with)
	t.at += n
	return nil
}
