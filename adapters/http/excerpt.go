package http

import (
	"mime"
	"regexp"
	"strings"

	"hatchel/adapters"
)

const (
	excerptRead  = 8 << 10 // bytes of a refused answer that are looked at
	excerptRunes = 300
)

var (
	unseen = regexp.MustCompile(`(?is)<(script|style|head)\b.*?</(script|style|head)>|<!--.*?-->`)
	tags   = regexp.MustCompile(`<[^>]*>`)
)

// excerpt is the part of a refused answer that a model is shown: short, one line, printable, without the secrets of the request.
func excerpt(body []byte, contentType string, secrets []string) string {
	kind, _, _ := mime.ParseMediaType(contentType)
	switch {
	case strings.HasPrefix(kind, "image/"), strings.HasPrefix(kind, "audio/"), strings.HasPrefix(kind, "video/"), kind == "application/octet-stream", kind == "application/pdf":
		return ""
	}
	if len(body) == excerptRead {
		body = adapters.Begun(body, secrets)
	}
	text := adapters.Scrub(string(body), secrets) // before a tag in one can fall out of it
	if kind == "text/html" {
		text = tags.ReplaceAllString(unseen.ReplaceAllString(text, " "), " ")
	}
	return adapters.Head(adapters.Said(text, secrets), excerptRunes)
}
