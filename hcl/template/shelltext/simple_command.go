package shelltext

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"hatchel/hcl/template"
)

// simpleCommand is one simple command of a script.
type simpleCommand struct {
	scope
	words             []word
	bypassesFunctions bool // the program is no function of the script, as after command
}

// call walks a simple command: assignments and words.
func (a *taintWalk) call(c *syntax.CallExpr, sc scope) taint {
	for _, as := range c.Assigns {
		a.assignment(as, sc)
	}
	if len(c.Args) == 0 {
		return taint{}
	}
	var out taint
	for _, words := range a.commandWords(c.Args, sc) {
		if len(words) > 0 {
			out = out.max(a.line(simpleCommand{scope: sc, words: words}))
		}
	}
	return out
}

func (a *taintWalk) line(l simpleCommand) taint {
	program := l.words[0]
	if program.level > trusted {
		a.errorAt(program.node, "Program depends on a call",
			`%s would choose the program to run. Write the program's name as text; to choose among several `+
				`write case ${...} in name) ... ;; esac.`, program.from)
		return maxTaint(l.words)
	}
	for _, line := range commandLines(l.withFoundFiles()) {
		files := programFiles(line)
		if a.searchesFiles() {
			files = append(files, line[0])
		}
		for _, file := range files {
			a.checkProgramFile(file, l.stdin)
		}
	}
	if !program.constant || slices.Contains(program.texts, anyText) || isPattern(program) {
		a.checkComputedProgram(l)
		return a.output(l, "")
	}
	if a.functions[program.text] && !l.bypassesFunctions {
		out := a.function(l, program.text)
		if a.isDefinedAt(program) {
			return out
		}
	}
	name := path.Base(program.text)
	if !a.bash && a.nested == nil && bashOnly[name] {
		a.errorAt(program.node, "Not in this shell",
			`%s is not known to the POSIX shell that runs this script. Write it in POSIX shell, or begin `+
				`the script with a line "#!/bin/bash".`, name)
		return maxTaint(l.words)
	}
	switch name {
	case "command", "builtin", "exec":
		if words := commandOperands(l.words); len(words) > 0 {
			l.words, l.bypassesFunctions = words, true
			return a.line(l)
		}
	}
	a.builtin(l, name)
	a.noteMentioned(l, name)
	a.checkCode(l, name)
	a.checkUnknownProgram(l)
	a.checkPaths(l, name)
	a.lint(l, name)
	return a.output(l, name)
}

// withFoundFiles returns the words of a command with the files that find and xargs put in place of words.
func (l simpleCommand) withFoundFiles() []word {
	words := slices.Clone(l.words)
	switch path.Base(words[0].text) {
	case "find":
		for i := range words {
			if strings.Contains(words[i].text, "{}") {
				words[i].texts = unknownText
			}
		}
	case "xargs":
		return xargsWords(words, word{texts: unknownText, node: words[0].node})
	}
	return words
}

// commandOperands returns the command line that command, builtin or exec runs.
func commandOperands(words []word) []word {
	for i := 1; i < len(words); i++ {
		switch w := words[i]; {
		case isOperand(w):
			return words[i:]
		case words[0].text == "exec" && strings.HasSuffix(w.text, "a"):
			i++ // the name that the program is told
		}
	}
	return nil
}

// isPattern reports whether the shell may replace the name of a program by the name of a file.
func isPattern(program word) bool {
	return slices.ContainsFunc(program.texts, func(text string) bool { return strings.Contains(text, anyText) })
}

// checkComputedProgram reports values that a command gives to a program whose name is not known.
func (a *taintWalk) checkComputedProgram(l simpleCommand) {
	t := maxTaint(l.words)
	if !l.top {
		t = t.max(l.stdin)
	}
	if t.level == trusted || !isPattern(l.words[0]) || a.HasErrorAt(a.rangeOf(a.span(l.words[0].node))) {
		return
	}
	a.errorAt(l.words[0].node, "Program is computed",
		`The script computes the name of this program, so it cannot be checked whether the program runs %s, which it `+
			`is given. Write the program's name as text; to choose among several write case ... in name) ... ;; esac.`,
		t.from)
}

