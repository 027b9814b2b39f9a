package runtime

import (
	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// appendMessages appends an array of the messages whose condition holds: of each, one message of the protocol for every piece of its content.
func (r *routine) appendMessages(dst []byte, list []*hcl.PromptMessage, f *hcl.Frame) ([]byte, error) {
	dst = append(dst, '[')
	first := len(dst)
	for _, m := range list {
		elements := []*hcl.Each{f.Each}
		if m.Each != nil {
			var err error
			if elements, err = elementsOf(m.Each, f); err != nil {
				return dst, err
			}
		}
		inner := *f
		for _, inner.Each = range elements {
			var err error
			if dst, err = r.appendMessage(dst, len(dst) == first, m, &inner); err != nil {
				return dst, err
			}
			if err := fits(len(dst) - first); err != nil {
				return dst, err
			}
		}
	}
	return append(dst, ']'), nil
}

func (r *routine) appendMessage(dst []byte, first bool, m *hcl.PromptMessage, f *hcl.Frame) ([]byte, error) {
	if ok, err := holds(m.When, f); err != nil || !ok {
		return dst, err
	}
	for _, block := range m.Content {
		if ok, err := holds(block.When, f); err != nil {
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

// holds asks a condition; none holds always.
func holds(when *hcl.Condition, f *hcl.Frame) (bool, error) {
	if when == nil {
		return true, nil
	}
	return when.Eval(f, f.Output)
}

// elementsOf are the elements of a list or an object, in their order.
func elementsOf(e *hcl.Expr, f *hcl.Frame) ([]*hcl.Each, error) {
	v, err := e.Eval(f)
	if err == nil {
		v, err = value.Resolve(v)
	}
	if err != nil {
		return nil, err
	}
	var out []*hcl.Each
	switch v := v.(type) {
	case nil:
	case []any:
		for i, e := range v {
			out = append(out, &hcl.Each{Key: i, Value: e})
		}
	case map[string]any:
		for _, k := range value.Keys(v) {
			out = append(out, &hcl.Each{Key: k, Value: v[k]})
		}
	default:
		return nil, &adapters.Fault{Message: "each goes over a list or an object, and this is a " + value.Kind(v)}
	}
	return out, nil
}
