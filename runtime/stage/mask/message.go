package mask

import (
	"encoding/json"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/eval"
)

// Message returns what a backend says of its failure, as the caller of the frame may see it: JSON in it, such as the
// body of a response, is masked as an output is, and what begins as JSON and is none, because it was cut, is left out.
func Message(b *hcl.Backend, frame *hcl.Frame, text string) string {
	masks := applying(b, frame.Lifted)
	if len(masks) == 0 {
		return text
	}
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
			return out.String() + eval.MaskedText
		}
		text = text[d.InputOffset():]
		w := walker{masks: masks, path: []string{"body"}}
		masked, changed, err := w.text(string(raw))
		switch shown, ok := masked.(string); {
		case err != nil || !ok:
			out.WriteString(eval.MaskedText)
		case changed:
			out.WriteString(shown)
		default:
			out.Write(raw)
		}
	}
}
