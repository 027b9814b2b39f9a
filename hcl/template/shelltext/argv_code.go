package shelltext

import "hatchel/hcl/template"

// checkCode reports values in words that a program would run as code, for all combinations of
// branches, and records in a whether the program runs its input.
func (c argvCheck) checkCode(a *Argv, args []Arg) {
	all := &Arg{Group: args}
	conditions := all.conditions()
	if conditions > 10 {
		c.Errorf(args[0].Range, "Too many conditional words",
			`A command can have at most 10 conditional elements, and this one has %d. Write several tools.`, conditions)
		return
	}
	for bits := range 1 << conditions {
		chosen := all.choose(&bits, nil)
		words := make([]word, len(chosen))
		var sure []word // that are never null
		for i, arg := range chosen {
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
			c.reportCode(chosen[f.word.index], f)
		}
	}
}

// word returns the parts of an element that are known at load.
func (a *Arg) word(index int) word {
	if s, ok := a.literal(); ok {
		return word{text: s, constant: true, index: index}
	}
	w := word{index: index}
	for _, h := range a.values() {
		t := h.Type
		if t.Kind == template.List && t.Elem != nil && !t.Known {
			t = *t.Elem
		}
		w.callerControlled = w.callerControlled || callerControlled(t)
	}
	if a.Value != nil {
		w.constant, w.confined = a.Value.Type.Known, a.Value.Func == "under"
	} else if t, ok := a.Text.Nodes[0].(*template.Text); ok {
		w.text = t.Value
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
		c.Errorf(a.Range, "Program depends on a call", `%s would run whatever program %s names. %s`, f.program,
			a.source(), hint)
	case f.file:
		c.Errorf(a.Range, "Program depends on a call",
			`%s would run whatever file %s names. Write the file's name as text, or keep it below a fixed folder: `+
				`under("/folder", %s).`, f.program, a.source(), a.valueSource())
	case f.option != "":
		c.Errorf(a.Range, "Value in a program's code",
			`The word after %[1]s of %[2]s is code that %[2]s runs, so it cannot hold a value. %[3]s`, f.option,
			f.program, hint)
	default:
		c.Errorf(a.Range, "Value in a program's code", `%s would run this word, so it cannot hold a value. %s`,
			f.program, hint)
	}
}

// doubleDashes finds the literal -- that ends the options. If a program runs another, it skips a --
// before the other program's name.
func doubleDashes(args []Arg) map[*Arg]bool {
	ends := map[*Arg]bool{}
	program, _ := args[0].literal()
	name, p, _ := lookup(program)
	runsAnother := p.operand == command || commandRunners[name]
	all := (&Arg{Group: args}).leaves()
	for i, a := range all {
		if s, ok := a.literal(); !ok || s != "--" {
			continue
		}
		constant := false
		if i+1 < len(all) {
			_, constant = all[i+1].literal()
		}
		ends[a] = !runsAnother || !constant
	}
	return ends
}
