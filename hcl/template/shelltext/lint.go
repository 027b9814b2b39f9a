package shelltext

import "strings"

// lint warns of what is allowed and often wrong.
func (a *analysis) lint(l line, name string) {
	if !a.report || quiet[name] {
		return
	}
	if name == "echo" {
		for i, t := range l.taints {
			if t.level == loose {
				a.warn(l.args[i], "Value given to echo", `echo changes backslashes and takes -n and -e for options. Write printf '%%s\n' %s.`, orDefault(a.written(l.args[i]), "..."))
			}
		}
		return
	}
	words := innermost(l.words)
	if len(words) == 0 || !words[0].whole {
		return
	}
	inner, p, dangerous := lookup(words[0].text)
	dangerous = dangerous || inner == "find"
	if quiet[inner] {
		return
	}
	operands := 0
	for i := 1; i < len(words); i++ {
		w := words[i]
		if w.whole && w.text == "--" {
			return
		}
		if w.whole && !strings.HasPrefix(w.text, "-") {
			operands++
		}
		if operands > 0 && dangerous && (p.operand == fileFirst || p.operand == codeFirst && strings.HasSuffix(inner, "awk")) {
			return
		}
		a.folder(l, w)
		if processOf(l.args[w.index]) != nil {
			continue
		}
		if !w.free || w.path || w.whole || w.text != "" {
			continue
		}
		if before := words[i-1]; i > 1 && before.whole && isOption(before.text) && !bareOptions[inner] {
			continue
		}
		a.dash(l, w, inner, dangerous)
	}
}

// quiet commands take no options behind their first word, or none that matter.
var quiet = set("printf", "test", "[", ":", "true", "false", "exit", "return", "shift", "set", "export", "readonly", "local", "read", "sleep", "eval", "trap", "alias", ".", "source", "unset", "let", "expr", "basename", "dirname", "break", "continue")

// bareOptions are programs whose options mostly take no value.
var bareOptions = set("rm", "ls", "cat", "cp", "mv", "rmdir", "ln", "chmod", "chown", "touch", "wc")

func (a *analysis) dash(l line, w word, program string, dangerous bool) {
	from := l.taints[w.index].from
	hint := `Write -- in front of it: ` + program + ` ... -- ` + interpolation(from) + `.`
	if program == "find" {
		hint = `Write ./ in front of it: "./` + interpolation(from) + `".`
	}
	if dangerous {
		a.refuse(l.args[w.index], "Value may be an option", `%s may begin with "-", and %s has options that run code. %s`, from, program, hint)
		return
	}
	a.warn(l.args[w.index], "Value may be an option", `%s may begin with "-", which %s would take for an option. %s`, from, program, hint)
}

func (a *analysis) folder(l line, w word) {
	if !w.free || w.whole {
		return
	}
	if dir, ok := looksLikeFolder(w.text); ok {
		a.warn(l.args[w.index], "Path may leave its folder", `%s may hold "..". To stay below the folder write ${under(%q, %s)}.`, l.taints[w.index].from, dir, l.taints[w.index].from)
	}
}
