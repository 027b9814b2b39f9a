package schema

import (
	"slices"
	"strings"
)

// MediaAllowed reports whether the declared and the sniffed type of a file both match the allowed
// types; an empty list allows all. A file with unrecognized content may declare an allowed type
// that is written in full, but not one that only a pattern with * allows.
func MediaAllowed(allowed []string, declared, sniffed string) bool {
	if len(allowed) == 0 {
		return true
	}
	declared, sniffed = bareMedia(declared), bareMedia(sniffed)
	if sniffed == noMedia {
		return slices.Contains(allowed, declared) && !slices.Contains(recognized, declared) && !isText(declared) ||
			mediaMatches(allowed, declared) && mediaMatches(allowed, noMedia)
	}
	return mediaMatches(allowed, declared) && (mediaMatches(allowed, sniffed) || sniffedMatches(declared, sniffed))
}

// MediaOverlap reports whether a file can match both lists of types; an empty list allows all.
func MediaOverlap(some, others []string) bool {
	return len(some) == 0 || len(others) == 0 || slices.ContainsFunc(some, func(kind string) bool {
		return mediaMatches(others, kind) || slices.ContainsFunc(others,
			func(other string) bool { return mediaMatches([]string{kind}, other) })
	})
}

func mediaMatches(patterns []string, kind string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		of, all := strings.CutSuffix(p, "*")
		return p == kind || all && strings.HasPrefix(kind, of)
	})
}

func bareMedia(kind string) string {
	kind, _, _ = strings.Cut(kind, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// noMedia is the sniffed type of bytes that are not recognized.
const noMedia = "application/octet-stream"

// recognized are the types whose first bytes identify them: a file that declares one of them must
// have these bytes.
var recognized = []string{
	"application/pdf", "application/postscript", "application/zip", "application/x-gzip", "application/gzip",
	"application/x-rar-compressed", "application/vnd.ms-fontobject", "application/wasm",
	"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/x-icon", "audio/mpeg", "audio/wave",
	"audio/aiff", "audio/basic", "audio/midi", "application/ogg", "video/avi", "video/webm", "video/mp4",
	"font/ttf", "font/otf", "font/woff", "font/woff2", "font/collection",
}

// sniffedMatches reports whether bytes sniffed as one type can be of another type with the same
// first bytes.
func sniffedMatches(declared, sniffed string) bool {
	switch sniffed {
	case declared:
		return true
	case "application/zip":
		return strings.HasPrefix(declared, "application/vnd.openxmlformats-officedocument.") ||
			strings.HasPrefix(declared, "application/vnd.oasis.opendocument.") ||
			strings.HasSuffix(declared, "+zip") || declared == "application/java-archive"
	case "application/x-gzip":
		return declared == "application/gzip" || strings.HasSuffix(declared, "+gzip")
	case "audio/wave":
		return declared == "audio/wav" || declared == "audio/x-wav"
	case "application/ogg":
		return declared == "audio/ogg" || declared == "video/ogg"
	case "text/xml":
		return declared == "application/xml" || strings.HasSuffix(declared, "+xml")
	case "text/plain":
		return isText(declared) && declared != "text/html"
	}
	return false
}

func isText(kind string) bool {
	switch kind {
	case "application/json", "application/x-ndjson", "application/yaml", "application/toml", "application/sql",
		"application/javascript", "application/rtf", "application/xml", "message/rfc822":
		return true
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") ||
		strings.HasSuffix(kind, "+yaml")
}
