package shelltext

import (
	"fmt"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
)

// An Arg is one element of a list of words. Exactly one of Text, Value, Group and Cond is set; an
// Arg with none of them is a literal null.
type Arg struct {
	Text  *template.Tree          // a quoted template, with or without interpolations
	Value *template.Interpolation // an expression that is the whole element; a list becomes several words
	Group []Arg                   // a nested list: omitted completely if a member is null
	Over  template.Loop           // repeats the Group, which has no conditions; nil for none
	// the exit codes of a Group that is a stage of a pipe; nil for none
	OKCodes []int

	template.Condition // of a conditional whose branches are elements
	Then, Else         *Arg

	Source string // the element as written, for hints
	Range  hclv2.Range
}

// literal returns the text of a constant element.
func (a *Arg) literal() (string, bool) {
	if a.Value != nil {
		return a.Value.Type.KnownText()
	}
	if a.Text == nil {
		return "", false
	}
	text := ""
	for _, n := range a.Text.Nodes {
		part, known := "", false
		switch n := n.(type) {
		case *template.Text:
			part, known = n.Value, true
		case *template.Interpolation:
			part, known = n.Type.KnownText()
		}
		if !known {
			return "", false
		}
		text += part
	}
	return text, true
}

// leaves returns the elements of an element's branches and groups, or the element itself.
func (a *Arg) leaves() []*Arg {
	switch {
	case a.Cond != nil:
		return append(a.Then.leaves(), a.Else.leaves()...)
	case a.Group != nil:
		var all []*Arg
		for i := range a.Group {
			all = append(all, a.Group[i].leaves()...)
		}
		return all
	}
	return []*Arg{a}
}

// Branches returns the branches of a conditional element, or the element itself.
func (a *Arg) Branches() []*Arg {
	if a.Cond == nil {
		return []*Arg{a}
	}
	return append(a.Then.Branches(), a.Else.Branches()...)
}

// maxChoices is how many choices the words of a command, or the stages of a pipe, may depend on.
const maxChoices = 10

// choices appends the choices on which an element depends, each once, with those inside of groups if
// withGroups is set. A loop is a choice between no round and two.
func (a *Arg) choices(out []any, withGroups bool) []any {
	if a.Over != nil && withGroups {
		return append(out, a.choice())
	}
	if a.Cond != nil {
		if !slices.Contains(out, a.choice()) {
			out = append(out, a.choice())
		}
		return a.Else.choices(a.Then.choices(out, withGroups), withGroups)
	}
	for i := range a.Group {
		if withGroups {
			out = a.Group[i].choices(out, true)
		}
	}
	return out
}

// keepRepeated clears the keys of the conditions that decide one element only.
func keepRepeated(args []Arg) { template.KeepRepeated((&Arg{Group: args}).conditions(nil)) }

func (a *Arg) conditions(out []*template.Condition) []*template.Condition {
	if a.Cond != nil {
		out = a.Else.conditions(a.Then.conditions(append(out, &a.Condition)))
	}
	for i := range a.Group {
		out = a.Group[i].conditions(out)
	}
	return out
}

// choice identifies the choice of a condition.
func (a *Arg) choice() any {
	if a.Key != "" {
		return a.Key
	}
	return a
}

// combine calls check with every combination of choices.
func combine(choices []any, check func(holds map[any]bool)) {
	holds := map[any]bool{}
	for bits := range 1 << len(choices) {
		for i, choice := range choices {
			holds[choice] = bits>>i&1 == 0
		}
		check(holds)
	}
}

// chosen returns the branch of an element that these choices lead to.
func (a *Arg) chosen(holds map[any]bool) *Arg {
	for a.Cond != nil {
		if holds[a.choice()] != a.Negated {
			a = a.Then
		} else {
			a = a.Else
		}
	}
	return a
}

// words appends the words of an element that these choices lead to.
func (a *Arg) words(holds map[any]bool, out []*Arg) []*Arg {
	a = a.chosen(holds)
	rounds := 1
	if a.Over != nil {
		rounds = 0
		if holds[a.choice()] {
			rounds = 2
		}
	}
	for range rounds {
		for i := range a.Group {
			out = a.Group[i].words(holds, out)
		}
	}
	if a.Text != nil || a.Value != nil {
		out = append(out, a)
	}
	return out
}

// values returns the interpolations of a leaf.
func (a *Arg) values() []*template.Interpolation {
	switch {
	case a.Value != nil:
		return []*template.Interpolation{a.Value}
	case a.Text != nil:
		return interpolations(a.Text.Nodes)
	}
	return nil
}

// interpolations returns the interpolations of nodes, including those of all branches and loops.
func interpolations(nodes []template.Node) (all []*template.Interpolation) {
	for _, n := range nodes {
		switch n := n.(type) {
		case *template.Interpolation:
			all = append(all, n)
		case *template.If:
			all = append(append(all, interpolations(n.Then)...), interpolations(n.Else)...)
		case *template.For:
			all = append(all, interpolations(n.Body)...)
		}
	}
	return all
}

// nullable reports whether the element may be omitted in a call.
func (a *Arg) nullable() bool {
	return a.Over != nil || slices.ContainsFunc(a.leaves(), func(leaf *Arg) bool {
		return leaf.Text == nil && leaf.Value == nil ||
			slices.ContainsFunc(leaf.values(), func(h *template.Interpolation) bool { return h.Type.Nullable })
	})
}

// isList reports whether the element is a list of which each element becomes a word.
func (a *Arg) isList() bool { return a.Value != nil && a.Value.Type.Kind == template.List }

// source returns the source of an element, for hints. Only the constant words of a connection have
// none.
func (a *Arg) source() string {
	if a.Source != "" {
		return a.Source
	}
	text, _ := a.literal()
	return `"` + escaper.Replace(text) + `"`
}

// valueSource returns the source of the first interpolation of a leaf, or else of the leaf.
func (a *Arg) valueSource() string {
	if values := a.values(); len(values) > 0 {
		return values[0].Source
	}
	return a.source()
}

var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "${", "$${", "%{", "%%{")

// maxWordSize is the maximum size in bytes of one word or one NAME=value: the limit of Linux, with
// room for the name.
const maxWordSize = 128<<10 - 64

// scalarText returns a value as a text that a program can be given. For null, present is false.
func scalarText(v any, source string) (text string, present bool, err error) {
	text, present, err = template.ScalarText(v, source)
	if err == nil {
		err = checkText(text, source)
	}
	return text, present, err
}

func checkText(text, source string) error {
	if strings.IndexByte(text, 0) >= 0 {
		return fmt.Errorf("%s holds a NUL character, which no program can be given; send it without", source)
	}
	if len(text) > maxWordSize {
		return fmt.Errorf("%s is %d bytes long, and a program can be given at most %d in one value; send less",
			source, len(text), maxWordSize)
	}
	return nil
}
