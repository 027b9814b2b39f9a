package console

import (
	"bytes"
	"encoding/json"
	"io"

	"hatchel/internal/printable"
)

// WriteJSON writes a value as indented JSON, and escapes the characters that are not printable, which a terminal
// obeys. Programs read the same value.
func WriteJSON(w io.Writer, v any) error {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(printable.EscapeJSON(out.Bytes()))
	return err
}
