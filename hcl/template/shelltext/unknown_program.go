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

// isKnown reports whether it is known what a program does with its words and its input. Programs of the configuration
// directory belong to the author.
func (in Inputs) isKnown(program string) bool {
	name := path.Base(program)
	_, _, known := lookup(name)
	return known || dataPrograms[name] || readers[name] || filters[name] || searchers[name] ||
		slices.Contains(in.DataPrograms, program) || strings.Contains(program, "/") && !path.IsAbs(program)
}

// unknownProgram returns the program of a command line, and the first word of it that is any text of a caller, if
// nothing is known of the program. The word is the program itself if only its input is such a text.
func (in Inputs) unknownProgram(words []word, stdin taint) (program string, given word) {
	lines := commandLines(words)
	words = lines[len(lines)-1]
	if !words[0].constant || in.isKnown(words[0].text) {
		return "", word{}
	}
	for _, w := range words[1:] {
		if w.level == tainted && w.wild {
			return words[0].text, w
		}
	}
	if stdin.level == tainted {
		given = words[0]
		given.taint = stdin
		return given.text, given
	}
	return "", word{}
}

// checkUnknownProgram warns of a program of which nothing is known and that gets any text of a caller, also in a file
// that the script writes.
func (a *taintWalk) checkUnknownProgram(l simpleCommand) {
	stdin := l.stdin
	if l.top {
		stdin = taint{} // which most commands do not read
	}
	words := slices.Clone(l.words)
	for i, w := range words {
		if w.constant {
			words[i].taint = a.written[fileKey(w.text)]
		}
	}
	program, given := a.inputs.unknownProgram(words, stdin)
	if program != "" && !a.functions[program] && !a.HasErrors() && a.report {
		a.Warnf(a.rangeOf(a.span(given.node)), unknownSummary, unknownProgram, program, given.from)
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
