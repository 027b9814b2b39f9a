package shelltext

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// line is one simple command of a script.
type line struct {
	scope
	args   []*syntax.Word
	words  []word
	taints []taint
}

// call is a simple command: assignments and words.
func (a *analysis) call(c *syntax.CallExpr, sc scope) taint {
	for _, as := range c.Assigns {
		a.assignment(as, sc)
	}
	if len(c.Args) == 0 {
		return taint{}
	}
	l := line{scope: sc, args: c.Args}
	for i, w := range c.Args {
		l.words = append(l.words, a.known(w, sc, i))
		l.taints = append(l.taints, a.splitWord(w, sc))
	}
	return a.line(l)
}

func (a *analysis) line(l line) taint {
	if t := l.taints[0]; t.level > clean {
		a.refuse(l.args[0], "Program depends on a call", `%s would choose the program to run. Write the program's name as text; to choose among several write case ${...} in name) ... ;; esac.`, t.from)
		return loosest(l.taints)
	}
	if !l.words[0].whole {
		return a.output(l, "")
	}
	name := path.Base(l.words[0].text)
	if f, ok := a.functions[l.words[0].text]; ok && f != nil {
		return a.function(l, l.words[0].text)
	}
	if !a.bash && a.nested == nil && bashOnly[name] {
		a.refuse(l.args[0], "Not in this shell", `%s is not known to the POSIX shell that runs this script. Write it in POSIX shell, or begin the script with a line "#!/bin/bash".`, name)
		return loosest(l.taints)
	}
	switch name {
	case "command", "builtin", "exec":
		for i := 1; i < len(l.args); i++ {
			if w := l.words[i]; !w.whole || !strings.HasPrefix(w.text, "-") {
				return a.line(l.from(i))
			}
		}
	}
	a.builtin(l, name)
	a.program(l, name)
	a.lint(l, name)
	return a.output(l, name)
}

// bashOnly are commands that a POSIX shell has not, and that mean something else where sh is another shell.
var bashOnly = set("[[", "((", "declare", "typeset", "let", "source", "function", "mapfile", "readarray", "shopt", "select", "coproc", "builtin", "compgen", "complete", "enable", "pushd", "popd")

// from is the command that begins at a word of the line.
func (l line) from(i int) line {
	l.args, l.taints = l.args[i:], l.taints[i:]
	l.words = append([]word(nil), l.words[i:]...)
	for j := range l.words {
		l.words[j].index = j
	}
	return l
}

func loosest(list []taint) (t taint) {
	for _, u := range list {
		t = t.or(u)
	}
	return t
}

// function is a call of a function of the script.
func (a *analysis) function(l line, name string) taint {
	a.flow.raise(a.flow.args, name, loosest(l.taints[1:]))
	a.flow.raise(a.flow.stdin, name, l.stdin)
	a.piped[name] = a.piped[name] || !l.top
	return a.flow.out[name]
}

// output is what a program may write: whatever it was given, unless it only counts.
func (a *analysis) output(l line, name string) taint {
	t := loosest(l.taints).glued()
	reads := !l.top || filters[name]
	if reads {
		t = t.or(l.stdin).or(a.flow.vars[files])
	}
	if counts(name, l.words) {
		return taint{}
	}
	return t
}

// filters read the standard input without being told to.
var filters = set("cat", "head", "tail", "sed", "awk", "gawk", "mawk", "jq", "yq", "grep", "egrep", "fgrep", "tr", "cut", "sort", "uniq", "tee", "rev", "tac", "nl", "paste", "fold", "fmt",
	"xargs", "sh", "bash", "python3", "python", "perl", "ruby", "node", "base64", "xxd", "od", "dd", "bc", "dc", "column", "join", "comm", "iconv", "expand", "gzip", "gunzip", "zcat")

// counts reports that a program writes nothing but numbers.
func counts(name string, words []word) bool {
	switch name {
	case "wc":
		for _, w := range words[1:] {
			if !w.whole || !strings.HasPrefix(w.text, "-") {
				return false
			}
		}
		return true
	case "grep", "egrep", "fgrep":
		files := 0
		for _, w := range words[1:] {
			if !w.whole || !strings.HasPrefix(w.text, "-") {
				files++
			}
		}
		return files <= 2 && len(words) > 1 && words[1].whole && strings.HasPrefix(words[1].text, "-") && !strings.HasPrefix(words[1].text, "--") && strings.Contains(words[1].text, "c")
	case "printf":
		if len(words) < 2 || !words[1].whole {
			return false
		}
		rest := strings.NewReplacer("%d", "", "%i", "", "%u", "", "%x", "", "%%", "").Replace(words[1].text)
		return !strings.Contains(rest, "%")
	case "true", "false", ":", "test", "[", "cd", "mkdir", "rm", "touch", "kill", "sleep", "exit", "return":
		return true
	}
	return false
}
