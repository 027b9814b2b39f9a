package eval

import (
	"hatchel/hcl/diag"
	"hatchel/hcl/schema"
	"hatchel/hcl/template"
)

// Observer is told what is known of the expressions of one block while they are compiled, for an editor. A nil Observer
// is told nothing, which is what every load but that of an editor has.
type Observer interface {
	// Value is called with what is known of an expression.
	Value(at diag.Range, e TypedExpr)
	// Reference is called for a place that names a declaration.
	Reference(r Reference)
	// Binding is called for a ${...}, with the range of the whole and how it is bound, such as "SQL parameter 2".
	Binding(at diag.Range, how string, kind template.BindingKind)
	// Name is called for a name in an expression; place returns what may be written there.
	Name(name string, place func() Place)
}

// Reference is a place that names a declaration.
type Reference struct {
	At    diag.Range // of the name
	Kind  string     // "var", "secret", "local", "input", "step", "type", "connection", "tool", …
	Name  string
	Owner string // the first line of the block that the declaration belongs to, such as "tool x"; empty for none
	Local bool   // it belongs to the block around the place
}

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
