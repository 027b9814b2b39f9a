package files

import (
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"
)

// unnamed is what a file is called that nobody has named.
const unnamed = "file"

// longestName is how many bytes of a name are kept.
const longestName = 255

// CleanName is a filename as it may be shown and sent on: the last part of a path, valid UTF-8 without characters that control or reorder what is around them, not hidden, and of bounded
// length. It is never used as a path.
func CleanName(name string) string {
	name = strings.ToValidUTF8(name, "_")
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs), r == utf8.RuneError:
			return -1
		case strings.ContainsRune(`:*?"<>|`, r):
			return '_'
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, name)
	name = strings.TrimLeft(strings.TrimSpace(name), ". -~")
	name = clipName(strings.TrimRight(name, ". "))
	if name == "" {
		return unnamed
	}
	return name
}

// clipName shortens a name and keeps its extension.
func clipName(name string) string {
	if len(name) <= longestName {
		return name
	}
	ext := ""
	if i := strings.LastIndexByte(name, '.'); i > 0 && len(name)-i <= 16 {
		ext = name[i:]
	}
	stem := name[:longestName-len(ext)]
	for len(stem) > 0 && !utf8.ValidString(stem) {
		stem = stem[:len(stem)-1]
	}
	return strings.TrimRight(stem, ". ") + ext
}

// extension is the extension of a name as far as it is harmless in a path: letters and digits, at most eight.
func extension(name string) string {
	i := strings.LastIndexByte(name, '.')
	if i < 0 || len(name)-i > 9 || len(name)-i < 2 {
		return ""
	}
	ext := strings.ToLower(name[i+1:])
	if strings.Trim(ext, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return ""
	}
	return "." + ext
}

// noType is what bytes are of which nobody says more.
const noType = "application/octet-stream"

// CleanType is a media type as it may be sent on, or noType for what is none.
func CleanType(text string) string {
	kind, params, err := mime.ParseMediaType(text)
	if err != nil || !strings.Contains(kind, "/") || strings.Contains(kind, "*") {
		return noType
	}
	if charset, ok := params["charset"]; ok {
		params = map[string]string{"charset": charset}
	} else {
		params = nil
	}
	if out := mime.FormatMediaType(kind, params); out != "" && len(out) <= longestName {
		return out
	}
	return noType
}
