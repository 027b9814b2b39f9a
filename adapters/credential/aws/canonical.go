package aws

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"hatchel/adapters"
)

// pathRules are how a service reads the path of a request for its signature.
type pathRules struct {
	// signedAsSent is that of S3: the escaped path is signed as it is. Other services escape it once more.
	signedAsSent bool
	// normalized is that of all others: a path has no redundant slashes and no dot segments.
	normalized bool
}

// canonicalizeURL gives a URL the one form that all readings of the specification sign equally, and that means the
// same to services: all bytes but unreserved ones are escaped in the path and the query, and the host has no default
// port. The order of parameters stays.
func canonicalizeURL(u *url.URL, rules pathRules) error {
	if strings.IndexFunc(u.Host, func(r rune) bool { return r > '~' }) >= 0 {
		return &adapters.Fault{Message: "the request cannot be signed: its host is not written in ASCII", NotSent: true}
	}
	if port := u.Port(); port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	u.Host = strings.TrimSuffix(u.Host, ":")
	escaped := canonicalPath(u.EscapedPath(), rules)
	decoded, err := url.PathUnescape(escaped)
	if err != nil {
		return err // not reached: what was escaped here can be decoded
	}
	if rules.signedAsSent && hasDots(decoded) {
		const message = "the request cannot be signed: its path has a segment . or .., which some services resolve"
		return &adapters.Fault{Message: message, NotSent: true}
	}
	u.Path, u.RawPath, u.RawQuery = decoded, escaped, canonicalQuery(u.RawQuery)
	return nil
}

func hasDots(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(s string) bool { return s == "." || s == ".." })
}

// canonicalPath returns an escaped path in its canonical form. S3 signs an escaped slash like a slash, which ends a
// segment of a key too, and so it is sent as one.
func canonicalPath(escaped string, rules pathRules) string {
	segments := strings.Split(escaped, "/")
	for i, segment := range segments {
		decoded, err := url.PathUnescape(segment)
		if err != nil { // not reached: net/url has escaped it
			decoded = segment
		}
		segments[i] = escape(decoded)
		if rules.signedAsSent {
			segments[i] = strings.ReplaceAll(segments[i], "%2F", "/")
		}
	}
	out := strings.Join(segments, "/")
	if !rules.normalized || out == "" {
		return out
	}
	clean := path.Clean(out)
	last := segments[len(segments)-1]
	if (last == "" || last == "." || last == "..") && clean != "/" {
		clean += "/"
	}
	return clean
}

// canonicalQuery returns a query in its canonical form, but for the order of its parameters. What is not valid in a
// query is taken as it is written.
func canonicalQuery(raw string) string {
	var out strings.Builder
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		if out.Len() > 0 {
			out.WriteByte('&')
		}
		name, value, _ := strings.Cut(part, "=")
		out.WriteString(escape(unescapeQuery(name)) + "=" + escape(unescapeQuery(value)))
	}
	return out.String()
}

func unescapeQuery(s string) string {
	if decoded, err := url.QueryUnescape(s); err == nil {
		return decoded
	}
	return s
}

// escape escapes all bytes but unreserved ones (RFC 3986).
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
