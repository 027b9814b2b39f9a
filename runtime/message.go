package runtime

import (
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// appendMessages appends an array of the messages whose condition holds: of each, one message of the protocol for every piece of its content.
func (r *operation) appendMessages(dst []byte, list []*hcl.PromptMessage, f *hcl.Frame) ([]byte, error) {
	dst = append(dst, '[')
	first := len(dst)
	for _, m := range list {
		inner, elements := *f, []hcl.Each{{}}
		if m.Each != nil {
			var err error
			if elements, _, err = evalElements(m.Each, f); err != nil {
				return dst, err
			}
		}
		for i := range elements {
			if m.Each != nil {
				inner.Each = &elements[i]
			}
			var err error
			if dst, err = r.appendMessage(dst, len(dst) == first, m, &inner); err != nil {
				return dst, err
			}
			if err := checkDocumentSize(len(dst) - first); err != nil {
				return dst, err
			}
		}
	}
	return append(dst, ']'), nil
}

func (r *operation) appendMessage(dst []byte, first bool, m *hcl.PromptMessage, f *hcl.Frame) ([]byte, error) {
	if ok, err := evalCondition(m.When, f); err != nil || !ok {
		return dst, err
	}
	for _, block := range m.Content {
		if ok, err := evalCondition(block.When, f); err != nil {
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
		if dst, err = r.appendBlock(dst, block, f); err != nil {
			return dst, err
		}
		dst = append(dst, '}')
	}
	return dst, nil
}

// evalCondition asks a condition; none holds always.
func evalCondition(when *hcl.Condition, f *hcl.Frame) (bool, error) {
	if when == nil {
		return true, nil
	}
	return when.Eval(f, f.Output)
}
