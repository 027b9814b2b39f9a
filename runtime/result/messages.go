package result

import (
	"fmt"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// AppendMessages appends an array of those messages whose condition is true: one message of the
// protocol for every content block.
func (w *Writer) AppendMessages(dst []byte, list []*hcl.PromptMessage, f *hcl.Frame) ([]byte, error) {
	dst = append(dst, '[')
	first := len(dst)
	for _, m := range list {
		inner, elements := *f, []hcl.Each{{}}
		if m.Each != nil {
			var err error
			if elements, _, err = EvalElements(m.Each, f); err != nil {
				return dst, err
			}
		}
		for i := range elements {
			if m.Each != nil {
				inner.Each = &elements[i]
			}
			var err error
			if dst, err = w.appendMessage(dst, len(dst) == first, m, &inner); err != nil {
				return dst, err
			}
			if err := CheckDocumentSize(len(dst) - first); err != nil {
				return dst, err
			}
		}
	}
	return append(dst, ']'), nil
}

func (w *Writer) appendMessage(dst []byte, first bool, m *hcl.PromptMessage, f *hcl.Frame) ([]byte, error) {
	if ok, err := EvalCondition(m.When, f); err != nil || !ok {
		return dst, err
	}
	for _, block := range m.Content {
		if ok, err := EvalCondition(block.When, f); err != nil {
			return dst, err
		} else if !ok {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		var err error
		dst = append(value.AppendString(append(dst, `{"role":`...), m.Role), `,"content":`...)
		if dst, err = w.AppendBlock(dst, block, f); err != nil {
			return dst, err
		}
		dst = append(dst, '}')
	}
	return dst, nil
}

// maxDocumentSize is the maximum size of a prompt or a resource in bytes. They are sent completely
// or not at all.
const maxDocumentSize = 16 << 20

// CheckDocumentSize fails for a document that is too large to send.
func CheckDocumentSize(size int) error {
	if size <= maxDocumentSize {
		return nil
	}
	const text = "it holds %s, and no more than %s can be sent"
	return &adapters.Fault{Message: fmt.Sprintf(text, hcl.Size(size), hcl.Size(maxDocumentSize))}
}
