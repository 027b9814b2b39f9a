package surface

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl"
)

// Class says what a change means for those who use the tools.
type Class int

// The classes, from the least to the most serious. A class of a higher number includes those below it
// where a threshold is given, except that Any includes all.
const (
	Compatible Class = iota // calls and readers that were right before are right after
	Behaviour               // what a model reads or a call does within its effects
	Widening                // it can do or reach more, or more callers may
	Breaking                // a call that was right before may be refused, or is read wrongly
)

var classNames = [...]string{"compatible", "behaviour", "widening", "breaking"}

func (c Class) String() string { return classNames[c] }

// MarshalText encodes the class by its name.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Thresholds are the words for ParseThreshold.
var Thresholds = []string{"breaking", "widening", "behaviour", "any"}

// ParseThreshold returns the least class that a threshold includes.
func ParseThreshold(word string) (Class, error) {
	switch word {
	case "any":
		return Compatible, nil
	case "behaviour", "widening", "breaking":
		return Class(slices.Index(classNames[:], word)), nil
	}
	return 0, fmt.Errorf("one of %s is needed, not %q", strings.Join(Thresholds, ", "), word)
}

// Change is one difference of two surfaces.
type Change struct {
	Class  Class  `json:"class"`
	Kind   string `json:"kind"`   // what changed, such as input-type; one of Kinds
	Object string `json:"object"` // what it belongs to, such as "tool pay" or "server"
	Place  string `json:"place"`  // such as pay.input.id
	Text   string `json:"text"`   // how, in one line; hidden characters are shown as <U+200B>
	// a stricter rule or a removed credential: who is refused is meant to be
	Restriction bool      `json:"restriction,omitempty"`
	Range       hcl.Range `json:"range,omitzero"` // in the newer configuration, or of what was removed in the older one
	Removed     bool      `json:"-"`              // Range is in the older configuration
}

// Diff is the difference of two surfaces, the most serious changes first.
type Diff struct {
	Changes []Change `json:"changes"`
	Step    string   `json:"step"` // of the version: "major", "minor", "patch" or "none"
	Old     string   `json:"old_version"`
	New     string   `json:"new_version"`
}

// Worst returns the most serious class, and false if nothing changed.
func (d *Diff) Worst() (Class, bool) {
	if len(d.Changes) == 0 {
		return Compatible, false
	}
	return d.Changes[0].Class, true
}

// Reaches reports whether a change has the class or a more serious one.
func (d *Diff) Reaches(threshold Class) bool {
	worst, changed := d.Worst()
	return changed && worst >= threshold
}

// Count returns the number of changes of a class.
func (d *Diff) Count(class Class) (n int) {
	for _, c := range d.Changes {
		if c.Class == class {
			n++
		}
	}
	return n
}

// Only returns the changes of some tools, prompts, resources and other objects, by name.
func (d *Diff) Only(names []string) *Diff {
	out := *d
	out.Changes = slices.DeleteFunc(slices.Clone(d.Changes), func(c Change) bool {
		_, name, _ := strings.Cut(c.Object, " ")
		return !slices.Contains(names, name) && !slices.Contains(names, c.Object)
	})
	out.Step = step(out.Changes)
	return &out
}

// Moved reports whether the version moved at least as far as the changes suggest. It does not judge
// versions that are not three numbers.
func (d *Diff) Moved() bool {
	old, ok := versionOf(d.Old)
	new, also := versionOf(d.New)
	if !ok || !also || d.Step == "none" {
		return true
	}
	at := slices.Index([]string{"major", "minor", "patch"}, d.Step)
	return slices.Compare(new[:at+1], old[:at+1]) > 0
}

// versionOf reads a version of three numbers.
func versionOf(text string) (v []int, ok bool) {
	var major, minor, patch int
	core, _, _ := strings.Cut(strings.TrimPrefix(text, "v"), "-")
	if n, err := fmt.Sscanf(core, "%d.%d.%d", &major, &minor, &patch); n != 3 || err != nil {
		return nil, false
	}
	return []int{major, minor, patch}, true
}

// step returns the part of the version that the changes suggest to raise.
func step(changes []Change) string {
	worst := Class(-1)
	for _, c := range changes {
		worst = max(worst, c.Class)
	}
	switch {
	case worst == Breaking:
		return "major"
	case worst == Widening || slices.ContainsFunc(changes, func(c Change) bool { return c.Class == Compatible }):
		return "minor"
	case worst == Behaviour:
		return "patch"
	}
	return "none"
}

func sortChanges(changes []Change) {
	slices.SortStableFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.Class, a.Class), strings.Compare(a.Object, b.Object),
			strings.Compare(a.Place, b.Place), strings.Compare(a.Text, b.Text))
	})
}
