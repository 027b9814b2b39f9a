package console

import (
	"io"

	"hatchel/internal/printable"
)

// Shown returns a writer for text of which others have written parts. It writes the code points of hidden characters,
// as in <U+202E>, and control characters likewise, which a terminal obeys. Each write must consist of whole characters.
func Shown(w io.Writer) io.Writer { return shown{w} }

// ForTerminal returns a writer for a result: Shown for a terminal, and w itself for another program, which gets the
// result as it is.
func ForTerminal(w io.Writer) io.Writer {
	if IsTerminal(w) {
		return Shown(w)
	}
	return w
}

// shown is the writer that Shown returns.
type shown struct{ to io.Writer }

func (s shown) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.to, printable.Reveal(string(p), "\n\t")); err != nil {
		return 0, err
	}
	return len(p), nil
}
