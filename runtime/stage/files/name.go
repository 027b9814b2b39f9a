package files

import (
	"maps"
	"mime"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"hatchel/internal/cut"
	"hatchel/internal/printable"
)

const (
	defaultName   = "file"
	maxNameLength = 255 // bytes of a name, and of a media type
)

// CleanName returns a file name that is safe to show and to pass on: the last element of a path, in
// valid UTF-8 without control and formatting characters, not hidden, and of at most 255 bytes. The
// result must not be used as a path.
func CleanName(name string) string {
	name = strings.ToValidUTF8(name, "_")
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == utf8.RuneError, printable.IsHidden(r):
			return -1
		case strings.ContainsRune(`:*?"<>|`, r):
			return '_'
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, name)
	name = strings.TrimLeft(strings.TrimSpace(name), ". -~")
	name = truncateName(strings.TrimRight(name, ". "))
	if name == "" {
		return defaultName
	}
	return name
}

// truncateName shortens a long name and keeps its extension.
func truncateName(name string) string {
	if len(name) <= maxNameLength {
		return name
	}
	ext := ""
	if i := strings.LastIndexByte(name, '.'); i > 0 && len(name)-i <= 16 {
		ext = name[i:]
	}
	return strings.TrimRight(name[:cut.Before(name, maxNameLength-len(ext))], ". ") + ext
}

// extension returns the extension of a name if it is safe in a path: at most eight letters and digits.
func extension(name string) string {
	ext := strings.ToLower(path.Ext(name))
	if len(ext) < 2 || len(ext) > 9 || strings.Trim(ext[1:], "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return ""
	}
	return ext
}

const defaultType = "application/octet-stream"

// CleanType returns a media type that is safe to pass on, without parameters other than charset. For
// anything else than a media type it returns "application/octet-stream".
func CleanType(text string) string {
	kind, params, err := mime.ParseMediaType(text)
	if err != nil || !strings.Contains(kind, "/") || strings.Contains(kind, "*") {
		return defaultType
	}
	maps.DeleteFunc(params, func(name, _ string) bool { return name != "charset" })
	if out := mime.FormatMediaType(kind, params); out != "" && len(out) <= maxNameLength {
		return out
	}
	return defaultType
}
