package adapters

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"hatchel/internal/charset"
	"hatchel/internal/cut"
	"hatchel/internal/lazyregexp"
)

// StatusText returns a status of HTTP in a message, such as 404 Not Found.
func StatusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}

// MaxExcerptBytes is how much is read of a response that is quoted.
const MaxExcerptBytes = 8 << 10

const maxExcerpt = 300 // characters

var (
	invisibleHTML = lazyregexp.New(`(?is)<(script|style|head)\b.*?</(script|style|head)>|<!--.*?-->`)
	htmlTag       = lazyregexp.New(`<[^>]*>`)
)

// Excerpt returns the part of a response that a message quotes: one line of printable text without the
// secrets of the request. It is empty for binary content.
func Excerpt(body []byte, contentType string, secrets []string) string {
	kind, _, _ := mime.ParseMediaType(contentType)
	family, _, _ := strings.Cut(kind, "/")
	if slices.Contains([]string{"image", "audio", "video"}, family) ||
		kind == "application/octet-stream" || kind == "application/pdf" {
		return ""
	}
	isCut := len(body) == MaxExcerptBytes
	declared, _ := charset.Find(charset.OfContentType(contentType))
	if e, size := charset.Detect(body, declared); e != nil || size > 0 {
		text, _, _ := charset.ShowHead(body, declared)
		body = []byte(text)
	}
	if isCut {
		body = SanitizeHead(body, secrets)
	}
	text := Scrub(string(body), secrets) // before tags are removed, which could be part of a secret
	if kind == "text/html" {
		text = htmlTag.ReplaceAllString(invisibleHTML.ReplaceAllString(text, " "), " ")
	}
	return cut.Runes(Sanitize(text, secrets), maxExcerpt)
}
