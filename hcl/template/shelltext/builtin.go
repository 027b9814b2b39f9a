package shelltext

import (
	"slices"
	"strings"

	"hatchel/internal/lazyregexp"
)

// builtin follows and checks the builtin commands of the shell.
func (a *taintWalk) builtin(l simpleCommand, name string) {
	first, operands := l.words[0], l.words[1:]
	switch name {
	case "set":
		a.setCommand(l, operands)
	case "read", "mapfile", "readarray":
		a.readCommand(l, name)
	case "shift":
		a.shifts = true
	case "unset":
		a.rejectNames(operands)
		a.unsets = a.unsets || slices.ContainsFunc(operands, func(w word) bool { return !w.constant || !isOperand(w) })
	case "getopts":
		a.assignUnknown(first.node, "OPTARG", a.args[l.function])
		if len(operands) > 1 {
			a.rejectNames(operands[1:])
			if operands[1].constant {
				a.assignUnknown(operands[1].node, operands[1].text, a.args[l.function])
			}
		}
	case "export", "readonly", "local", "declare", "typeset", "let":
		for _, w := range operands {
			n, _, ok := strings.Cut(w.text, "=")
			switch {
			case !ok || name == "let":
				a.rejectName(w.node, w.taint)
			case n != "":
				a.assign(w.node, n, w.taint)
				a.noteNames(n, w.node, l.scope)
				for _, text := range w.texts {
					a.noteTexts(n, text[strings.IndexByte(text, '=')+1:])
				}
			}
			if namesCode(n) {
				a.checkProgramFile(w, l.stdin)
			}
		}
	case "printf":
		a.printf(operands)
	case "test", "[":
		a.testCommand(operands)
	case "cd", "pushd", "popd":
		a.assignUnknown(first.node, "PWD", maxTaint(l.words).computed())
		a.assignUnknown(first.node, "OLDPWD", maxTaint(l.words).computed())
	case "tee", "dd", "sponge":
		a.noteCopied(operands, l.stdin, false)
	case "split", "csplit":
		a.noteParts(operands, l.stdin)
	case "awk", "gawk", "mawk", "nawk":
		a.awkCommands(l, operands)
	case "sort":
		if slices.ContainsFunc(operands, func(w word) bool { return strings.HasPrefix(w.text, "-o") }) {
			a.noteCopied(operands, l.stdin, false)
		}
	case "cp", "mv", "ln", "install":
		from := taint{}
		if slices.ContainsFunc(operands, func(w word) bool { return slices.ContainsFunc(w.texts, mayBeDescriptor) }) {
			from = l.stdin.max(a.vars[stored])
		}
		a.noteCopied(operands, from, true)
	case "env", "sudo", "doas", "alias":
		for _, w := range operands {
			n, _, ok := strings.Cut(w.text, "=")
			if ok && n != "" {
				a.join(a.vars, n, w.taint)
			}
			if ok && n == "PATH" {
				for _, text := range w.texts {
					a.noteTexts(n, text[strings.IndexByte(text, '=')+1:])
				}
			}
			if namesCode(n) {
				a.checkProgramFile(w, l.stdin)
			}
			if ok && name == "alias" && w.level == trusted {
				for _, text := range w.texts {
					_, code, _ := strings.Cut(text, "=")
					a.inline(w.node, codeText(code), l.scope)
				}
			}
		}
	case "trap":
		if len(operands) > 0 && operands[0].constant {
			a.inline(operands[0].node, operands[0].text, l.scope)
		}
	case "eval":
		codes, all := []string{""}, true
		for _, w := range operands {
			texts := w.texts
			if w.constant {
				texts = []string{w.text}
			}
			codes, all = concatenate(concatenate(codes, []string{" "}), texts), all && w.constant
		}
		if len(operands) == 0 || maxTaint(operands).level > trusted {
			return
		}
		for _, code := range codes {
			a.inline(operands[0].node, codeText(code), l.scope)
		}
		if !all && a.anyTainted {
			a.warnAt(first.node, "Code in eval",
				`The code that eval runs cannot be checked: if it reads a variable that holds a value of the call, `+
					`that value may become code. Write the command out.`)
		}
	}
}

// noteParts records the files of split and csplit: an operand is the beginning of their names, or their contents.
func (a *taintWalk) noteParts(operands []word, t taint) {
	names := []string{"x" + anyText, "xx" + anyText}
	for _, w := range operands {
		t = t.max(a.contents(w.texts))
		if w.constant && !strings.HasPrefix(w.text, "-") {
			names = append(names, w.text+anyText)
		}
	}
	a.noteWritten(names, t)
}

