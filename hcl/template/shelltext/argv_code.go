package shelltext

import (
	"path"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"

	"hatchel/hcl/template"
)

// checkCode reports values that a program would run as code, from its words or its input, for all
// combinations of branches. It returns the taint of the program's output.
func (c argvCheck) checkCode(args []Arg, stdin taint) (out taint) {
	all := &Arg{Group: args}
	choices := all.choices(nil, true)
	if len(choices) > maxChoices {
		c.Errorf(args[0].Range, "Too many conditional words",
			`The words of a command can depend on at most %d different conditions, and these depend on %d. Write `+
				`several tools.`, maxChoices, len(choices))
		return stdin
	}
	warned := false
	combine(choices, func(holds map[any]bool) {
		lines := [][]word{nil, nil} // with the words that may be null, and without
		for _, arg := range all.words(holds, nil) {
			w := arg.word()
			out = out.max(w.taint)
			lines[0] = append(lines[0], w)
			if !arg.nullable() {
				lines[1] = append(lines[1], w)
			}
		}
		for _, line := range lines {
			c.checkChoices(line, stdin)
		}
		warned = warned || c.warnUnknownProgram(lines[0], stdin)
	})
	return out.max(stdin).computed()
}

// checkChoices checks a list of words with each option that a word can be. The other words that can
// be options are then their first one.
func (c argvCheck) checkChoices(words []word, stdin taint) {
	c.checkLine(words, stdin)
	options := make([][]string, len(words))
	first := slices.Clone(words)
	for i, w := range words {
		if options[i] = w.options(); len(options[i]) > 0 {
			first[i].text, first[i].constant = options[i][0], true
		}
	}
	for i := range words {
		for _, option := range options[i] {
			chosen := slices.Clone(first)
			chosen[i].text = option
			c.checkLine(chosen, stdin)
		}
	}
}

// checkLine checks one list of words.
func (c argvCheck) checkLine(words []word, stdin taint) {
	if len(words) == 0 {
		return
	}
	first := words[0].arg
	if stdin.level > trusted {
		if reader, ok := readsProgram(words); ok && !(c.inputs.RunsStdin && runsElsewhere(words)) {
			correction := "Give it its program as constant text and the value as an argument."
			if runsElsewhere(words) {
				correction = "If the tool lets its caller write that program, declare it: runs_stdin = true."
			}
			c.Errorf(first.Range, "Value in a program's code",
				`%s runs its standard input as code, and %s is in it. %s`, reader, stdin.from, correction)
		}
	}
	words = withInput(words, stdin)
	for _, f := range findCode(words) {
		c.reportCode(f)
	}
	c.checkInlineShell(words, stdin)
}

// warnUnknownProgram warns of a program of which nothing is known and that gets any text of a caller. It reports
// whether it has warned.
func (c argvCheck) warnUnknownProgram(words []word, stdin taint) bool {
	if len(words) == 0 || c.HasErrors() {
		return false
	}
	program, given := c.inputs.unknownProgram(withInput(words, stdin), stdin)
	if program != "" {
		c.Warnf(given.arg.Range, unknownSummary, unknownProgram, program, given.from)
	}
	return program != ""
}

// withInput adds the words that xargs reads from its standard input.
func withInput(words []word, stdin taint) []word {
	if stdin.level == trusted {
		return words
	}
	return xargsWords(words, word{taint: stdin, arg: &Arg{Range: words[0].arg.Range, Source: stdin.from}})
}

// checkContainer reports a program that may not run its standard input as code: one outside of a container.
func (c argvCheck) checkContainer(args []Arg) {
	var words []word
	for _, leaf := range (&Arg{Group: args}).leaves() {
		words = append(words, leaf.word())
	}
	if !runsElsewhere(words) {
		c.Errorf(args[0].Range, "Program is not in a container",
			`runs_stdin lets a caller's program run where it reaches nothing of this machine, and this command runs `+
				`here. Run it in a container: ["docker", "run", "--rm", "-i", "--network=none", "python:3", `+
				`"python3", "-"].`)
	}
}

// checkInlineShell follows the values of a call through constant code of a shell: ["sh", "-c", "...
// $1 ...", "sh", input.x].
func (c argvCheck) checkInlineShell(words []word, stdin taint) {
	for i, w := range words {
		code := shellCode(words[i:])
		if code == 0 || !words[i+code].constant {
			continue
		}
		at := words[i+code]
		if c.HasErrorAt(at.arg.Range) {
			return
		}
		text := &template.Text{Value: at.text, Place: func(int, int) hclv2.Range { return at.arg.Range }}
		l := &scriptText{text: at.text, segments: []segment{{to: len(at.text), text: text}}}
		a := newTaintWalk(c.Diagnostics, l, c.inputs, path.Base(w.text) == "bash")
		a.nested, a.errorsOnly = &nested{0, len(at.text)}, true
		a.anyTainted = a.anyTainted || stdin.max(maxTaint(words)).level > trusted
		line := simpleCommand{scope: scope{stdin: stdin, top: true}, words: words}
		a.untilUnchanged(func() { a.inlineCode(line, words[i:]) })
	}
}

// word returns the parts of an element that are known at load.
func (a *Arg) word() word {
	w := word{arg: a}
	if w.text, w.constant = a.literal(); w.constant {
		return w
	}
	for _, h := range a.values() {
		w.taint = w.taint.max(taintOf(h.Type, h.Source))
	}
	if a.Value != nil {
		w.constant = a.Value.Type.Known
	} else if w.taint = w.taint.computed(); a.Text == nil {
		return w
	} else if t, ok := a.Text.Nodes[0].(*template.Text); ok {
		w.text = t.Value
	}
	return w
}

// options returns the options that a word can be whose texts are all known.
func (w word) options() []string {
	if w.constant || w.arg.Value == nil {
		return nil
	}
	t := w.arg.Value.Type
	if t.Kind == template.List && t.Elem != nil {
		t = *t.Elem
	}
	return slices.DeleteFunc(slices.Concat(t.Texts()), func(s string) bool { return !strings.HasPrefix(s, "-") })
}

func (c argvCheck) reportCode(f codeWord) {
	if !f.strict && f.word.level == trusted || f.file && f.word.level == confined {
		return
	}
	a := f.word.arg
	switch {
	case f.reads:
		c.rejectPath(f.word, f.program)
		return
	case f.file && c.HasErrorAt(a.Range):
		return // the word is code with another option
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

// rejectPath reports a word that names a file, if a caller can choose its folder.
func (c argvCheck) rejectPath(w word, program string) {
	if w.loose && !c.HasErrorAt(w.arg.Range) {
		c.Errorf(w.arg.Range, LoosePath, "%s", LoosePathDetail(w.from, "it names a file of "+program, w.arg.isList()))
	}
}

// doubleDashes finds the literal -- that ends the options. If a program runs another, or may do so because nothing is
// known of it, it skips a -- before the other program's name.
func (in Inputs) doubleDashes(args []Arg) map[*Arg]bool {
	ends := map[*Arg]bool{}
	program, _ := args[0].literal()
	name, p, _ := lookup(program)
	runsAnother := p.operand == command || commandRunners[name] || !in.isKnown(program)
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
