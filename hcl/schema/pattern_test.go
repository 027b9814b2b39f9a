package schema

import "testing"

func TestPatternsMatchAsClientsMatchThem(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		match         bool
	}{
		{`^\s$`, "\u00a0", true},
		{`^\S$`, "\u00a0", false},
		{`^[^\s]$`, "\u2003", false},
		{`^[\s\S]$`, "\n", true},
		{`^.$`, "\u2028", false},
		{`^.$`, "é", true},
		{`^\u00e9$`, "é", true},
		{`^\ud83d\ude00$`, "😀", true},
		{`^\u{1F600}$`, "😀", true},
		{`^[\b]$`, "\b", true},
		{`^\cJ$`, "\n", true},
		{`^[[]$`, "[", true},
		{`^(?<year>\d{4})-\d\d$`, "2026-01", true},
		{`^a$`, "a\n", false},
		{`^\p{L}+$`, "aé", true},
		{`b`, "abc", true},
		{`^[a\-z]$`, "-", true},
	} {
		p, err := NewPattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
		} else if p.MatchString(c.text) != c.match {
			t.Errorf("%s on %q: want %v", c.pattern, c.text, c.match)
		}
	}
}

func TestPatternsOfOneDialectAreRefused(t *testing.T) {
	for pattern, want := range map[string]string{
		`(?=a)`:       "lookahead is not available",
		`(?<!a)b`:     "lookbehind is not available",
		`(a)\1`:       "references to an earlier group are not available",
		`(?i)a`:       "flags such as (?i) are not available in JSON Schema; write the letters, like [Aa]",
		`(?P<a>b)`:    "a named group is written (?<name>...)",
		`\Aa\z`:       `\A is not available in JSON Schema; write ^`,
		`[[:alpha:]]`: "[:alpha:] is not available in JSON Schema; write the characters, like a-z",
		`a{1,5000}`:   "a repetition may count up to 1000, also multiplied with the repetitions around it",
		`\-`:          `\- is not an escape in JSON Schema; write -`,
		`\e`:          `the escape \e is not available in JSON Schema`,
		`a{`:          `a { that is not a repetition must be written \{`,
		`a]`:          `an unmatched ] must be written \]`,
		`[z-a]`:       "a range in [...] runs backwards or names an unknown class",
		`*a`:          "a repetition such as * or + has nothing before it to repeat",
		`a**`:         "two repetitions follow each other; possessive forms such as *+ are not available",
		`[a`:          "a [ is not closed",
		`a)`:          `a ) is unmatched; write \) for the character`,
		`[]`:          `an empty [...] is not available; write [\s\S] for any character`,
		`a\`:          "it ends in a single backslash",
		`\p{Wibble}`:  "a range in [...] runs backwards or names an unknown class",
	} {
		if _, err := NewPattern(pattern); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", pattern, err, want)
		}
	}
}

func TestAPatternMayAllowWordsOnly(t *testing.T) {
	for source, want := range map[string]bool{
		"^[a-z0-9.][a-z0-9.-]*$": true, "^(a|b-c)?$": true, "^[A-Za-z0-9_/@%+=,:]+$": true,
		"^[a-z.-]+$": false, "^-?a$": false, "^a b$": false, "^[a-z*]+$": false, "[a-z]+": false, "^[a-z]+": false, "^.+$": false,
		`^a\\b$`: false, `^a\s$`: false, "^(a?)-$": false,
	} {
		p, err := NewPattern(source)
		if err != nil || p.word != want {
			t.Errorf("%s: %v, %v", source, p, err)
		}
	}
}
