package injection

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"hatchel/internal/printable"
)

// literal is a pattern of a text in compatibility form and small letters. A match contains an anchor, and reaches no
// further than so many bytes before and after it.
type literal struct {
	why           string
	before, after int
	anchors       string // separated by spaces
	pattern       *regexp.Regexp
}

// literals returns the patterns. They are compiled at the first use.
var literals = sync.OnceValue(func() []literal {
	const (
		home  = `(~|\$home|\$\{home\}|%userprofile%|/root|/home/[^\s/]+|[\\/]users[\\/][^\s\\/]+)[\\/]`
		value = `(\{|<|\[|\$|%7b|%s|\.\.\.|…|the|data|content|secret|history|conversation|file|token|key|password)`
	)
	either := func(patterns ...string) *regexp.Regexp { return regexp.MustCompile(strings.Join(patterns, "|")) }
	return []literal{
		{whyImitate, 0, 120, "<", either(
			`^<\s*/?\s*(important|instructions?|critical|attention|urgent|override|sys|im_start|im_end)\b[^<>]{0,80}>`,
			`^<\s*/?\s*system[-_ ]?(prompt|message|note|instructions?|reminder|override)\b[^<>]{0,80}>`,
			`^<\s*/?\s*(hidden|secret|tool|model|agent|ai|assistant)[-_ ]?(instructions?|prompt)\b[^<>]{0,80}>`,
			`^<\|\s*(im_start|im_end|system|user|assistant|begin_of_text|start_header_id|eot_id)\b[^<>]{0,40}\|?>`,
			`^<</?sys>>`,
			`^<!--[^>]{0,60}\b(system|instruction|ignore|must|always|assistant|prompt|secret|do not|the user)\b`)},
		{whyImitate, 0, 60, "[", either(
			`^\[/?(inst|system|system[ _]prompt|system[ _]message|hidden|hidden[ _]instructions?)([ _]override)?\]`)},
		{whyImitate, 0, 60, "##", either(
			`^#{2,6}\s*(system|new|hidden|important|updated|ai)?\s*(instructions?|prompt|directives?)\s*:`)},
		{whyHarvest, 60, 60, ".ssh id_rsa id_dsa id_ecdsa id_ed25519 .aws mcp.json claude /etc/ /environ " +
			".gnupg .netrc .git-cred .npmrc .pypirc .pgpass .docker .config _history .azure .env wallet.dat", either(
			home+`\.(ssh|gnupg|netrc|git-credentials|npmrc|pypirc|pgpass|bash_history|zsh_history|azure|env)\b`,
			home+`\.(docker[\\/]config|config[\\/](gcloud|gh))\b`,
			`\.ssh[\\/](id_\w+|\*|config\b|identity|known_hosts|[\w.-]*key)|\bid_(rsa|dsa|ecdsa|ed25519)\b`,
			`\.aws[\\/](credentials|config)\b|/etc/(passwd|shadow|sudoers)\b|/proc/(self|\d+)/environ\b`,
			`\bwallet\.dat\b`,
			`\.cursor[\\/]mcp\.json|\bclaude_desktop_config\b|\.claude[\\/]|\bclaude\.json\b`,
			"(^|[\\s\"'`(/\\\\])"+`\.?mcp\.json\b`)},
		{whyRun, 0, 260, "curl wget", either(`^(curl|wget)\s[^\n|]{4,200}\|\s*(sudo\s+)?(ba|z|da)?sh\b`)},
		{whyImage, 0, 500, "![", either(`^!\[[^\]]{0,100}\]\(\s*https?://[^)\s]{0,300}` +
			`(=\s*(\{|<|\[|%7b|\$|%s)|=\)|[?&/](\{|<|%7b|\$\{)[\w ._-]{1,60}(\}|>|%7d))`)},
		{whyDisclose, 300, 40, "={ =< =[ =$ =% =.. =… =the =data =content =secret =history =conversation =file " +
			"=token =key =password", either(`\b(send|post|submit|upload|forward|transmit|exfiltrate|leak|report|call|` +
			`visit|open|fetch|request|load|navigate|curl|wget|render|append|get)\b[^\n]{0,80}?` +
			"https?://[^\\s\"'<>`]{1,150}" +
			`[?&](q|d|data|contents?|payload|secret|keys?|token|password|pass|history|context|conversation|chat|env|` +
			`file|output|results?|info|leak|exfil|log|msg|message|body|text|prompt|user|user_data|c|x)=` + value)},
	}
})