// awkCommand matches a constant command line of the shell in a program of awk: that of system, of a pipe to a command
// and of one from it.
var awkCommand = lazyregexp.New(`system\s*\(\s*"((?:[^"\\]|\\.)*)"|\|&?\s*"((?:[^"\\]|\\.)*)"|` +
	`"((?:[^"\\]|\\.)*)"\s*\|&?\s*getline`)

// awkCommands follows the constant command lines in a program of awk, which get what awk gets.
func (a *taintWalk) awkCommands(l simpleCommand, operands []word) {
	inside := l.scope
	inside.stdin = inside.stdin.max(maxTaint(operands)).computed()
	for _, w := range operands {
		if !w.constant {
			continue
		}
		for _, m := range awkCommand.FindAllStringSubmatch(w.text, -1) {
			a.inline(w.node, m[1]+m[2]+m[3], inside)
		}
	}
}

// setCommand follows set, whose operands become the positional parameters.
func (a *taintWalk) setCommand(l simpleCommand, operands []word) {
	ended, first := false, -1
	for i, w := range operands {
		ended = ended || w.constant && w.text == "--"
		if !ended && w.level == tainted && w.text == "" {
			a.errorAt(w.node, "Option chosen by a call",
				`%s may begin with "-" and change how the shell works. Write set -- before it.`, w.from)
		}
		if first < 0 && w.text != "--" && !strings.HasPrefix(w.text, "-") {
			first = i
		}
		a.join(a.args, l.function, w.taint)
	}
	if first >= 0 {
		a.noteArguments(l.function, l, operands[first:])
	}
}

// readCommand follows read and mapfile, which assign the variables that they name.
func (a *taintWalk) readCommand(l simpleCommand, name string) {
	for _, w := range l.words[1:] {
		if !w.constant || strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "u") {
			l.stdin = l.stdin.max(a.vars[stored])
		}
	}
	takes := "dinNptu"
	if name != "read" {
		takes = "dnOsuCc"
	}
	for i := 1; i < len(l.words); i++ {
		switch w := l.words[i]; {
		case !w.constant:
			a.rejectName(w.node, w.taint)
		case !strings.HasPrefix(w.text, "-"):
			a.assignUnknown(w.node, w.text, l.stdin)
		default:
			if last := w.text[len(w.text)-1:]; strings.Contains(takes, last) && i+1 < len(l.words) {
				i++
				if last == "C" {
					a.rejectName(l.words[i].node, l.words[i].taint)
				}
			}
		}
	}
	a.assignUnknown(l.words[0].node, "REPLY", l.stdin)
	a.assignUnknown(l.words[0].node, "MAPFILE", l.stdin)
}

// rejectNames reports values in words that name variables.
func (a *taintWalk) rejectNames(words []word) {
	for _, w := range words {
		a.rejectName(w.node, w.taint)
	}
}

// printf checks printf, whose format is a language of its own, and which with -v assigns a
// variable.
func (a *taintWalk) printf(operands []word) {
	if len(operands) > 1 && operands[0].constant && operands[0].text == "-v" {
		name := operands[1]
		a.rejectName(name.node, name.taint)
		if name.constant {
			t := taint{}
			if !writesNumbersOnly("printf", operands[1:]) {
				t = maxTaint(operands[2:]).computed()
			}
			a.assignUnknown(name.node, name.text, t)
		}
		operands = operands[2:]
	}
	if len(operands) > 0 && operands[0].constant && operands[0].text == "--" {
		operands = operands[1:]
	}
	if len(operands) > 0 && operands[0].level > trusted {
		a.errorAt(operands[0].node, "Value in a format",
			`printf would take %% and backslashes in %s as directions. Write printf '%%s\n' ${...}.`, operands[0].from)
	}
}

// testCommand checks [ ... ] and test.
func (a *taintWalk) testCommand(operands []word) {
	for i, w := range operands {
		if !w.constant {
			continue
		}
		switch w.text {
		case "-v", "-R":
			a.rejectNames(operands[i+1 : min(i+2, len(operands))])
		case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
			for _, side := range operands[max(i-1, 0):min(i+2, len(operands))] {
				if a.bash {
					a.rejectNumber(side.node, side.taint)
				}
			}
		}
	}
}
