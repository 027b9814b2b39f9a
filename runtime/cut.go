package runtime

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"hatchel/hcl"
)

const defaultMaxText = 64 << 10

// maxText is how many bytes of a text a model receives.
func (r *routine) maxText() int {
	if r.decl.MaxText > 0 {
		return int(r.decl.MaxText)
	}
	return defaultMaxText
}

// narrowing is a sentence that says how to get less of an answer.
func narrowing(noun string, w *hcl.Work) string {
	var names []string
	for _, m := range w.Input.Members {
		names = append(names, "`"+m.Name+"`")
	}
	switch {
	case len(names) == 0:
		return "This " + noun + " has no arguments that would give less."
	case len(names) > 8:
		names = append(names[:8], "…")
	}
	return "Ask for less with other values of " + strings.Join(names, ", ") + "."
}

// cut shortens a text to at most limit bytes, including the sentence that says so, at the end of a line, a value or at least a character.
func cut(text []byte, limit int, narrow string) []byte {
	if len(text) <= limit {
		return text
	}
	note := "\n[Cut here: " + hcl.Size(limit).String() + " of " + hcl.Size(len(text)).String() + " are shown."
	if narrow != "" {
		note += " " + narrow
	}
	note += "]"
	at := boundary(text, max(limit-len(note), 0))
	return append(text[:at], note...)
}

// boundary is the best place to cut at or before most: after a line, else after a comma or a space, unless that would lose more than a quarter, else
// between two characters.
func boundary(text []byte, most int) int {
	least := most - most/4
	head := text[:most]
	if i := bytes.LastIndexByte(head, '\n'); i >= least {
		return i
	}
	if i := bytes.LastIndexAny(head, ", "); i >= least {
		return i + 1
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return most
}
