package toolstest

import (
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// Draft is a test block that is written for its author to complete.
type Draft struct {
	Name, Tool string
	Args       map[string]any
	Mocks      []string // as they are written
	Expect     map[string]any
}

// Arguments returns arguments that a type accepts, if the type says enough: those that are required.
func Arguments(t *schema.Type) map[string]any {
	args, _ := sample(t, 0).(map[string]any)
	return args
}

// Text returns the block in the canonical style.
func (d *Draft) Text() string {
	b := &block{}
	b.out.WriteString("test " + quote(d.Name) + " {\n")
	b.set("tool", d.Tool)
	if len(d.Args) > 0 {
		b.set("args", d.Args)
	}
	for _, mock := range d.Mocks {
		b.out.WriteString(mock)
	}
	if len(d.Expect) > 0 {
		expect := b.nested("expect")
		for _, name := range value.Keys(d.Expect) {
			expect.set(name, d.Expect[name])
		}
	}
	return b.text()
}
