package http

import (
	"mime"
	"regexp"
	"slices"
	"strings"

	"hatchel/adapters"
)

const (
	maxExcerptBytes = 8 << 10 // read of a response that is quoted
	maxExcerpt      = 300     // characters
)

var (
	invisibleHTML = regexp.MustCompile(`(?is)<(script|style|head)\b.*?</(script|style|head)>|<!--.*?-->`)
	htmlTag       = regexp.MustCompile(`<[^>]*>`)
)

// excerpt returns the part of a response that a message quotes: one line of printable text without the
// secrets of the request. It is empty for binary content.
func excerpt(body []byte, contentType string, secrets []string) string {
	kind, _, _ := mime.ParseMediaType(contentType)
	family, _, _ := strings.Cut(kind, "/")
	if slices.Contains([]string{"image", "audio", "video"}, family) ||
		kind == "application/octet-stream" || kind == "application/pdf" {
		return ""
	}
	if len(body) == maxExcerptBytes {
		body = adapters.SanitizeHead(body, secrets)
	}
	text := adapters.Scrub(string(body), secrets) // before tags are removed, which could be part of a secret
	if kind == "text/html" {
		text = htmlTag.ReplaceAllString(invisibleHTML.ReplaceAllString(text, " "), " ")
	}
	return adapters.FirstRunes(adapters.Sanitize(text, secrets), maxExcerpt)
}
