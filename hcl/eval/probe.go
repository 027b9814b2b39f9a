package eval

import "hatchel/hcl/schema"

// Probe is told what may be written at one place of an expression, which an editor has marked with a name that no
// author writes. A nil Probe marks nothing.
type Probe struct {
	Name  string      // at the place
	Found func(Place) // is called for each time that the place is compiled
}

// Marks reports whether a name marks the place.
func (p *Probe) Marks(name string) bool { return p != nil && name == p.Name }

// Place is what is known of a place in an expression. It is the first name of a traversal, a member of Root, or else a
// member of a value of Type.
type Place struct {
	Roots   map[string]*Root        // that may be read, if the place is the first name of a traversal
	Vars    map[string]*schema.Type // that loops and let have declared, likewise
	Root    *Root
	Type    *schema.Type
	Program bool // it is in an expr program
	Secrets bool // secrets may be read
}

// Roots returns the roots that may be read, by name.
func (s *Scope) Roots() map[string]*Root {
	roots := map[string]*Root{}
	for _, name := range s.Readable() {
		roots[name], _ = s.Find(name)
	}
	return roots
}
