package shelltext

import "strings"

// builtin follows and checks what the shell does itself.
func (a *analysis) builtin(l line, name string) {
	switch name {
	case "set":
		a.setCommand(l)
	case "read", "mapfile", "readarray":
		a.read(l, name)
	case "unset":
		a.names(l, 1)
	case "getopts":
		a.names(l, 2)
		a.assign(l.args[0], "OPTARG", a.flow.args[l.function])
		if len(l.words) > 2 && l.words[2].whole {
			a.assign(l.args[2], l.words[2].text, a.flow.args[l.function])
		}
	case "export", "readonly", "local", "declare", "typeset", "let":
		for i := 1; i < len(l.args); i++ {
			if eq := strings.Contains(l.words[i].text, "="); !eq || name == "let" {
				a.name(l, i)
			} else if n, _, _ := strings.Cut(l.words[i].text, "="); n != "" {
				a.assign(l.args[i], n, l.taints[i])
			}
		}
	case "printf":
		a.printf(l)
	case "test", "[":
		a.testCommand(l)
	case "cd", "pushd", "popd":
		a.assign(l.args[0], "PWD", loosest(l.taints).glued())
		a.assign(l.args[0], "OLDPWD", loosest(l.taints).glued())
	case "tee":
		a.flow.raise(a.flow.vars, files, l.stdin)
	case "env", "sudo", "doas", "alias":
		for i := 1; i < len(l.args); i++ {
			if n, _, ok := strings.Cut(l.words[i].text, "="); ok && n != "" {
				a.assign(l.args[i], n, l.taints[i])
			}
		}
		if name == "alias" {
			for i := 1; i < len(l.args); i++ {
				if _, code, ok := strings.Cut(l.words[i].text, "="); ok && l.words[i].whole {
					a.inline(l.args[i], code, l.scope)
				}
			}
		}
	case "trap":
		if len(l.words) > 1 && l.words[1].whole {
			a.inline(l.args[1], l.words[1].text, l.scope)
		}
	case "eval":
		code, all := "", true
		for _, w := range l.words[1:] {
			code, all = code+" "+w.text, all && w.whole
		}
		if all && len(l.args) > 1 {
			a.inline(l.args[1], code, l.scope)
		} else if a.anyLoose && loosest(l.taints).level == clean {
			a.warn(l.args[0], "Code in eval", `What eval runs cannot be checked: if it reads a variable that holds a value of the call, that value may become code. Write the command out.`)
		}
	}
}

// setCommand is set: its operands become the positional parameters.
func (a *analysis) setCommand(l line) {
	ended := false
	for i := 1; i < len(l.args); i++ {
		w := l.words[i]
		if w.whole && w.text == "--" {
			ended = true
		}
		if !ended && l.taints[i].level == loose && w.text == "" {
			a.refuse(l.args[i], "Option chosen by a call", `%s may begin with "-" and change how the shell works. Write set -- in front of it.`, l.taints[i].from)
		}
		a.flow.raise(a.flow.args, l.function, l.taints[i])
	}
}

// read is read and mapfile: they fill the variables they name.
func (a *analysis) read(l line, name string) {
	for _, w := range l.words[1:] {
		if strings.HasPrefix(w.text, "-u") {
			l.stdin = a.anything()
		}
	}
	takes := "dinNptu"
	if name != "read" {
		takes = "dnOsuCc"
	}
	for i := 1; i < len(l.args); i++ {
		w := l.words[i]
		if !w.whole {
			a.name(l, i)
			continue
		}
		if strings.HasPrefix(w.text, "-") {
			if last := w.text[len(w.text)-1:]; strings.Contains(takes, last) && i+1 < len(l.args) {
				i++
				if last == "C" {
					a.name(l, i)
				}
			}
			continue
		}
		a.assign(l.args[i], w.text, l.stdin)
	}
	a.assign(l.args[0], "REPLY", l.stdin)
	a.assign(l.args[0], "MAPFILE", l.stdin)
}

func (a *analysis) names(l line, from int) {
	for i := from; i < len(l.args); i++ {
		a.name(l, i)
	}
}

// name refuses a value as a variable's name.
func (a *analysis) name(l line, i int) {
	if t := l.taints[i]; t.level > clean {
		a.refuse(l.args[i], "Value as a variable's name", `A shell runs code inside the name of a variable, and %s can be any text. Write the name as text.`, t.from)
	}
}

// printf takes a format, which is a small language of its own, and with -v the name of a variable.
func (a *analysis) printf(l line) {
	i := 1
	if len(l.args) > 2 && l.words[1].whole && l.words[1].text == "-v" {
		a.name(l, 2)
		if l.words[2].whole {
			t := taint{}
			if !counts("printf", l.words[2:]) {
				t = loosest(l.taints[3:]).glued()
			}
			a.assign(l.args[2], l.words[2].text, t)
		}
		i = 3
	}
	if i < len(l.args) && l.words[i].whole && l.words[i].text == "--" {
		i++
	}
	if i < len(l.args) && l.taints[i].level > clean {
		a.refuse(l.args[i], "Value in a format", `printf would take %% and backslashes in %s as directions. Write printf '%%s\n' ${...}.`, l.taints[i].from)
	}
}

// testCommand is [ ... ] and test.
func (a *analysis) testCommand(l line) {
	for i := 1; i < len(l.args); i++ {
		if !l.words[i].whole {
			continue
		}
		switch l.words[i].text {
		case "-v", "-R":
			if i+1 < len(l.args) {
				a.name(l, i+1)
			}
		case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
			for _, j := range []int{i - 1, i + 1} {
				if a.bash && j > 0 && j < len(l.args) && l.taints[j].level > clean {
					a.refuse(l.args[j], "Value in arithmetic", arithmeticDetail, l.taints[j].from)
				}
			}
		}
	}
}
