package shelltext

import "strings"

// builtin follows and checks the builtin commands of the shell.
func (a *taintWalk) builtin(l simpleCommand, name string) {
	switch name {
	case "set":
		a.setCommand(l)
	case "read", "mapfile", "readarray":
		a.readCommand(l, name)
	case "unset":
		a.rejectNames(l, 1)
	case "getopts":
		a.rejectNames(l, 2)
		a.assign(l.args[0], "OPTARG", a.flow.args[l.function])
		if len(l.words) > 2 && l.words[2].constant {
			a.assign(l.args[2], l.words[2].text, a.flow.args[l.function])
		}
	case "export", "readonly", "local", "declare", "typeset", "let":
		for i := 1; i < len(l.args); i++ {
			if n, _, ok := strings.Cut(l.words[i].text, "="); !ok || name == "let" {
				a.rejectName(l.args[i], l.taints[i])
			} else if n != "" {
				a.assign(l.args[i], n, l.taints[i])
			}
		}
	case "printf":
		a.printf(l)
	case "test", "[":
		a.testCommand(l)
	case "cd", "pushd", "popd":
		a.assign(l.args[0], "PWD", maxTaint(l.taints).concatenated())
		a.assign(l.args[0], "OLDPWD", maxTaint(l.taints).concatenated())
	case "tee":
		a.flow.join(a.flow.vars, files, l.stdin)
	case "env", "sudo", "doas", "alias":
		for i := 1; i < len(l.args); i++ {
			n, code, ok := strings.Cut(l.words[i].text, "=")
			if ok && n != "" {
				a.assign(l.args[i], n, l.taints[i])
			}
			if ok && name == "alias" && l.words[i].constant {
				a.inline(l.args[i], code, l.scope)
			}
		}
	case "trap":
		if len(l.words) > 1 && l.words[1].constant {
			a.inline(l.args[1], l.words[1].text, l.scope)
		}
	case "eval":
		code, all := "", true
		for _, w := range l.words[1:] {
			code, all = code+" "+w.text, all && w.constant
		}
		if all && len(l.args) > 1 {
			a.inline(l.args[1], code, l.scope)
		} else if a.anyTainted && maxTaint(l.taints).level == trusted {
			a.warnAt(l.args[0], "Code in eval",
				`The code that eval runs cannot be checked: if it reads a variable that holds a value of the call, `+
					`that value may become code. Write the command out.`)
		}
	}
}

// setCommand follows set, whose operands become the positional parameters.
func (a *taintWalk) setCommand(l simpleCommand) {
	ended := false
	for i := 1; i < len(l.args); i++ {
		w := l.words[i]
		if w.constant && w.text == "--" {
			ended = true
		}
		if !ended && l.taints[i].level == tainted && w.text == "" {
			a.errorAt(l.args[i], "Option chosen by a call",
				`%s may begin with "-" and change how the shell works. Write set -- before it.`, l.taints[i].from)
		}
		a.flow.join(a.flow.args, l.function, l.taints[i])
	}
}

// readCommand follows read and mapfile, which assign the variables that they name.
func (a *taintWalk) readCommand(l simpleCommand, name string) {
	for _, w := range l.words[1:] {
		if strings.HasPrefix(w.text, "-u") {
			l.stdin = a.unknownTaint()
		}
	}
	takes := "dinNptu"
	if name != "read" {
		takes = "dnOsuCc"
	}
	for i := 1; i < len(l.args); i++ {
		w := l.words[i]
		if !w.constant {
			a.rejectName(l.args[i], l.taints[i])
			continue
		}
		if strings.HasPrefix(w.text, "-") {
			if last := w.text[len(w.text)-1:]; strings.Contains(takes, last) && i+1 < len(l.args) {
				i++
				if last == "C" {
					a.rejectName(l.args[i], l.taints[i])
				}
			}
			continue
		}
		a.assign(l.args[i], w.text, l.stdin)
	}
	a.assign(l.args[0], "REPLY", l.stdin)
	a.assign(l.args[0], "MAPFILE", l.stdin)
}

// rejectNames reports values in the words from index first, which name variables.
func (a *taintWalk) rejectNames(l simpleCommand, first int) {
	for i := first; i < len(l.args); i++ {
		a.rejectName(l.args[i], l.taints[i])
	}
}

// printf checks printf, whose format is a language of its own, and which with -v assigns a
// variable.
func (a *taintWalk) printf(l simpleCommand) {
	i := 1
	if len(l.args) > 2 && l.words[1].constant && l.words[1].text == "-v" {
		a.rejectName(l.args[2], l.taints[2])
		if l.words[2].constant {
			t := taint{}
			if !writesNumbersOnly("printf", l.words[2:]) {
				t = maxTaint(l.taints[3:]).concatenated()
			}
			a.assign(l.args[2], l.words[2].text, t)
		}
		i = 3
	}
	if i < len(l.args) && l.words[i].constant && l.words[i].text == "--" {
		i++
	}
	if i < len(l.args) && l.taints[i].level > trusted {
		a.errorAt(l.args[i], "Value in a format",
			`printf would take %% and backslashes in %s as directions. Write printf '%%s\n' ${...}.`, l.taints[i].from)
	}
}

// testCommand checks [ ... ] and test.
func (a *taintWalk) testCommand(l simpleCommand) {
	for i := 1; i < len(l.args); i++ {
		if !l.words[i].constant {
			continue
		}
		switch l.words[i].text {
		case "-v", "-R":
			if i+1 < len(l.args) {
				a.rejectName(l.args[i+1], l.taints[i+1])
			}
		case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
			for _, j := range []int{i - 1, i + 1} {
				if a.bash && j > 0 && j < len(l.args) {
					a.rejectNumber(l.args[j], l.taints[j])
				}
			}
		}
	}
}
