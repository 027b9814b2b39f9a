package credential

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"hatchel/internal/lazyregexp"
)

// Match is a credential in a text.
type Match struct {
	Start, End int
	Noun       string // what it is, such as "a GitHub token"
	Name       string // of the value, if one is written beside it
}

// form is a form of credential that a known service issues: a prefix and what follows it.
type form struct {
	prefix string
	noun   string
	length func(rest string) int // of what follows and belongs to it; 0 if it is none
}

// forms are the known forms. An identifier may begin as one does, so what follows must be long or have digits.
var forms = slices.Concat(
	prefixed("a Stripe key", atLeast(6, isWord), "sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_"),
	prefixed("an API key", random(8, 20, isWordOrDash), "sk-live-", "sk-test-", "sk-proj-", "sk-ant-", "sk-prod-",
		"sk-svcacct-", "sk-or-v1-", "sk_proj_", "sk_ant_"),
	prefixed("an API key", run(16), "sk-", "sk_", "rk-", "rk_"),
	prefixed("a GitHub token", random(6, 20, isAlnum), "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
	prefixed("a GitHub token", random(6, 20, isWord), "github_pat_"),
	prefixed("a GitLab token", random(6, 20, isWordOrDash), "glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-"),
	prefixed("a Slack token", random(6, 20, isWordOrDash), "xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-",
		"xoxs-", "xoxe.", "xapp-"),
	prefixed("an AWS access key", exactly(16, isUpperOrDigit), "AKIA", "ASIA"),
	prefixed("a Google API key", atLeast(30, isWordOrDash), "AIza"),
	prefixed("a Google access token", random(16, 24, isWordOrDash), "ya29."),
	prefixed("an npm token", random(8, 20, isAlnum), "npm_"),
	prefixed("a PyPI token", atLeast(16, isWordOrDash), "pypi-AgE"),
	prefixed("a SendGrid key", sendGrid, "SG."),
	prefixed("a Shopify token", random(8, 20, isAlnum), "shpat_", "shpss_", "shpca_", "shppa_"),
	prefixed("a webhook secret", random(8, 20, isBase64), "whsec_"),
	prefixed("a Square token", random(16, 20, isWordOrDash), "sq0atp-", "sq0csp-"),
	prefixed("a Vault token", random(20, 24, isWordOrDash), "hvs.", "hvb.", "hvr."),
	prefixed("a DigitalOcean token", random(16, 20, isAlnum), "dop_v1_", "doo_v1_", "dor_v1_"),
	prefixed("a Docker token", random(16, 20, isWordOrDash), "dckr_pat_", "dckr_oat_"),
	prefixed("a Databricks token", exactlyHex(32), "dapi"),
	prefixed("an Atlassian token", random(16, 24, isWordOrDash), "ATATT3", "ATCTT3"),
	prefixed("a Grafana token", random(16, 24, isWord), "glsa_", "glc_"),
	prefixed("a Hugging Face token", random(24, 30, isAlnum), "hf_"),
	prefixed("an API key", random(20, 24, isAlnum), "gsk_", "r8_", "lin_api_", "figd_", "sbp_", "ntn_", "nfp_", "tfp_",
		"rnd_", "sntrys_", "xai-", "pplx-", "tvly-", "PMAK-", "pscale_tkn_", "pscale_pw_"),
	prefixed("an age key", atLeast(30, isUpperOrDigit), "AGE-SECRET-KEY-1"),
	prefixed(pemNoun, privateKey, "-----BEGIN "),
	prefixed(pemNoun, atLeast(1, func(byte) bool { return true }), "PuTTY-User-Key-File-"),
	prefixed("a JSON Web Token", webToken, "eyJ"),
	prefixed("a webhook URL", pathOf(3, 6), "hooks.slack.com/services/", "hooks.slack.com/workflows/",
		"hooks.slack.com/triggers/"),
	prefixed("a webhook URL", pathOf(2, 8), "discord.com/api/webhooks/", "discordapp.com/api/webhooks/",
		"hooks.zapier.com/hooks/catch/"),
	prefixed("a webhook URL", pathOf(1, 16), "webhook.office.com/webhookb2/"),
	prefixed("a Telegram token", pathOf(1, 20), "api.telegram.org/bot"),
	prefixed(urlNoun, connectorPassword, "@tcp(", "@unix("),
)

// byFirst are the forms by their first bytes.
var byFirst = func() (table [256][]form) {
	for _, f := range forms {
		table[f.prefix[0]] = append(table[f.prefix[0]], f)
	}
	return table
}()

func prefixed(noun string, length func(rest string) int, prefixes ...string) (forms []form) {
	for _, p := range prefixes {
		forms = append(forms, form{p, noun, length})
	}
	return forms
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
func isWord(c byte) bool         { return isAlnum(c) || c == '_' }
func isWordOrDash(c byte) bool   { return isWord(c) || c == '-' }
func isBase64(c byte) bool       { return isWordOrDash(c) || c == '+' || c == '/' || c == '=' }
func isUpperOrDigit(c byte) bool { return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' }

func span(text string, in func(byte) bool) int {
	for i := range len(text) {
		if !in(text[i]) {
			return i
		}
	}
	return len(text)
}

// isMasked reports whether a text stands for one that is left out, such as xxxx.
func isMasked(text string) bool { return strings.Trim(text, "xX*._-…") == "" }

func atLeast(n int, in func(byte) bool) func(string) int {
	return func(rest string) int {
		if length := span(rest, in); length >= n && !isMasked(rest[:length]) {
			return length
		}
		return 0
	}
}

func exactly(n int, in func(byte) bool) func(string) int {
	return func(rest string) int {
		if span(rest, in) == n && (len(rest) == n || !isAlnum(rest[n])) && !isMasked(rest[:n]) {
			return n
		}
		return 0
	}
}

func exactlyHex(n int) func(string) int {
	isHex := func(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }
	return exactly(n, isHex)
}

// random accepts what has at least short characters and a digit among letters, or at least long characters in one word.
func random(short, long int, in func(byte) bool) func(string) int {
	return func(rest string) int {
		length := span(rest, in)
		body := rest[:length]
		hasDigit := strings.ContainsAny(body, "0123456789")
		if isMasked(body) || length < short || !hasDigit && longestRun(body) < long {
			return 0
		}
		return length
	}
}

// run accepts what has a word of at least n characters.
func run(n int) func(string) int {
	return func(rest string) int {
		length := span(rest, isWordOrDash)
		if isMasked(rest[:length]) || longestRun(rest[:length]) < n {
			return 0
		}
		return length
	}
}

func longestRun(text string) (longest int) {
	for i := 0; i < len(text); {
		n := span(text[i:], isAlnum)
		longest = max(longest, n)
		i += n + 1
	}
	return longest
}

func sendGrid(rest string) int {
	first := span(rest, isWordOrDash)
	if first < 6 || first == len(rest) || rest[first] != '.' {
		return 0
	}
	if second := span(rest[first+1:], isWordOrDash); second >= 3 && strings.ContainsAny(rest[:first], "0123456789") {
		return first + 1 + second
	}
	return 0
}

var pemWords = lazyregexp.New(`^(?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----`)

// privateKey accepts the rest of a PEM block of a private key.
func privateKey(rest string) int {
	head := pemWords.FindString(rest)
	if head == "" {
		return 0
	}
	if end := strings.Index(rest, "-----END "); end >= 0 {
		if close := strings.Index(rest[end+len("-----END "):], "-----"); close >= 0 {
			return end + len("-----END ") + close + len("-----")
		}
	}
	return len(rest)
}

// webToken accepts the rest of a JSON Web Token: three or five parts, of which the first is a JSON object.
func webToken(rest string) int {
	var parts []string
	at := 0
	for len(parts) < 5 {
		n := span(rest[at:], isWordOrDash)
		parts = append(parts, rest[at:at+n])
		at += n
		if at == len(rest) || rest[at] != '.' || at+1 == len(rest) || !isWordOrDash(rest[at+1]) {
			break // the end, or that of a sentence
		}
		at++
	}
	long := func(part string) bool { return len(part) >= 3 }
	if len(parts) < 3 || len(parts[0]) < 5 || len(parts[1]) < 5 || !slices.ContainsFunc(parts[2:], long) {
		return 0
	}
	return at
}

// pathOf accepts a path of at least n words, of which the last is long.
func pathOf(n, long int) func(string) int {
	return func(rest string) int {
		length := span(rest, func(c byte) bool { return isWordOrDash(c) || strings.IndexByte("/:@.", c) >= 0 })
		list := strings.FieldsFunc(rest[:length], func(r rune) bool { return r == '/' })
		if len(list) < n || len(list[n-1]) < long || isMasked(list[n-1]) {
			return 0
		}
		return length
	}
}

// connectorPassword accepts what follows the user and password of a MySQL connector. They come before it.
func connectorPassword(rest string) int { return strings.IndexByte(rest, ')') + 1 }

// Find returns the first credential in a text that its form shows: a key or token of a known service, a private key,
// a password in a URL or connection string, a header or parameter of a request with its name.
func Find(text string) (m Match, found bool) { return find(text, 0) }

// FindAll returns all credentials in a text that their forms show.
func FindAll(text string) (all []Match) {
	for at := 0; ; {
		m, found := find(text, at)
		if !found {
			return all
		}
		all = append(all, m)
		at = m.End
	}
}

// FindIssued returns the credentials in a text that a known service has issued, and private keys: those that the text
// shows whatever is written around them.
func FindIssued(text string) []Match {
	return slices.DeleteFunc(FindAll(text), func(m Match) bool { return m.Name != "" || m.Noun == urlNoun })
}

const (
	urlNoun = "the password of a URL"

	maxLength = 1 << 10 // of what is read after a prefix, so that a text of prefixes takes no quadratic time
	pemNoun   = "a private key"
)

// find returns the first credential from a position on.
func find(text string, from int) (m Match, found bool) {
	for i := from; i < len(text); i++ {
		c := text[i]
		for _, f := range byFirst[c] {
			if !strings.HasPrefix(text[i:], f.prefix) || isAlnum(c) && i > 0 && isAlnum(text[i-1]) {
				continue
			}
			if c == '@' {
				if start, ok := userAndPassword(text, from, i); ok {
					return Match{start, i, f.noun, ""}, true
				}
				continue
			}
			rest := text[i+len(f.prefix):]
			if f.noun != pemNoun {
				rest = rest[:min(len(rest), maxLength)]
			}
			if n := f.length(rest); n > 0 {
				end := i + len(f.prefix) + n
				if n == maxLength {
					end += span(text[end:], isWordOrDash)
				}
				return Match{i, end, f.noun, ""}, true
			}
		}
		switch {
		case c == ':' && strings.HasPrefix(text[i:], "://"):
			if start, end := urlPassword(text, i+3); end > start {
				return Match{start, end, urlNoun, ""}, true
			}
		case c == '=':
			if m, found := assigned(text, from, i); found {
				return m, true
			}
		case c == 'B' || c == 'b':
			if m, found := headerValue(text, i); found {
				return m, true
			}
		case c == '\'' || c == '"':
			if m, found := identifiedBy(text, i); found {
				return m, true
			}
		}
	}
	return Match{}, false
}

// Redact returns a text with … in place of each credential that Find finds.
func Redact(text string) string {
	all := FindAll(text)
	if all == nil {
		return text
	}
	var b strings.Builder
	at := 0
	for _, m := range all {
		b.WriteString(text[at:m.Start])
		b.WriteString("…")
		at = m.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// urlPassword returns the place of the password of a URL, whose authority begins at a position. A placeholder is none.
func urlPassword(text string, at int) (start, end int) {
	authority := text[at:]
	authority = authority[:span(authority, func(c byte) bool { return strings.IndexByte("/?# \t\r\n\"'<>`", c) < 0 })]
	last := strings.LastIndexByte(authority, '@')
	if last < 0 {
		return 0, 0
	}
	user, password, has := strings.Cut(authority[:last], ":")
	if !has || password == "" || placeholder.MatchString(password) {
		return 0, 0
	}
	return at + len(user) + 1, at + last
}

const maxBefore = 256 // of what is read before a sign, for the same reason

// userAndPassword returns where the password before a position begins, as in user:password@tcp(host).
func userAndPassword(text string, from, at int) (start int, ok bool) {
	i, from := at, max(from, at-maxBefore)
	for i > from && !strings.ContainsRune(" \t\r\n\"'/", rune(text[i-1])) {
		i--
	}
	user, password, has := strings.Cut(text[i:at], ":")
	return i + len(user) + 1, has && password != "" && !placeholder.MatchString(password)
}

var (
	// connectionWords are the names of a connection string before its password.
	connectionWords = lazyregexp.New(`(?i)(?:^|[\s;"'])(?:host|hostaddr|server|data source|dbname|database|` +
		`initial catalog|user|username|uid|user id|port|endpoint|accountname|sharedaccesskeyname|` +
		`defaultendpointsprotocol|sslmode)\s?=\s?[^\s;]+[\s;]*$`)
)

// assigned returns the value after an equals sign, if it is that of a parameter of a URL, or of a word of a connection
// string, whose name is one of a credential.
func assigned(text string, from, at int) (m Match, found bool) {
	name, separator := nameBefore(text, from, at)
	if name == "" || !MayBeName(name) {
		return m, false
	}
	start := at + 1
	end := start + span(text[start:], func(c byte) bool { return !strings.ContainsRune("&; \t\r\n\"'`<>", rune(c)) })
	value := text[start:end]
	switch {
	case separator >= 0 && (text[separator] == '?' || text[separator] == '&'):
	case !isConnectionString(text[from : separator+1]):
		return m, false
	}
	return Match{start, end, "the value of " + name, name}, IsNamed(name, value)
}

// nameBefore returns the name before a position, and where the sign before the name is; -1 for none.
func nameBefore(text string, from, at int) (name string, separator int) {
	i := at
	for i > max(from, at-64) && (isWordOrDash(text[i-1]) || strings.IndexByte(".[] ", text[i-1]) >= 0) {
		i--
	}
	for separator = i - 1; i < at && text[i] == ' '; i++ {
		separator = i
	}
	name = strings.TrimSpace(text[i:at])
	if last := strings.LastIndexByte(name, ' '); last >= 0 {
		return name[last+1:], i + last
	}
	if separator >= from && strings.IndexByte("?&; \t\r\n\"'{", text[separator]) < 0 {
		return "", separator
	}
	return name, max(separator, from-1)
}

// isConnectionString reports whether a text ends with words of a connection string, each a name and a value.
func isConnectionString(text string) bool {
	return connectionWords.MatchString(text[max(0, len(text)-maxBefore):])
}

var (
	basicHeader  = lazyregexp.New(`(?i)^basic\s+([A-Za-z0-9+/]{6,}={0,2})`)
	bearerHeader = lazyregexp.New(`(?i)^bearer\s+([-\w.~+/]{16,}=*)`)
)

// headerValue returns the credential of an Authorization header whose scheme begins at a position.
func headerValue(text string, at int) (m Match, found bool) {
	if at > 0 && isWord(text[at-1]) || len(text)-at < len("basic x") {
		return m, false
	}
	switch head := strings.ToLower(text[at : at+6]); {
	case head == "bearer":
		g := bearerHeader.FindStringSubmatchIndex(text[at:])
		if g == nil || !LooksRandom(text[at+g[2]:at+g[3]]) {
			return m, false
		}
		return Match{at + g[2], at + g[3], "a bearer token", "Authorization"}, true
	case strings.HasPrefix(head, "basic"):
		g := basicHeader.FindStringSubmatchIndex(text[at:])
		if g == nil {
			return m, false
		}
		plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text[at+g[2]:at+g[3]], "="))
		_, password, has := strings.Cut(string(plain), ":")
		if err != nil || !utf8.Valid(plain) || !has || password == "" {
			return m, false
		}
		return Match{at + g[2], at + g[3], "a user name and a password", "Authorization"}, true
	}
	return m, false
}

var passwordBefore = lazyregexp.New(`(?i)\b(?:identified\s+(?:with\s+\S+\s+)?(?:by|as)|` +
	`(?:role|user|login|encrypted|with)\s+(?:\S+\s+)?password|pragma\s+(?:hex)?key\s*=)\s*$`)

// identifiedBy returns the password of a statement that sets one, whose quote is at a position.
func identifiedBy(text string, at int) (m Match, found bool) {
	before := strings.TrimRight(text[max(0, at-64):at], " \t\r\n")
	if before == "" || strings.IndexByte("yYsSdD=", before[len(before)-1]) < 0 || !passwordBefore.MatchString(before) {
		return m, false
	}
	end := strings.IndexByte(text[at+1:], text[at])
	if end <= 0 || placeholder.MatchString(text[at+1:at+1+end]) {
		return m, false
	}
	return Match{at + 1, at + 1 + end, "a password", "password"}, true
}
