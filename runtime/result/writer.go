package result

import "hatchel/hcl"

// Writer writes the texts and content blocks of one operation: without secrets, and truncated.
type Writer struct {
	Scrubber *Scrubber
	MaxText  int    // maximum bytes of a text for a model
	Hint     string // a sentence that explains how to get a smaller result
	KeepEnd  bool   // texts may be logs, so truncation keeps the end, too
}

// NewWriter returns the Writer of an operation. Kind is "tool", "prompt", ….
func NewWriter(kind string, op *hcl.Operation, scrubber *Scrubber) *Writer {
	w := &Writer{Scrubber: scrubber, MaxText: DefaultMaxText, Hint: Hint(kind, op)}
	if op.MaxText > 0 {
		w.MaxText = int(op.MaxText)
	}
	return w
}

// Truncate shortens a text to the maximum for a model. It keeps the end of a log, because errors
// are there.
func (w *Writer) Truncate(text []byte, hint string) []byte {
	switch {
	case len(text) <= w.MaxText:
		return text
	case w.KeepEnd:
		return truncateMiddle(text, w.MaxText, hint)
	}
	return TruncateText(text, w.MaxText, hint)
}

// Message returns a message as it leaves the process: without secrets, and truncated without a
// hint.
func (w *Writer) Message(text string) string {
	return string(w.Truncate(w.Scrubber.Bytes([]byte(text)), ""))
}

// modelText returns a text as a model receives it.
func (w *Writer) modelText(text []byte) string {
	return string(w.Truncate(w.Scrubber.Bytes(text), w.Hint))
}
