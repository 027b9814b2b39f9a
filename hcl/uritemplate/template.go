// Package uritemplate matches URIs against templates of RFC 6570. Parse parses a template, and
// Template.Match returns the variables of a URI. Both take time proportional to the length of their
// input.
package uritemplate

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"hatchel/internal/lazyregexp"
)

// Limits of URIs and templates, which bound the time of a match.
const (
	maxURI          = 2 << 10 // bytes
	maxTemplateSize = 512     // bytes
	maxVariables    = 16
)

// Template is a URI template of RFC 6570 with the expressions {x}, {+x}, {/x,y}, and {?x,y} or
// {&x,y} at the end. Each variable is one string. If several matches are possible, earlier
// variables take as much as they can.
type Template struct {
	raw       string
	prefix    string         // the constant beginning of every URI
	whole     *regexp.Regexp // with a named group for each path variable, and an unnamed one for a query
	variables []Variable
}

// Variable is a variable of a template. An optional variable may be missing from a URI.
type Variable struct {
	Name     string
	Optional bool
}

// Raw returns the template as written.
func (t *Template) Raw() string { return t.raw }

// Prefix returns the constant beginning of every URI.
func (t *Template) Prefix() string { return t.prefix }

// Variables returns the variables in written order.
func (t *Template) Variables() []Variable { return t.variables }

// Match returns the decoded variables of a URI, or false if the URI does not match. It rejects URIs
// of more than 2 KiB. Query parameters may come in any order.
func (t *Template) Match(uri string) (map[string]string, bool) {
	if len(uri) > maxURI || !strings.HasPrefix(uri, t.prefix) || !utf8.ValidString(uri) {
		return nil, false
	}
	found := t.whole.FindStringSubmatchIndex(uri)
	if found == nil {
		return nil, false
	}
	values := make(map[string]string, len(t.variables))
	for i, name := range t.whole.SubexpNames() {
		from, to := found[2*i], found[2*i+1]
		if i == 0 || from < 0 {
			continue
		}
		if name != "" {
			if !decodeInto(values, name, uri[from:to]) {
				return nil, false
			}
			continue
		}
		for pair := range strings.SplitSeq(uri[from:to], "&") {
			if name, text, there := strings.Cut(pair, "="); there && !decodeInto(values, name, text) {
				return nil, false
			}
		}
	}
	return values, true
}

// expression matches an expression of a template: its operator, and its names.
var expression = lazyregexp.New(`\{([+/?&]?)([^}]*)\}`)

// Expand returns the URI with these variables. One without a value is left out.
func (t *Template) Expand(values map[string]string) string {
	return expression.ReplaceAllStringFunc(t.raw, func(text string) string {
		parts := expression.FindStringSubmatch(text)
		var out strings.Builder
		separator := parts[1]
		for name := range strings.SplitSeq(parts[2], ",") {
			value, given := values[name]
			switch {
			case !given:
				continue
			case separator == "+":
				out.WriteString(escape(value, reserved))
			case separator == "?" || separator == "&":
				out.WriteString(separator + name + "=" + escape(value, ""))
				separator = "&"
			default:
				out.WriteString(separator + escape(value, ""))
			}
		}
		return out.String()
	})
}

const (
	unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	reserved   = ":/?#[]@!$&'()*+,;="
)

// escape returns a value as a part of a URI, in which the unreserved characters and the kept ones are as they are.
func escape(value, kept string) string {
	var out strings.Builder
	for i := range len(value) {
		if c := value[i]; strings.IndexByte(unreserved, c) >= 0 || strings.IndexByte(kept, c) >= 0 {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}

// decodeInto adds a decoded value. It fails for a repeated name and for invalid UTF-8.
func decodeInto(values map[string]string, name, escaped string) bool {
	text, err := url.PathUnescape(escaped)
	if _, twice := values[name]; twice || err != nil || !utf8.ValidString(text) {
		return false
	}
	values[name] = text
	return true
}

// Characters of values in a URI: unreserved characters, those that encodeURIComponent keeps,
// characters of other scripts, and escapes. {+x} also takes reserved characters; a query after it
// begins at the first question mark.
const (
	plainValue    = `(?:[A-Za-z0-9\-._~!*'()\x{80}-\x{10FFFF}]|%[0-9A-Fa-f]{2})`
	reservedValue = `(?:[A-Za-z0-9\-._~!*'()\x{80}-\x{10FFFF}:/?#\[\]@$&+,;=]|%[0-9A-Fa-f]{2})`
	pathValue     = `(?:[A-Za-z0-9\-._~!*'()\x{80}-\x{10FFFF}:/\[\]@$+,;=]|%[0-9A-Fa-f]{2})`
)

var (
	pathExpression  = lazyregexp.New(`\{[^?&}][^}]*\}`)
	expressionNames = lazyregexp.New(`[A-Za-z0-9_]+`)
)

// Form returns the template without the names of path variables: templates with equal forms match
// the same URIs.
func (t *Template) Form() string {
	return pathExpression.ReplaceAllStringFunc(t.raw, func(expression string) string {
		return expressionNames.ReplaceAllString(expression, "x")
	})
}

var (
	scheme  = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]*:`)
	uriPart = lazyregexp.New(`(?s)^(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*(.?)`)
)

// invalidURIChar returns the first character that is not allowed in a URI, or "".
func invalidURIChar(text string) string {
	return uriPart.FindStringSubmatch(text)[1]
}

// CheckURI checks the URI of a resource. Its error is for the author.
func CheckURI(uri string) error {
	bad := invalidURIChar(uri)
	switch {
	case strings.ContainsAny(uri, "{}"):
		return fmt.Errorf("the URI of a single resource has no braces. For a family write uri_template = %q", uri)
	case !scheme.MatchString(uri):
		return MissingScheme(uri)
	case scheme.FindString(uri) == uri:
		return fmt.Errorf("a URI needs more than its scheme, as in \"%s//app\"", uri)
	case len(uri) > maxURI:
		return fmt.Errorf("the maximum length of a URI is %d bytes, and this one has %d", maxURI, len(uri))
	case bad == "%":
		return fmt.Errorf("a literal %% is written %%25")
	case bad != "":
		return fmt.Errorf("%q is not allowed in a URI: write it as %s", bad, url.PathEscape(bad))
	}
	return nil
}

// MissingScheme returns the error for a URI without a scheme.
func MissingScheme(uri string) error {
	if invalidURIChar(strings.NewReplacer("{", "", "}", "").Replace(uri)) != "" {
		uri = "app"
	}
	return fmt.Errorf("a URI begins with a scheme, as in \"config://%s\"", strings.TrimLeft(uri, ":/"))
}

// HasScheme reports whether a text begins with a URI scheme.
func HasScheme(text string) bool { return scheme.MatchString(text) }
