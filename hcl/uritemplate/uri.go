package uritemplate

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

var (
	scheme  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)
	uriPart = regexp.MustCompile(`(?s)^(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*(.?)`)
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
