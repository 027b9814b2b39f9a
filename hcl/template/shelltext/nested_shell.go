package shelltext

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// checkCode reports values that a program would run as code.
func (a *taintWalk) checkCode(l simpleCommand, name string) {
	words := l.words
	if t := l.stdin; name == "xargs" && t.level > trusted && (!l.top || a.report) {
		words = a.xargsWords(l)
	}
	for _, f := range findCode(words) {
		if !f.word.callerControlled || f.file && f.word.confined {
			continue
		}
		a.reportCode(l, f)
	}
	if reader, ok := readsProgram(l.words); ok && l.stdin.level > trusted {
		a.errorAt(l.args[0], "Value in a program's code",
			`%s runs its standard input as code, and here the input is %s. Give it its program as constant `+
				`text and the `+
				`value as an argument.`, reader, l.stdin.from)
	}
	a.inlineShell(l)
}

// xargsWords adds the words of xargs: its standard input at the end, or in place of the text that
// -I names.
func (a *taintWalk) xargsWords(l simpleCommand) []word {
	words := append([]word(nil), l.words...)
	for i := 1; i < len(words); i++ {
		if text := words[i].text; strings.HasPrefix(text, "-I") || strings.HasPrefix(text, "--replace") ||
			text == "-i" {
			mark := "{}"
			switch {
			case text == "-I" && i+1 < len(words):
				i++
				mark = words[i].text
			case strings.HasPrefix(text, "-I"):
				mark = text[2:]
			case strings.HasPrefix(text, "--replace="):
				mark = text[len("--replace="):]
			}
			for j := i + 1; j < len(words); j++ {
				if before, _, ok := strings.Cut(words[j].text, mark); ok && mark != "" {
					words[j].text, words[j].constant, words[j].callerControlled = before, false, true
				}
			}
			return words
		}
	}
	return append(words, word{callerControlled: true, index: -1})
}

// interpolation returns the notation of a value in a script.
func interpolation(from string) string {
	if from == standardInput {
		return `"$x"`
	}
	return "${" + from + "}"
}

// scriptHint adapts a hint of commandSpecs to a script.
func scriptHint(f codeWord, value string) string {
	switch f.hint {
	case hintAwk:
		return `Give the value in the environment, X=` + value + ` awk '...', and read ENVIRON["X"] in the program.`
	case hintShell:
		return `Give the value to the code as an argument: ` + f.program + ` -c '... "$1" ...' sh ` + value + `.`
	case hintJq:
		return `Give the value by name, --arg x ` + value + `, and read $x in the program.`
	}
	return f.hintFor(value)
}

func (a *taintWalk) reportCode(l simpleCommand, f codeWord) {
	i, from := f.word.index, ""
	if i < 0 || l.taints[i].level == trusted {
		from = l.stdin.from
		i = max(i, 0)
	} else {
		from = l.taints[i].from
	}
	hint := scriptHint(f, interpolation(from))
	switch {
	case f.command:
		a.errorAt(l.args[i], "Program depends on a call", `%s would run whatever program %s names. %s`, f.program,
			from, hint)
	case f.file:
		a.errorAt(l.args[i], "Program depends on a call",
			`%s would run whatever file %s names. Write the file's name as text, or keep it below a fixed `+
				`folder: ${under("/folder", ...)}.`, f.program, from)
	default:
		a.errorAt(l.args[i], "Value in a program's code", `%s runs this word as code, so it cannot hold %s. %s`,
			f.program, from, hint)
	}
}

// inlinePrefix is the prefix of the name for the positional parameters of inline code.
const inlinePrefix = "\x00"

// inlineShell walks constant code of a shell: sh -c '... $1 ...' sh value.
func (a *taintWalk) inlineShell(l simpleCommand) {
	for k := range l.words {
		if !l.words[k].constant {
			continue
		}
		if _, p, ok := lookup(l.words[k].text); ok && p.shell {
			a.inlineCode(l, k)
		}
	}
}

func (a *taintWalk) inlineCode(l simpleCommand, shell int) {
	for i := shell + 1; i < len(l.words)-1; i++ {
		option, code := l.words[i], l.words[i+1]
		if !option.constant || !strings.HasPrefix(option.text, "-") || strings.HasPrefix(option.text, "--") ||
			!strings.Contains(option.text, "c") {
			continue
		}
		if !code.constant {
			return
		}
		given := maxTaint(l.taints[i+2:])
		sc := scope{function: inlinePrefix + code.text, stdin: l.stdin, top: l.top}
		if path.Base(l.words[0].text) == "xargs" {
			given = given.max(l.stdin)
		}
		a.flow.join(a.flow.args, sc.function, given)
		a.inline(l.args[i+1], code.text, sc)
		return
	}
}

// inline walks constant code in a word. It ignores code that cannot be parsed, because a shell
// cannot run it.
func (a *taintWalk) inline(w *syntax.Word, code string, sc scope) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(code), "")
	if err != nil {
		return
	}
	if a.nested == nil {
		from, to := a.span(w)
		a.nested = &nested{from, to}
		defer func() { a.nested = nil }()
	}
	a.stmts(file.Stmts, sc)
}
