// Package redirect decides which redirect addresses an OAuth client may have, and compares them. A redirect address
// carries a code to a program, so the rules are stricter than those of URLs: what two programs may read differently is
// refused, and addresses are compared as texts (RFC 9700, section 4.1.3).
package redirect

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hatchel/internal/hostname"
)

// maxLength is the largest accepted redirect address in bytes.
const maxLength = 2048

// Loopback is the entry of a list of allowed addresses that covers all addresses on the person's computer.
const Loopback = "loopback"

// Address is a redirect address in its parts.
type Address struct {
	Scheme string // in lower case
	Host   string // of a URL with http or https in the form of hostname.Parse; of a private scheme as it is written
	Port   string // empty when it is not written
	Rest   string // path and query, as they are written
}

// Parse returns the parts of an address that a client may have. The problem of another text is a clause that does not
// quote it, such as "it has a fragment"; it is empty for such an address.
func Parse(text string) (a Address, problem string) {
	if len(text) > maxLength {
		return a, fmt.Sprintf("it has more than %d bytes", maxLength)
	}
	if problem = checkCharacters(text); problem != "" {
		return a, problem
	}
	scheme, after, found := strings.Cut(text, ":")
	if !found || !isScheme(strings.ToLower(scheme)) {
		return a, "it does not begin with a scheme, such as https://"
	}
	if slices.Contains(refusedSchemes, strings.ToLower(scheme)) {
		return a, "its scheme is not one that a program can be called back by"
	}
	if scheme != strings.ToLower(scheme) {
		return a, "its scheme is not in lower case"
	}
	after, found = strings.CutPrefix(after, "//")
	if !found {
		return a, "it has no host"
	}
	end := strings.IndexAny(after, "/?")
	if end < 0 {
		end = len(after)
	}
	a = Address{Scheme: scheme, Rest: after[end:]}
	if a.Host, a.Port, problem = parseAuthority(scheme, after[:end]); problem != "" {
		return a, problem
	}
	if scheme == "http" && !a.IsLoopback() {
		return a, "http is accepted for 127.0.0.1, [::1] and localhost only"
	}
	path, query, _ := strings.Cut(a.Rest, "?")
	if problem = checkPath(path); problem == "" {
		problem = checkQuery(query)
	}
	return a, problem
}

// Check returns what is wrong with an address that a client has, as Parse does.
func Check(text string) (problem string) {
	_, problem = Parse(text)
	return problem
}

// IsLoopback reports whether an address leads to a program on the computer of the person (RFC 8252, section 7.3).
func (a Address) IsLoopback() bool {
	return a.Scheme == "http" && slices.Contains(loopbackHosts, a.Host)
}

// IsPrivate reports whether the scheme belongs to a program, which is neither http nor https.
func (a Address) IsPrivate() bool { return a.Scheme != "http" && a.Scheme != "https" }

// Matches reports whether an address of a request is a registered one: the same text or, of two loopback addresses, one
// that differs in its port alone.
func Matches(registered, asked string) bool {
	a, problem := Parse(asked)
	if problem != "" {
		return false
	}
	if registered == asked {
		return true
	}
	r, problem := Parse(registered)
	return problem == "" && r.IsLoopback() && a.IsLoopback() && r.Host == a.Host && r.Rest == a.Rest
}

// CheckAllowed returns what is wrong with an entry of a list of allowed addresses: "loopback", the origin of a web site
// or the scheme and host of a program, which cover all addresses below them, or one whole address. It is a clause as
// that of Parse.
func CheckAllowed(entry string) (problem string) {
	if entry == Loopback {
		return ""
	}
	return Check(entry)
}

// Allows reports whether an entry that CheckAllowed accepts covers an address.
func Allows(entry, asked string) bool {
	a, problem := Parse(asked)
	if problem != "" {
		return false
	}
	if entry == Loopback {
		return a.IsLoopback()
	}
	e, problem := Parse(entry)
	switch {
	case problem != "":
		return false
	case e.Rest == "":
		return e.Scheme == a.Scheme && e.Host == a.Host && (e.Port == a.Port || a.IsLoopback())
	}
	return Matches(entry, asked)
}

var loopbackHosts = []string{"127.0.0.1", "::1", "localhost"}

// refusedSchemes are those by which browsers run or show what an address contains, open files or other programs of
// the system, or which reach no program that waits for a code.
var refusedSchemes = []string{
	"about", "android-app", "blob", "chrome", "content", "data", "file", "filesystem", "ftp", "intent", "jar",
	"javascript", "livescript", "mailto", "mhtml", "ms-appinstaller", "ms-msdt", "resource", "search-ms", "sms", "ssh",
	"tel", "vbscript", "view-source", "ws", "wss",
}

