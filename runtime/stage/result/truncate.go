package result

import (
	"bytes"
	"strings"

	"hatchel/hcl"
	"hatchel/internal/cut"
)

// Hint returns a sentence that explains how to get a smaller result. Kind is "tool", "prompt", ….
func Hint(kind string, op *hcl.Operation) string {
	var names []string
	for _, m := range op.Input.Members {
		names = append(names, "`"+m.Name+"`")
	}
	switch {
	case len(names) == 0:
		return "This " + kind + " has no arguments that would return less."
	case len(names) > 8:
		names = append(names[:8], "…")
	}
	return "Ask for less with other values of " + strings.Join(names, ", ") + "."
}

// TruncateText truncates a text to at most limit bytes, including a note about it. It truncates at
// the end of a line or a value, or else between two characters, and reuses the memory of the text.
func TruncateText(text []byte, limit int, hint string) []byte {
	if len(text) <= limit {
		return text
	}
	note := "\n" + truncationNote(limit, len(text), "", hint)
	at := CutBefore(text, max(limit-len(note), 0))
	return append(text[:at], note...)
}

// truncateMiddle truncates a text like TruncateText, but keeps half of the limit at each end.
func truncateMiddle(text []byte, limit int, hint string) []byte {
	if len(text) <= limit {
		return text
	}
	note := "\n" + truncationNote(limit, len(text), ", the beginning and the end", hint) + "\n"
	room := max(limit-len(note), 0)
	at, rest := CutBefore(text, room/2), text[cutAfter(text, len(text)-room/2):]
	return append(append(text[:at], note...), rest...) // the note is shorter than what is left out
}

func truncationNote(limit, size int, which, hint string) string {
	note := "[Truncated: " + hcl.Size(limit).String() + " of " + hcl.Size(size).String() + " are shown" + which + "."
	if hint != "" {
		note += " " + hint
	}
	return note + "]"
}

// CutBefore returns the best position at or before limit to truncate a text: after a line, else
// after a comma or a space unless that loses more than a quarter, else between two characters.
func CutBefore(text []byte, limit int) int {
	earliest := limit - limit/4
	head := text[:limit]
	if i := bytes.LastIndexByte(head, '\n'); i >= earliest {
		return i
	}
	if i := bytes.LastIndexAny(head, ", "); i >= earliest {
		return i + 1
	}
	return cut.Before(text, limit)
}

// cutAfter returns the best place to resume a text at or after start, by the rules of CutBefore.
func cutAfter(text []byte, start int) int {
	if start >= len(text) {
		return len(text)
	}
	head := text[start-1 : start+(len(text)-start)/4]
	if i := bytes.IndexByte(head, '\n'); i >= 0 {
		return start + i
	}
	if i := bytes.IndexAny(head, ", "); i >= 0 {
		return start + i
	}
	return cut.After(text, start)
}
