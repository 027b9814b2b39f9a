package test

import (
	"fmt"
	"strconv"
	"strings"

	"hatchel/hcl/value"
	"hatchel/internal/cut"
)

// maxDifferences is how many differences of one value are shown.
const maxDifferences = 30

// differences compares two values, and appends where they differ: each with its path, what is wanted and what there
// is. In a part, other members and elements are allowed, and the order of lists does not count.
type differences struct {
	part  bool
	since bool // want is how it was, and got how it is
	lines []string
	more  int
}

func (d *differences) add(path, format string, args ...any) {
	if len(d.lines) == maxDifferences {
		d.more++
		return
	}
	line := fmt.Sprintf(format, args...)
	if d.since {
		line = strings.NewReplacer("want", "was", "got", "is").Replace(format)
		line = fmt.Sprintf(line, args...)
	}
	d.lines = append(d.lines, path+": "+line)
}

func (d *differences) compare(path string, want, got any) {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			d.compareObjects(path, w, g)
			return
		}
	case []any:
		if g, ok := got.([]any); ok {
			d.compareLists(path, w, g)
			return
		}
	}
	if !value.Equal(want, got) {
		d.add(path, "want %s, got %s", show(want), show(got))
	}
}

func (d *differences) compareObjects(path string, want, got map[string]any) {
	for _, key := range value.Keys(want) {
		at := path + member(key)
		if v, ok := got[key]; ok {
			d.compare(at, want[key], v)
		} else {
			d.add(at, "want %s, got nothing", show(want[key]))
		}
	}
	for _, key := range value.Keys(got) {
		if _, ok := want[key]; !ok && !d.part {
			d.add(path+member(key), "want nothing, got %s", show(got[key]))
		}
	}
}

// member writes a member as a path continues.
func member(key string) string {
	for i, c := range key {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return "[" + strconv.Quote(key) + "]"
		}
	}
	return "." + key
}

func (d *differences) compareLists(path string, want, got []any) {
	if d.part {
		d.findElements(path, want, got)
		return
	}
	for i := range max(len(want), len(got)) {
		switch at := fmt.Sprintf("%s[%d]", path, i); {
		case i >= len(want):
			d.add(at, "want nothing, got %s", show(got[i]))
		case i >= len(got):
			d.add(at, "want %s, got nothing", show(want[i]))
		default:
			d.compare(at, want[i], got[i])
		}
	}
}

// findElements finds a different element for each wanted one.
func (d *differences) findElements(path string, want, got []any) {
	fits := func(w, g any) bool {
		one := differences{part: true}
		one.compare("", w, g)
		return one.lines == nil
	}
	owner := make([]int, len(got)) // 1 + the index of what is wanted there
	var place func(i int, tried []bool) bool
	place = func(i int, tried []bool) bool {
		for j := range got {
			if tried[j] || !fits(want[i], got[j]) {
				continue
			}
			tried[j] = true
			if owner[j] == 0 || place(owner[j]-1, tried) {
				owner[j] = i + 1
				return true
			}
		}
		return false
	}
	for i := range want {
		if !place(i, make([]bool, len(got))) {
			d.add(path, "want an element with %s, got %s", show(want[i]), show(got))
		}
	}
}

const maxShown = 200 // characters of a value

func show(v any) string {
	text, err := value.AppendJSON(nil, v)
	if err != nil {
		text = fmt.Append(nil, v)
	}
	return cut.Runes(string(text), maxShown)
}
