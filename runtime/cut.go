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
func (r *operation) maxText() int {
	if r.decl.MaxText > 0 {
		return int(r.decl.MaxText)
	}
	return defaultMaxText
}

// truncationHint is a sentence that says how to get less of an answer.
func truncationHint(noun string, w *hcl.Operation) string {
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

// truncate is a text as a model receives it: not too much of it. Of one that was written as things happened the end is kept, too, because what went wrong stands there.
func (r *operation) truncate(text []byte, narrow string) []byte {
	limit := r.maxText()
	switch {
	case len(text) <= limit:
		return text
	case r.writesLog():
		return truncateMiddle(text, limit, narrow)
	}
	return truncateText(text, limit, narrow)
}

// writesLog reports whether texts of the routine may be written as things happen, by it or by a tool that its steps call.
func (r *operation) writesLog() bool {
	return slices.ContainsFunc(r.steps, func(s *boundStep) bool {
		called, ok := s.action.(*toolCall)
		return s.decl.Backend.Effects.Log || ok && called.target.writesLog()
	})
}

// truncateText shortens a text to at most limit bytes, including the sentence that says so, at the end of a line, a value or at least a character. The memory of the text is used.
func truncateText(text []byte, limit int, narrow string) []byte {
	if len(text) <= limit {
		return text
	}
	note := "\n" + truncationNote(limit, len(text), "", narrow)
	at := cutBefore(text, max(limit-len(note), 0))
	return append(text[:at], note...)
}

// truncateMiddle is cut that leaves something out between the beginning and the end, half of each.
func truncateMiddle(text []byte, limit int, narrow string) []byte {
	if len(text) <= limit {
		return text
	}
	note := "\n" + truncationNote(limit, len(text), ", the beginning and the end", narrow) + "\n"
	room := max(limit-len(note), 0)
	at, rest := cutBefore(text, room/2), text[cutAfter(text, len(text)-room/2):]
	return append(append(text[:at], note...), rest...) // the note is shorter than what is left out
}

func truncationNote(limit, size int, which, narrow string) string {
	note := "[Cut here: " + hcl.Size(limit).String() + " of " + hcl.Size(size).String() + " are shown" + which + "."
	if narrow != "" {
		note += " " + narrow
	}
	return note + "]"
}

// cutBefore is the best place to cut at or before most: after a line, else after a comma or a space, unless that would lose more than a quarter, else
// between two characters.
func cutBefore(text []byte, most int) int {
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

// cutAfter is the best place to go on at or behind least, by the same rules as boundary.
func cutAfter(text []byte, least int) int {
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
