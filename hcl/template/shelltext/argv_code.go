package shelltext

import "hatchel/hcl/template"

// checkCode reports values in words that a program would run as code, for all combinations of
// branches, and records in a whether the program runs its input.
func (c argvCheck) checkCode(a *Argv, args []Arg) {
	var flat []*Arg
	conditions := 0
	countConditions(args, &conditions)
	if conditions > 10 {
		c.errorf(args[0].Range, "Too many conditional words",
			`A command can have at most 10 conditional elements, and this one has %d. Write several tools.`, conditions)
		return
	}
	for choice := range 1 << conditions {
		flat = flat[:0]
		bits := choice
		flatten(args, &bits, &flat)
		words := make([]word, len(flat))
		var sure []word // that are never null
		for i, arg := range flat {
			words[i] = arg.word(i)
			a.callerControlled = a.callerControlled || words[i].callerControlled
			if !arg.nullable() {
				sure = append(sure, words[i])
			}
		}
		for _, line := range [][]word{words, sure} {
			if name, ok := readsProgram(line); ok {
				a.codeReader = name
			}
		}
		for _, f := range findCode(words) {
			c.reportCode(flat[f.word.index], f)
		}
	}
}

func countConditions(args []Arg, n *int) {
	for i := range args {
		switch a := &args[i]; {
		case a.Cond != nil:
			*n++
			countConditions([]Arg{*a.Then, *a.Else}, n)
		case a.Group != nil:
			countConditions(a.Group, n)
		}
	}
}

// flatten lists the elements for one combination of branches; bits holds the condition results.
func flatten(args []Arg, bits *int, out *[]*Arg) {
	for i := range args {
		flattenOne(&args[i], bits, out)
	}
}

func flattenOne(a *Arg, bits *int, out *[]*Arg) {
	switch {
	case a.Cond != nil:
		choice := *bits & 1
		*bits >>= 1
		if choice == 0 {
			flattenOne(a.Then, bits, out)
		} else {
			flattenOne(a.Else, bits, out)
		}
	case a.Group != nil:
		flatten(a.Group, bits, out)
	case a.Text != nil || a.Value != nil:
		*out = append(*out, a)
	}
}

// word returns the parts of an element that are known at load.
func (a *Arg) word(index int) word {
	if s, ok := a.literal(); ok {
		return word{text: s, constant: true, index: index}
	}
	w := word{index: index}
	visit := func(h *template.Interpolation) {
		t := h.Type
		if t.Kind == template.List && t.Elem != nil && !t.Known {
			t = *t.Elem
		}
		w.callerControlled = w.callerControlled || callerControlled(t)
	}
	if a.Value != nil {
		visit(a.Value)
		w.constant, w.confined = a.Value.Type.Known, a.Value.Func == "under"
		return w
	}
	walkValues(a.Text.Nodes, visit)
	if len(a.Text.Nodes) > 0 {
		if t, ok := a.Text.Nodes[0].(*template.Text); ok {
			w.text = t.Value
		}
	}
	return w
}

func (c argvCheck) reportCode(a *Arg, f codeWord) {
	if !f.strict && !f.word.callerControlled || f.file && f.word.confined {
		return
	}
	hint := f.hintFor(a.valueSource())
	switch {
	case f.command:
		c.errorf(a.Range, "Program depends on a call", `%s would run whatever program %s names. %s`, f.program,
			a.source(), hint)
	case f.file:
		c.errorf(a.Range, "Program depends on a call",
			`%s would run whatever file %s names. Write the file's name as text, or keep it below a fixed `+
				`folder: under("/folder", %s).`, f.program, a.source(), a.valueSource())
	case f.option != "":
		c.errorf(a.Range, "Value in a program's code",
			`The word after %s of %s is code that %s runs, so it cannot hold a value. %s`, f.option, f.program,
			f.program, hint)
	default:
		c.errorf(a.Range, "Value in a program's code", `%s would run this word, so it cannot hold a value. %s`,
			f.program, hint)
	}
}

func (a *Arg) valueSource() string {
	source := ""
	if a.Value != nil {
		source = a.Value.Source
	} else if a.Text != nil {
		walkValues(a.Text.Nodes, func(h *template.Interpolation) {
			if source == "" {
				source = h.Source
			}
		})
	}
	if source == "" {
		return a.source()
	}
	return source
}

// doubleDashes finds the literal -- that ends the options. If a program runs another, it skips a --
// before the other program's name.
func (c argvCheck) doubleDashes(args []Arg) map[*Arg]bool {
	ends := map[*Arg]bool{}
	name, p, known := "", commandSpec{}, false
	if s, ok := args[0].literal(); ok {
		name, p, known = lookup(s)
	}
	outer := known && p.operand == command || commandRunners[name]
	var all []*Arg
	allElements(args, &all)
	for i, a := range all {
		s, ok := a.literal()
		if !ok || s != "--" {
			continue
		}
		next := false
		if i+1 < len(all) {
			_, next = all[i+1].literal()
		}
		ends[a] = !(outer && next)
	}
	return ends
}

// allElements lists the elements of all branches.
func allElements(args []Arg, out *[]*Arg) {
	for i := range args {
		switch a := &args[i]; {
		case a.Cond != nil:
			allBranches(a.Then, out)
			allBranches(a.Else, out)
		default:
			allBranches(a, out)
		}
	}
}

func allBranches(a *Arg, out *[]*Arg) {
	switch {
	case a.Group != nil:
		allElements(a.Group, out)
	case a.Cond != nil:
		allBranches(a.Then, out)
		allBranches(a.Else, out)
	default:
		*out = append(*out, a)
	}
}
