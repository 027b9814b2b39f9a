package shelltext

import (
	"path"
	"slices"
	"strings"
)

const (
	unknownSummary = "Unknown program"
	unknownProgram = `It is not known whether %[1]s runs text that it is given, and it is given %[2]s. If it takes ` +
		`all of its words and its input for data, declare that in this block or in its connection: ` +
		`data_programs = [%[1]q].`

	runsStdinCommand = `runs_stdin is about the program of a command in a container, and this is %s. Write ` +
		`command = [...].`
)

// unknownProgram returns the program of a command line that gets any text of a caller, if nothing is known of
// the program. Programs of the configuration directory belong to the author.
func (in Inputs) unknownProgram(words []word, stdin taint) (program word, t taint) {
	lines := commandLines(words)
	words = lines[len(lines)-1]
	program = words[0]
	if !program.constant || strings.Contains(program.text, "/") && !path.IsAbs(program.text) ||
		slices.Contains(in.DataPrograms, program.text) {
		return word{}, t
	}
	name := path.Base(program.text)
	if _, _, known := lookup(name); known || dataPrograms[name] || readers[name] || filters[name] || searchers[name] ||
		commandRunners[name] {
		return word{}, t
	}
	for _, w := range words[1:] {
		if w.level == tainted && w.wild {
			t = t.max(w.taint)
		}
	}
	if t.level == trusted && stdin.level == tainted {
		t = stdin
	}
	if t.level == trusted {
		return word{}, t
	}
	return program, t
}

// checkUnknownProgram warns of a program of which nothing is known and that gets any text of a caller.
func (a *taintWalk) checkUnknownProgram(l simpleCommand) {
	stdin := l.stdin
	if l.top {
		stdin = taint{} // which most commands do not read
	}
	program, t := a.inputs.unknownProgram(l.words, stdin)
	if program.text != "" && !a.functions[program.text] && !a.HasErrors() {
		a.warnAt(program.node, unknownSummary, unknownProgram, program.text, t.from)
	}
}

// runsElsewhere reports whether a command line runs its program in a container or on another machine.
func runsElsewhere(words []word) bool {
	s, ok := newOptionScanner(words)
	if !ok {
		return false
	}
	s.run()
	return s.remote || s.inner > 0 && runsElsewhere(words[s.inner:])
}
