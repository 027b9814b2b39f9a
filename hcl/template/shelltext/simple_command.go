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
	args   []*syntax.Word
	words  []word
	taints []taint
}

// call walks a simple command: assignments and words.
func (a *taintWalk) call(c *syntax.CallExpr, sc scope) taint {
	for _, as := range c.Assigns {
		a.assignment(as, sc)
	}
	if len(c.Args) == 0 {
		return taint{}
	}
	l := simpleCommand{scope: sc, args: c.Args}
	for i, w := range c.Args {
		l.words = append(l.words, a.describeWord(w, sc, i))
		l.taints = append(l.taints, a.splitWord(w, sc))
	}
	return a.line(l)
}

func (a *taintWalk) line(l simpleCommand) taint {
	if t := l.taints[0]; t.level > trusted {
		a.errorAt(l.args[0], "Program depends on a call",
			`%s would choose the program to run. Write the program's name as text; to choose among several `+
				`write case ${...} in name) ... ;; esac.`, t.from)
		return maxTaint(l.taints)
	}
	if !l.words[0].constant {
		return a.output(l, "")
	}
	name := path.Base(l.words[0].text)
	if f, ok := a.functions[l.words[0].text]; ok && f != nil {
		return a.function(l, l.words[0].text)
	}
	if !a.bash && a.nested == nil && bashOnly[name] {
		a.errorAt(l.args[0], "Not in this shell",
			`%s is not known to the POSIX shell that runs this script. Write it in POSIX shell, or begin `+
				`the script with a line "#!/bin/bash".`, name)
		return maxTaint(l.taints)
	}
	switch name {
	case "command", "builtin", "exec":
		for i := 1; i < len(l.args); i++ {
			if w := l.words[i]; !w.constant || !strings.HasPrefix(w.text, "-") {
				return a.line(l.dropWords(i))
			}
		}
	}
	a.builtin(l, name)
	a.checkCode(l, name)
	a.lint(l, name)
	return a.output(l, name)
}

// bashOnly are commands that a POSIX shell lacks, or that have another meaning in another sh.
var bashOnly = template.WordSet(`[[ (( declare typeset let source function mapfile readarray shopt select coproc builtin
	compgen complete enable pushd popd`)

// dropWords returns the command that begins at word i of the line.
func (l simpleCommand) dropWords(i int) simpleCommand {
	l.args, l.taints = l.args[i:], l.taints[i:]
	l.words = slices.Clone(l.words[i:])
	for j := range l.words {
		l.words[j].index = j
	}
	return l
}

func maxTaint(list []taint) (t taint) {
	for _, u := range list {
		t = t.max(u)
	}
	return t
}

// function follows a call of a function of the script.
func (a *taintWalk) function(l simpleCommand, name string) taint {
	a.flow.join(a.flow.args, name, maxTaint(l.taints[1:]))
	a.flow.join(a.flow.stdin, name, l.stdin)
	a.piped[name] = a.piped[name] || !l.top
	return a.flow.out[name]
}

// output returns the taint of a program's output: that of its words and its input, unless it writes
// only numbers.
func (a *taintWalk) output(l simpleCommand, name string) taint {
	if writesNumbersOnly(name, l.words) {
		return taint{}
	}
	t := maxTaint(l.taints).concatenated()
	if !l.top || filters[name] {
		t = t.max(l.stdin).max(a.flow.vars[files])
	}
	return t
}

// filters read the standard input without an option or operand.
var filters = template.WordSet(`cat head tail sed awk gawk mawk jq yq grep egrep fgrep tr cut sort uniq tee rev tac nl
	paste fold fmt xargs sh bash python3 python perl ruby node base64 xxd od dd bc dc column join comm iconv expand gzip
	gunzip zcat`)

// writesNumbersOnly reports whether a program writes nothing but numbers.
func writesNumbersOnly(name string, words []word) bool {
	switch name {
	case "wc":
		for _, w := range words[1:] {
			if !w.constant || !strings.HasPrefix(w.text, "-") {
				return false
			}
		}
		return true
	case "grep", "egrep", "fgrep":
		files := 0
		for _, w := range words[1:] {
			if !w.constant || !strings.HasPrefix(w.text, "-") {
				files++
			}
		}
		return files <= 2 && len(words) > 1 && words[1].constant && strings.HasPrefix(words[1].text, "-") &&
			!strings.HasPrefix(words[1].text, "--") && strings.Contains(words[1].text, "c")
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
