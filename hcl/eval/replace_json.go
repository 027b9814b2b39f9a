package eval

import (
	"encoding/json"
	"strings"
)

// ReplaceJSON returns a text with each JSON object and list in it replaced, and without what begins as one and is none,
// because it was cut.
func ReplaceJSON(text string, replace func(raw string) string) string {
	var out strings.Builder
	for {
		at := strings.IndexAny(text, "{[")
		if at < 0 {
			return out.String() + text
		}
		out.WriteString(text[:at])
		text = text[at:]
		d := json.NewDecoder(strings.NewReader(text))
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			if !strings.ContainsRune(text, '"') { // a word in brackets
				out.WriteByte(text[0])
				text = text[1:]
				continue
			}
			return out.String() + MaskedText
		}
		text = text[d.InputOffset():]
		out.WriteString(replace(string(raw)))
	}
}