// isScheme reports whether a text in lower case has the form of a scheme (RFC 3986, section 3.1).
func isScheme(text string) bool {
	for i := range len(text) {
		c := text[i]
		isLetter, isOther := 'a' <= c && c <= 'z', '0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'
		if !isLetter && (i == 0 || !isOther) {
			return false
		}
	}
	return text != ""
}

// checkCharacters refuses what a URL in ASCII does not have (RFC 3986, section 2), and an asterisk, which looks like a
// pattern.
func checkCharacters(text string) (problem string) {
	for i := range len(text) {
		switch c := text[i]; {
		case c <= ' ' || c == 0x7f:
			return "it has a space or a control character"
		case c >= utf8.RuneSelf:
			return "it has characters that are not ASCII; a host is written with xn--, and a path with percent-encoding"
		case c == '#':
			return "it has a fragment"
		case c == '\\':
			return "it has a backslash"
		case c == '*':
			return "it has an asterisk; a redirect address is no pattern"
		case strings.IndexByte("\"<>^`{|}", c) >= 0:
			return fmt.Sprintf("it has the character %q, which must be percent-encoded", c)
		}
	}
	return ""
}

// parseAuthority returns host and port. Only the form is accepted in which a host is compared, so that equal hosts are
// equal texts.
func parseAuthority(scheme, text string) (host, port, problem string) {
	if strings.Contains(text, "@") {
		return "", "", "it has a user name or password"
	}
	written := text
	if at := strings.LastIndexByte(text, ':'); at >= 0 && !strings.HasSuffix(text, "]") {
		written, port = text[:at], text[at+1:]
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return "", "", "its port is not a number from 1 to 65535"
		}
	}
	if written == "" {
		return "", "", "it has no host"
	}
	host, ok := hostname.Parse(written)
	canonical := host
	if strings.Contains(host, ":") {
		canonical = "[" + host + "]"
	}
	switch {
	case !ok:
		return "", "", "its host is neither a name nor an address"
	case canonical != written:
		return "", "", "its host is not written as " + canonical
	case port != "" && scheme != "http" && scheme != "https":
		return "", "", "it has a port, which only http and https have"
	}
	return host, port, ""
}

// lookalikes replaces what some programs read as a dot or a slash.
var lookalikes = strings.NewReplacer(
	"\uFF0E", ".", "\u2024", ".", "\uFE52", ".", "\uFF0F", "/", "\u2044", "/", "\u2215", "/",
	"\uFF3C", `\`, "\u2216", `\`, "\uFE68", `\`,
)

// checkPath refuses paths that programs may read as other ones, however often they are decoded.
func checkPath(path string) (problem string) {
	decoded, err := url.PathUnescape(path)
	if err != nil {
		return "its path has an invalid percent-encoding"
	}
	for {
		switch {
		case !utf8.ValidString(decoded):
			return "its path is not UTF-8"
		case strings.ContainsFunc(decoded, isControl):
			return "its path has an encoded control character"
		case strings.Contains(lookalikes.Replace(decoded), `\`):
			return "its path has an encoded backslash"
		case hasDotSegment(lookalikes.Replace(decoded)):
			return "its path has a segment . or .."
		}
		again, err := url.PathUnescape(decoded)
		if err != nil || again == decoded {
			return ""
		}
		decoded = again
	}
}

func isControl(c rune) bool { return c < ' ' || 0x7f <= c && c < 0xa0 }

// hasDotSegment reports whether a path has a segment that means this or the folder above. Some servers ignore what
// follows a semicolon.
func hasDotSegment(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		segment, _, _ = strings.Cut(segment, ";")
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// answered are the parameters that a response adds to the address (RFC 6749, section 4.1.2; RFC 9207).
var answered = []string{"code", "error", "error_description", "error_uri", "iss", "state"}

// checkQuery refuses queries with a parameter that the response has: programs read the first or the last of two.
func checkQuery(query string) (problem string) {
	for pair := range strings.FieldsFuncSeq(query, func(c rune) bool { return c == '&' || c == ';' }) {
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		value, err2 := url.QueryUnescape(value)
		switch {
		case err != nil || err2 != nil:
			return "its query has an invalid percent-encoding"
		case strings.ContainsFunc(name+value, isControl):
			return "its query has an encoded control character"
		case slices.Contains(answered, strings.ToLower(name)):
			return "its query has the parameter " + strings.ToLower(name) + ", which the response has"
		}
	}
	return ""
}
