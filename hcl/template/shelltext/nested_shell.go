package shelltext

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// checkCode reports values that a program would run as code.
func (a *taintWalk) checkCode(l simpleCommand, name string) {
	words := l.words
	if input := l.stdin.max(a.argumentFiles(words)); input.level > trusted && (!l.top || a.report) {
		words = xargsWords(words, word{taint: input, node: words[0].node})
	}
	for _, f := range findCode(words) {
		if f.word.level > trusted && !(f.file && f.word.level == confined) {
			a.reportCode(f)
		}
	}
	if reader, ok := readsProgram(l.words); ok && l.stdin.level > trusted {
		a.errorAt(l.words[0].node, "Value in a program's code",
			`%s runs its standard input as code, and here the input is %s. Give it its program as constant text and `+
				`the value as an argument.`, reader, l.stdin.from)
	}
	a.inlineShell(l)
}

// xargsWords adds the words that xargs reads from its standard input: at the end, or in place of the
// text that -I names. Other commands stay as they are.
func xargsWords(words []word, input word) []word {
	if len(words) == 0 || !words[0].constant || path.Base(words[0].text) != "xargs" {
		return words
	}
	words = slices.Clone(words)
	for i := 1; i < len(words); i++ {
		text := words[i].text
		if !strings.HasPrefix(text, "-I") && !strings.HasPrefix(text, "--replace") && text != "-i" {
			continue
		}
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
			w := &words[j]
			if before, _, ok := strings.Cut(w.text, mark); ok && mark != "" {
				w.text, w.constant, w.texts = before, false, input.texts
				if w.level == trusted {
					w.taint = input.taint
				}
			}
		}
		return words
	}
	return append(slices.Clip(words), input)
}

// argumentFiles returns the taint of the files in which xargs finds words.
func (a *taintWalk) argumentFiles(words []word) (t taint) {
	if words[0].constant && path.Base(words[0].text) == "xargs" {
		for i, w := range words {
			if strings.HasPrefix(w.text, "-a") || strings.HasPrefix(w.text, "--arg-file") ||
				i > 0 && words[i-1].text == "-a" {
				t = t.max(a.contents(w.texts).computed())
			}
		}
	}
	return t
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

func (a *taintWalk) reportCode(f codeWord) {
	node, from := f.word.node, f.word.from
	if f.reads {
		if f.word.loose {
			a.rejectPath(f.word, "it names a file of "+f.program)
		}
		return
	}
	hint := scriptHint(f, interpolation(from))
	switch {
	case f.command:
		a.errorAt(node, "Program depends on a call", `%s would run whatever program %s names. %s`, f.program, from,
			hint)
	case f.file:
		a.errorAt(node, "Program depends on a call",
			`%s would run whatever file %s names. Write the file's name as text, or keep it below a fixed folder: `+
				`${under("/folder", ...)}.`, f.program, from)
	default:
		a.errorAt(node, "Value in a program's code", `%s runs this word as code, so it cannot hold %s. %s`, f.program,
			from, hint)
	}
}

// inlinePrefix is the prefix of the name for the positional parameters of inline code.
const inlinePrefix = "\x00"

// inlineShell walks constant code of a shell: sh -c '... $1 ...' sh value.
func (a *taintWalk) inlineShell(l simpleCommand) {
	words := l.withFoundFiles()
	for i := range words {
		a.inlineCode(l, words[i:])
	}
}

// shellCode returns the index of the constant code that a command line gives to a shell, or 0.
func shellCode(words []word) int {
	s, ok := newOptionScanner(words)
	if !ok || !s.shell && !s.runsShell {
		return 0
	}
	s.run()
	return s.shellCode
}

// inlineCode walks the constant code in the words of a shell.
func (a *taintWalk) inlineCode(l simpleCommand, words []word) {
	i := shellCode(words)
	if i == 0 || words[i].level > trusted {
		return
	}
	code, given := words[i], maxTaint(words[i+1:])
	if path.Base(l.words[0].text) == "xargs" {
		given = given.max(l.stdin)
	}
	texts := []string{code.text}
	if !code.constant {
		texts = code.texts
	}
	for _, text := range texts {
		sc := scope{function: inlinePrefix + text, stdin: l.stdin, top: l.top}
		a.join(a.args, sc.function, given)
		a.noteArguments(sc.function, l, words[min(i+2, len(words)):])
		if i+1 < len(words) {
			a.noteTexts(argsKey(sc.function), words[i+1].texts...) // $0
		}
		a.inline(code.node, codeText(text), sc)
	}
}

// inline walks constant code in a word. It ignores code that cannot be parsed, because a shell
// cannot run it.
func (a *taintWalk) inline(w *syntax.Word, code string, sc scope) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(code), "")
	if err != nil {
		return
	}
	a.noteFunctions(file)
	if a.nested == nil {
		from, to := a.span(w)
		a.nested = &nested{from, to}
		defer func() { a.nested = nil }()
	}
	a.stmts(file.Stmts, sc)
}
