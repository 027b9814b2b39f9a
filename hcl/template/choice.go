package template

import "slices"

// Condition decides between two branches. Conditions with the same key are one choice: in a call they
// are true together, or false where they are negated.
type Condition struct {
	Cond    Value  // computes a bool
	Key     string // of a choice that decides more than one branch or round; else empty
	Negated bool   // the condition is true where the choice is false
	// Depth is the number of loops of the template around the choice whose rounds make it anew.
	Depth int
}

// maxChoices is how many choices of a template, or of the rounds of a loop, are checked in all
// combinations. Further ones are checked as if their occurrences were independent.
const maxChoices = 6

// FindChoices returns the choices of a template and sets those of its loops: those that decide more
// than one branch or round. It clears the keys of the other conditions.
func FindChoices(nodes []Node) []string {
	f := choiceFinder{nil}
	f.find(nodes)
	return KeepRepeated(f[0])
}

// choiceFinder has the conditions of the template, and of each loop around a node.
type choiceFinder [][]*Condition

func (f *choiceFinder) find(nodes []Node) {
	for _, n := range nodes {
		switch n := n.(type) {
		case *If:
			(*f)[n.Depth] = append((*f)[n.Depth], &n.Condition)
			if inner := n.Depth < len(*f)-1; inner {
				(*f)[n.Depth] = append((*f)[n.Depth], &n.Condition)
			}
			f.find(n.Then)
			f.find(n.Else)
		case *For:
			last := len(*f)
			*f = append(*f, nil)
			f.find(n.Body)
			n.Choices = KeepRepeated((*f)[last])
			*f = (*f)[:last]
		}
	}
}

// KeepRepeated returns the keys that occur more than once, and clears the others.
func KeepRepeated(conditions []*Condition) (keys []string) {
	known := map[string]int{}
	for _, c := range conditions {
		known[c.Key]++
	}
	for _, c := range conditions {
		switch {
		case c.Key == "" || known[c.Key] == 1:
			c.Key = ""
		case !slices.Contains(keys, c.Key):
			keys = append(keys, c.Key)
		}
	}
	return keys
}

// Choices are the choices that a check assumes.
type Choices map[string]bool

// Each calls check with every combination of choices.
func (c Choices) Each(keys []string, check func()) {
	if len(keys) == 0 {
		check()
		return
	}
	if len(keys) > maxChoices {
		keys = keys[:maxChoices]
	}
	for _, holds := range []bool{true, false} {
		c[keys[0]] = holds
		c.Each(keys[1:], check)
	}
	delete(c, keys[0])
}

// Branches returns the branches that renderings can take.
func (c Choices) Branches(n *If) [][]Node {
	switch holds, known := c[n.Key]; {
	case !known:
		return [][]Node{n.Then, n.Else}
	case holds != n.Negated:
		return [][]Node{n.Then}
	}
	return [][]Node{n.Else}
}

// Decisions are the choices that a call has made. Each is made once; no Decisions keep none.
type Decisions struct{ made []decision }

type decision struct {
	key   string
	holds bool
}

// Holds computes a condition for one call.
func (d *Decisions) Holds(c *Condition, f Frame) (bool, error) {
	if c.Key == "" || d == nil {
		return truth(c.Cond, f)
	}
	for _, made := range d.made {
		if made.key == c.Key {
			return made.holds != c.Negated, nil
		}
	}
	yes, err := truth(c.Cond, f)
	if err == nil {
		d.made = append(d.made, decision{c.Key, yes != c.Negated})
	}
	return yes, err
}

// Branch returns the nodes of the branch that a call takes.
func (d *Decisions) Branch(n *If, f Frame) ([]Node, error) {
	yes, err := d.Holds(&n.Condition, f)
	if yes {
		return n.Then, err
	}
	return n.Else, err
}

// Forget makes these choices anew, because a round of their loop begins.
func (d *Decisions) Forget(keys []string) {
	if len(keys) > 0 && d != nil {
		d.made = slices.DeleteFunc(d.made, func(made decision) bool { return slices.Contains(keys, made.key) })
	}
}

// Reset forgets all choices.
func (d *Decisions) Reset() { d.made = d.made[:0] }
