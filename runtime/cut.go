package runtime

import (
	"bytes"
	"slices"
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

// shortened is a text as a model receives it: not too much of it. Of one that was written as things happened the end is kept, too, because what went wrong stands there.
func (r *routine) shortened(text []byte, narrow string) []byte {
	limit := r.maxText()
	switch {
	case len(text) <= limit:
		return text
	case r.logs():
		return cutWithin(text, limit, narrow)
	}
	return cut(text, limit, narrow)
}

// logs reports whether texts of the routine may be written as things happen, by it or by a tool that its steps call.
func (r *routine) logs() bool {
	return slices.ContainsFunc(r.stages, func(s *stage) bool {
		called, ok := s.action.(*toolCall)
		return s.step.Backend.Facts.Log || ok && called.target.logs()
	})
}

// cut shortens a text to at most limit bytes, including the sentence that says so, at the end of a line, a value or at least a character. The memory of the text is used.
func cut(text []byte, limit int, narrow string) []byte {
	if len(text) <= limit {
		return text
	}
	note := "\n" + cutNote(limit, len(text), "", narrow)
	at := boundary(text, max(limit-len(note), 0))
	return append(text[:at], note...)
}

// cutWithin is cut that leaves something out between the beginning and the end, half of each.
func cutWithin(text []byte, limit int, narrow string) []byte {
	if len(text) <= limit {
		return text
	}
	note := "\n" + cutNote(limit, len(text), ", the beginning and the end", narrow) + "\n"
	room := max(limit-len(note), 0)
	at, rest := boundary(text, room/2), text[onward(text, len(text)-room/2):]
	return append(append(text[:at], note...), rest...) // the note is shorter than what is left out
}

func cutNote(limit, size int, which, narrow string) string {
	note := "[Cut here: " + hcl.Size(limit).String() + " of " + hcl.Size(size).String() + " are shown" + which + "."
	if narrow != "" {
		note += " " + narrow
	}
	return note + "]"
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

// onward is the best place to go on at or behind least, by the same rules as boundary.
func onward(text []byte, least int) int {
	if least >= len(text) {
		return len(text)
	}
	head := text[least-1 : least+(len(text)-least)/4]
	if i := bytes.IndexByte(head, '\n'); i >= 0 {
		return least + i
	}
	if i := bytes.IndexAny(head, ", "); i >= 0 {
		return least + i
	}
	for least < len(text) && !utf8.RuneStart(text[least]) {
		least++
	}
	return least
}