// bashOnly are commands that a POSIX shell lacks, or that have another meaning in another sh.
var bashOnly = template.WordSet(`[[ (( declare typeset let source function mapfile readarray shopt select coproc builtin
	compgen complete enable pushd popd`)

// isOperand reports whether a word is not a constant option.
func isOperand(w word) bool { return !w.constant || !strings.HasPrefix(w.text, "-") }

func maxTaint(words []word) (t taint) {
	for _, w := range words {
		t = t.max(w.taint)
	}
	return t
}

// function follows a call of a function of the script.
func (a *taintWalk) function(l simpleCommand, name string) taint {
	a.join(a.args, name, maxTaint(l.words[1:]))
	a.noteArguments(name, l, l.words[1:])
	a.join(a.stdin, name, l.stdin)
	a.piped[name] = a.piped[name] || !l.top
	return a.out[name]
}

// noteArguments records words that become the positional parameters of a function.
func (a *taintWalk) noteArguments(function string, l simpleCommand, words []word) {
	for _, w := range words {
		a.noteNames(argsKey(function), w.node, l.scope)
		a.noteTexts(argsKey(function), w.texts...)
	}
	a.noteList(argsKey(function), wordList{words: words})
}

// output returns the taint of a program's output: that of its words and its input, unless it writes
// only numbers.
func (a *taintWalk) output(l simpleCommand, name string) taint {
	if writesNumbersOnly(name, l.words) {
		return taint{}
	}
	t := maxTaint(l.words).computed()
	if !l.top || filters[name] {
		t = t.max(l.stdin).max(a.vars[stored])
	}
	for _, w := range l.words[1:] {
		if !slices.Contains(w.texts, anyText) {
			t = t.max(a.contents(w.texts).computed())
		}
	}
	if writesVariables(name, l.words) {
		t = t.max(a.unknownTaint())
	}
	t.path = false
	if searchers[name] {
		t.loose = false // it writes what it found
	}
	return t
}

// searchers write names and lines that they find, and not what they look for.
var searchers = template.WordSet("grep egrep fgrep rg find ls git")

// filters read the standard input without an option or operand.
var filters = template.WordSet(`cat head tail sed awk gawk mawk jq yq grep egrep fgrep tr cut sort uniq tee rev tac nl
	paste fold fmt xargs sh bash python3 python perl ruby node base64 xxd od dd bc dc column join comm iconv expand gzip
	gunzip zcat`)

// writesVariables reports whether a program writes its environment.
func writesVariables(name string, words []word) bool {
	switch name {
	case "printenv":
		return true
	case "env", "set", "export", "declare":
		return !slices.ContainsFunc(words[1:], isOperand)
	}
	return false
}

// writesNumbersOnly reports whether a program writes nothing but numbers.
func writesNumbersOnly(name string, words []word) bool {
	switch name {
	case "wc":
		return !slices.ContainsFunc(words[1:], isOperand)
	case "grep", "egrep", "fgrep":
		files := 0
		for _, w := range words[1:] {
			if isOperand(w) {
				files++
			}
		}
		return files <= 2 && len(words) > 1 && !isOperand(words[1]) && !strings.HasPrefix(words[1].text, "--") &&
			strings.Contains(words[1].text, "c")
	case "printf":
		if len(words) < 2 || !words[1].constant {
			return false
		}
		rest := strings.NewReplacer("%d", "", "%i", "", "%u", "", "%x", "", "%%", "").Replace(words[1].text)
		return !strings.Contains(rest, "%")
	case "true", "false", ":", "test", "[", "cd", "mkdir", "rm", "touch", "kill", "sleep", "exit", "return":
		return true
	}
	return false
}
