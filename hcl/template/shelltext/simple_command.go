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
	words []word
}

// call walks a simple command: assignments and words.
func (a *taintWalk) call(c *syntax.CallExpr, sc scope) taint {
	for _, as := range c.Assigns {
		a.assignment(as, sc)
	}
	if len(c.Args) == 0 {
		return taint{}
	}
	l := simpleCommand{scope: sc}
	for _, w := range c.Args {
		l.words = append(l.words, a.describeWord(w, sc))
	}
	return a.line(l)
}

func (a *taintWalk) line(l simpleCommand) taint {
	program := l.words[0]
	if program.level > trusted {
		a.errorAt(program.node, "Program depends on a call",
			`%s would choose the program to run. Write the program's name as text; to choose among several `+
				`write case ${...} in name) ... ;; esac.`, program.from)
		return maxTaint(l.words)
	}
	for _, line := range commandLines(l.words) {
		for _, file := range programFiles(line) {
			a.checkProgramFile(file)
		}
	}
	if !program.constant {
		return a.output(l, "")
	}
	if a.functions[program.text] {
		return a.function(l, program.text)
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
		if i := slices.IndexFunc(l.words[1:], isOperand); i >= 0 {
			l.words = l.words[1+i:]
			return a.line(l)
		}
	}
	a.builtin(l, name)
	a.checkCode(l, name)
	a.checkPaths(l, name)
	a.lint(l, name)
	return a.output(l, name)
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
	for _, w := range l.words[1:] {
		a.noteNames(argsKey(name), w.node, l.scope)
	}
	a.join(a.stdin, name, l.stdin)
	a.piped[name] = a.piped[name] || !l.top
	return a.out[name]
}

// output returns the taint of a program's output: that of its words and its input, unless it writes
// only numbers.
func (a *taintWalk) output(l simpleCommand, name string) taint {
	if writesNumbersOnly(name, l.words) {
		return taint{}
	}
	t := maxTaint(l.words).computed()
	if !l.top || filters[name] {
		t = t.max(l.stdin).max(a.vars[files])
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
