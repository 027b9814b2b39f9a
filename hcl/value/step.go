package value

import (
	"encoding/json"
	"iter"
	"slices"

	"hatchel/internal/cut"
)

// Step is a budget of time. It is called with a number of elements before as many are computed, and its error ends the
// computation. A nil Step never ends one. Functions whose names end with Steps compute the same as those without, and
// call their Step at least once for every few thousand elements.
type Step func(elements int) error

// Take calls s unless it is nil.
func (s Step) Take(n int) error {
	if s == nil {
		return nil
	}
	return s(n)
}

// digitsOfElement is how many digits of a number count as one element.
const digitsOfElement = 8

// Elements returns how many elements a number counts for: its digits take time.
func Elements(v any) int {
	if n, ok := v.(json.Number); ok {
		return 1 + len(n)/digitsOfElement
	}
	return 1
}

const (
	textPart       = 64 << 10 // bytes of a part of Parts
	bytesOfElement = 64       // of a text that count as one element
)

// Parts returns the parts of a text, which end between two characters. Before each it calls the step.
func Parts(s string, step Step) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for s != "" {
			end := cut.Before(s, min(textPart, len(s)))
			part := s[:end]
			s = s[end:]
			if err := step.Take(1 + len(part)/bytesOfElement); !yield(part, err) || err != nil {
				return
			}
		}
	}
}

// sortedRun is how many elements Sort sorts between two calls of its Step.
const sortedRun = 512

// Sort sorts a list in place, within a budget. Equal elements keep their order. After an error the list is unordered.
func Sort[T any](list []T, compare func(a, b T) int, step Step) error {
	for start := 0; start < len(list); start += sortedRun {
		run := list[start:min(start+sortedRun, len(list))]
		if err := step.Take(len(run)); err != nil {
			return err
		}
		slices.SortStableFunc(run, compare)
	}
	if len(list) <= sortedRun {
		return nil
	}
	from, to := list, make([]T, len(list))
	for width := sortedRun; width < len(list); width *= 2 {
		for start := 0; start < len(list); start += 2 * width {
			middle, end := min(start+width, len(list)), min(start+2*width, len(list))
			if err := merge(to[start:end], from[start:middle], from[middle:end], compare, step); err != nil {
				return err
			}
		}
		from, to = to, from
	}
	if &from[0] != &list[0] {
		copy(list, from)
	}
	return nil
}

// merge merges two sorted lists into dst, which has the length of both.
func merge[T any](dst, a, b []T, compare func(a, b T) int, step Step) error {
	for i := range dst {
		if i%sortedRun == 0 {
			if err := step.Take(min(sortedRun, len(dst)-i)); err != nil {
				return err
			}
		}
		if len(b) == 0 || len(a) > 0 && compare(a[0], b[0]) <= 0 {
			dst[i], a = a[0], a[1:]
		} else {
			dst[i], b = b[0], b[1:]
		}
	}
	return nil
}