// paired are names of tags that a description may hold as a placeholder, such as <secret>; with an end they are a
// finding.
var paired = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<(system|admin|internal|assistant|secret|hidden|note_to_\w+|priority)\b[^<>]{0,80}>`)
})

// literalMatches returns the matches of the literals.
func literalMatches(text string) (found []printable.Match) {
	lower, source := toLower(text)
	for _, l := range literals() {
		for _, a := range strings.Fields(l.anchors) {
			for at := strings.Index(lower, a); at >= 0; {
				from := max(at-l.before, 0)
				window := lower[from:min(at+l.after, len(lower))]
				next := at + len(a)
				if m := l.pattern.FindStringIndex(window); m != nil {
					start, end := source(from+m[0]), source(from+m[1])
					found = append(found, printable.Match{Start: start, End: end, Why: l.why})
					next = max(next, from+m[1])
				}
				if at = strings.Index(lower[next:], a); at >= 0 {
					at += next
				}
			}
		}
	}
	if !strings.Contains(lower, "</") {
		return found
	}
	for _, m := range paired().FindAllStringSubmatchIndex(lower, -1) {
		if strings.Contains(lower[m[1]:], "</"+lower[m[2]:m[3]]) {
			found = append(found, printable.Match{Start: source(m[0]), End: source(m[1]), Why: whyImitate})
		}
	}
	return found
}

// toLower returns a text in compatibility form and small letters without hidden characters, and a function that maps
// its offsets to those of the text.
func toLower(text string) (lower string, source func(int) int) {
	if printable.IsPlain(text) {
		return strings.ToLower(text), func(i int) int { return i }
	}
	var b strings.Builder
	var offsets []int
	for at, r := range text {
		if printable.IsHidden(r) {
			continue
		}
		n := b.Len()
		if r < utf8.RuneSelf {
			b.WriteRune(unicode.ToLower(r))
		} else {
			b.WriteString(strings.ToLower(norm.NFKC.String(string(r))))
		}
		for range b.Len() - n {
			offsets = append(offsets, at)
		}
	}
	offsets = append(offsets, len(text))
	return b.String(), func(i int) int { return offsets[i] }
}

// encoding is a form in which a text can hide from people.
type encoding struct {
	anchor  string // each match contains it
	pattern *regexp.Regexp
	decode  func(string) string // returns "" for no text
}

// encodings returns the forms other than base64 and hexadecimal digits.
var encodings = sync.OnceValue(func() []encoding {
	return []encoding{
		{"%", regexp.MustCompile(`(?i)(?:[\w+.-]*%[0-9a-f]{2}){4,}[\w+.-]*`), decodePercent},
		{"&#", regexp.MustCompile(`(?:[ \w]*&#x?[0-9A-Fa-f]+;){3,}[ \w]*`), html.UnescapeString},
		{`\`, regexp.MustCompile(`(?:[ \w]*\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2})){3,}[ \w]*`), decodeEscapes},
	}
})

const (
	minEncoded    = 24  // the length from which a word is decoded
	minUnreadable = 120 // the length from which an encoded text is a finding, whatever it says
)

// encodedMatches decodes what is encoded and checks it.
func encodedMatches(text string, depth int) (found []printable.Match) {
	steers := func(plain string) bool { return plain != "" && len(steering(plain, depth-1)) > 0 }
	for from, to := 0, 0; from < len(text); from = to + 1 {
		for to = from; to < len(text) && isBase64(text[to]); {
			to++
		}
		if to-from >= minEncoded {
			digits, sixes := decodeHex(text[from:to]), decodeBase64(text[from:to])
			switch {
			case steers(digits) || steers(sixes):
				found = append(found, printable.Match{Start: from, End: to, Why: whyEncoded})
			case to-from >= minUnreadable && digits+sixes != "":
				found = append(found, printable.Match{Start: from, End: to, Why: whyUnreadable})
			}
		}
	}
	for _, e := range encodings() {
		if !strings.Contains(text, e.anchor) {
			continue
		}
		for _, at := range e.pattern.FindAllStringIndex(text, -1) {
			if plain := e.decode(text[at[0]:at[1]]); plain != text[at[0]:at[1]] && steers(plain) {
				found = append(found, printable.Match{Start: at[0], End: at[1], Why: whyEncoded})
			}
		}
	}
	return found
}

func isBase64(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '+' || c == '/' || c == '_' || c == '-'
}

func decodeBase64(s string) string {
	s = strings.NewReplacer("-", "+", "_", "/").Replace(s)
	if len(s)%4 == 1 { // no such length: a letter of the next word
		s = s[:len(s)-1]
	}
	plain, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return ""
	}
	return readable(plain)
}

func decodeHex(s string) string {
	plain, err := hex.DecodeString(s)
	if err != nil {
		return ""
	}
	return readable(plain)
}

func decodePercent(s string) string {
	plain, err := url.QueryUnescape(s)
	if err != nil {
		return ""
	}
	return readable([]byte(plain))
}

func decodeEscapes(s string) string {
	plain, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`)
	if err != nil {
		return ""
	}
	return readable([]byte(plain))
}

// readable returns bytes that are a text with spaces, or "".
func readable(b []byte) string {
	if !utf8.Valid(b) {
		return ""
	}
	letters, spaces := 0, 0
	for _, r := range string(b) {
		switch {
		case unicode.IsLetter(r):
			letters++
		case unicode.IsSpace(r):
			spaces++
		case !unicode.IsPrint(r):
			return ""
		}
	}
	if spaces == 0 || letters*2 < utf8.RuneCount(b) {
		return ""
	}
	return string(b)
}
