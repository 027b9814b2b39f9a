package mask

import (
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
	return eval.ReplaceJSON(text, func(raw string) string {
		w := walker{masks: masks, path: []string{"body"}}
		masked, changed, err := w.text(raw)
		switch shown, ok := masked.(string); {
		case err != nil || !ok:
			return eval.MaskedText
		case changed:
			return shown
		}
		return raw
	})
}
