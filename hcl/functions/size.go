package functions

import (
	"encoding/json"
	"fmt"

	"hatchel/hcl/value"
)

// MaxWalk is the Size beyond which values are neither compared nor searched.
const MaxWalk = 16 << 20

// Size returns about how many bytes the JSON of v has. A value can be far larger than the memory it takes, because its parts may be
// shared, and deeper than a stack: Size fails with a sentence beyond limit bytes or value.MaxDepth levels, having looked at no more than that.
// What has a Size may be walked recursively.
func Size(v any, limit int) (int, error) {
	m := measure{left: limit}
	if err := m.value(v, 0); err != nil {
		return 0, err
	}
	return limit - m.left, nil
}

type measure struct{ left int }

func (m *measure) value(v any, depth int) error {
	if depth > value.MaxDepth {
		return fmt.Errorf("the value is nested more than %d levels deep", value.MaxDepth)
	}
	switch v := v.(type) {
	case string:
		m.left -= len(v) + 2
	case json.Number:
		m.left -= len(v)
	case value.Bytes:
		m.left -= len(v)
	case value.Deferred:
		m.left -= deferredSize(v)
	case []any:
		m.left -= 2
		for _, e := range v {
			if err := m.value(e, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		m.left -= 2
		for k, e := range v {
			m.left -= len(k) + 3
			if err := m.value(e, depth+1); err != nil {
				return err
			}
		}
	default:
		m.left -= 4
	}
	if m.left--; m.left < 0 {
		return ErrMemory
	}
	return nil
}

func deferredSize(d value.Deferred) int {
	if sized, ok := d.(interface{ Len() int }); ok {
		return sized.Len()
	}
	return len(d.AppendJSON(nil))
}
