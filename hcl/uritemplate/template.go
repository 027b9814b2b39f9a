// Package uritemplate matches URIs with the templates of RFC 6570 that can be matched: Parse reads a template, and Template.Match gives the texts of the variables of a URI.
// Both take time in proportion to the length of what they read.
package uritemplate

import (
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Limits of URIs and of templates, so that matching one with the other takes little time whoever wrote the URI.
const (
	maxURI          = 2 << 10 // bytes
	maxTemplateSize = 512     // bytes
	maxVariables    = 16
)

// Template is a family of URIs, as RFC 6570 writes it: {x}, {+x}, {/x,y}, and {?x,y} or {&x,y} at the end. Each variable is one text. A URI of the family
// says what its variables are: where several readings are possible, an earlier variable takes as much as it can.
type Template struct {
	raw       string
	prefix    string // what every URI of the family begins with
	whole     *regexp.Regexp
	names     []string // of the groups of whole
	query     bool     // the last group is the query
	variables []Variable
}

// Variable is a variable of a template. Optional ones may be missing from a URI.
type Variable struct {
	Name     string
	Optional bool
}

// Raw is the template as it was written.
func (t *Template) Raw() string { return t.raw }

// Prefix is what every URI of the family begins with.
func (t *Template) Prefix() string { return t.prefix }

// Variables are the variables in written order.
func (t *Template) Variables() []Variable { return t.variables }

// Match gives the decoded texts of the variables of a URI of the family; false for any other URI. It takes time in proportion to the length of the URI, and
// refuses one of more than 2 KiB. Parameters of the query may come in any order.
func (t *Template) Match(uri string) (map[string]string, bool) {
	if len(uri) > maxURI || !strings.HasPrefix(uri, t.prefix) || !utf8.ValidString(uri) {
		return nil, false
	}
	found := t.whole.FindStringSubmatchIndex(uri)
	if found == nil {
		return nil, false
	}
	values := make(map[string]string, len(t.variables))
	for i, name := range t.names {
		from, to := found[2*i+2], found[2*i+3]
		if from >= 0 && !decodeInto(values, name, uri[from:to]) {
			return nil, false
		}
	}
	if last := len(found) - 2; t.query && found[last] >= 0 {
		for pair := range strings.SplitSeq(uri[found[last]:found[last+1]], "&") {
			if name, text, there := strings.Cut(pair, "="); there && !decodeInto(values, name, text) {
				return nil, false
			}
		}
	}
	return values, true
}

// decodeInto adds a value, unless it is there already or is not a text.
func decodeInto(values map[string]string, name, escaped string) bool {
	text, err := url.PathUnescape(escaped)
	if _, twice := values[name]; twice || err != nil || !utf8.ValidString(text) {
		return false
	}
	values[name] = text
	return true
}

// What values may hold in a URI: unreserved characters, those that encodeURIComponent leaves alone, those of other scripts, and escapes; {+x} also takes what is
// reserved, but the query, where there is one behind it, begins at the first question mark.
const (
	plainValue    = `(?:[A-Za-z0-9\-._~!*'()\x{80}-\x{10FFFF}]|%[0-9A-Fa-f]{2})`
	reservedValue = `(?:[A-Za-z0-9\-._~!*'()\x{80}-\x{10FFFF}:/?#\[\]@$&+,;=]|%[0-9A-Fa-f]{2})`
	pathValue     = `(?:[A-Za-z0-9\-._~!*'()\x{80}-\x{10FFFF}:/\[\]@$+,;=]|%[0-9A-Fa-f]{2})`
)

var expressionNames = regexp.MustCompile(`[A-Za-z0-9_]+`)

// Form is the template without the names of its path: templates of one form are of the same URIs.
func (t *Template) Form() string {
	var out strings.Builder
	for rest := t.Raw(); rest != ""; {
		literal, after, _ := strings.Cut(rest, "{")
		inside, behind, _ := strings.Cut(after, "}")
		out.WriteString(literal)
		if inside != "" && !strings.ContainsAny(inside[:1], "?&") {
			inside = expressionNames.ReplaceAllString(inside, "x")
		}
		if inside != "" {
			out.WriteString("{" + inside + "}")
		}
		rest = behind
	}
	return out.String()
}
