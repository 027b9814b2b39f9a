package test

import (
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

// draftedTest is a test block that is written for its author to complete.
type draftedTest struct {
	Name, Tool string
	Args       map[string]any
	Caller     map[string]any // nil for a caller who is not known
	Answers    []draftedAnswer
	Mocks      []string // as they are written
	Note       string   // why nothing is expected; empty for nothing
	Expect     map[string]any
}

// draftedAnswer is the answer to a question, as the argument of an answer block.
type draftedAnswer struct {
	Question, Argument string
	Value              any
}

// Arguments returns arguments that a type accepts, if the type says enough: those that are required. File returns the
// path of a file with one of these media types.
func Arguments(t *schema.Type, file func(mediaTypes []string) string) map[string]any {
	args, _ := sampler{file}.sample(t, 0).(map[string]any)
	return args
}

// Text returns the block in the canonical style.
func (d *draftedTest) Text() string {
	b := &block{header: "test " + importer.Quote(d.Name)}
	b.set("tool", d.Tool)
	if len(d.Args) > 0 {
		b.set("args", d.Args)
	}
	if d.Caller != nil {
		caller := b.nested("caller")
		for _, name := range value.Keys(d.Caller) {
			caller.set(name, d.Caller[name])
		}
	}
	for _, a := range d.Answers {
		b.nested("answer "+importer.Quote(a.Question)).set(a.Argument, a.Value)
	}
	for _, mock := range d.Mocks {
		b.inside = append(b.inside, &block{written: strings.ReplaceAll(mock, "\n  ", "\n    ")})
	}
	if d.Note != "" {
		b.inside = append(b.inside, &block{written: "# " + strings.ReplaceAll(d.Note, "\n", "\n# ") + "\n"})
	}
	if len(d.Expect) > 0 {
		expect := b.nested("expect")
		for _, name := range value.Keys(d.Expect) {
			expect.set(name, d.Expect[name])
		}
	}
	return b.text()
}
