package shelltext

import (
	"cmp"
	"strings"

	"hatchel/hcl/template"
)

// lint warns about commands that are allowed but often wrong.
func (a *taintWalk) lint(l simpleCommand, name string) {
	if !a.report || noOptions[name] {
		return
	}
	if name == "echo" {
		for i, t := range l.taints {
			if t.level == tainted {
				a.warnAt(l.args[i], "Value given to echo",
					`echo changes backslashes and takes -n and -e for options. Write printf '%%s\n' %s.`,
					cmp.Or(a.sourceOf(l.args[i]), "..."))
			}
		}
		return
	}
	words := unwrap(l.words)
	if len(words) == 0 || !words[0].constant {
		return
	}
	inner, p, dangerous := lookup(words[0].text)
	dangerous = dangerous || inner == "find"
	if noOptions[inner] {
		return
	}
	operands := 0
	for i := 1; i < len(words); i++ {
		w := words[i]
		if w.constant && w.text == "--" {
			return
		}
		if w.constant && !strings.HasPrefix(w.text, "-") {
			operands++
		}
		if operands > 0 && dangerous && (p.operand == fileFirst || p.operand == codeFirst && strings.HasSuffix(inner,
			"awk")) {
			return
		}
		a.lintFolder(l, w)
		if processOf(l.args[w.index]) != nil {
			continue
		}
		if !w.callerControlled || w.confined || w.constant || w.text != "" {
			continue
		}
		if before := words[i-1]; i > 1 && before.constant && isOption(before.text) && !bareOptions[inner] {
			continue
		}
		a.lintDash(l, w, inner, dangerous)
	}
}

// noOptions are commands without relevant options after the first word.
var noOptions = template.WordSet(`printf test [ : true false exit return shift set export readonly local read sleep eval
	trap alias . source unset let expr basename dirname break continue`)

// bareOptions are programs whose options rarely take an argument.
var bareOptions = template.WordSet("rm ls cat cp mv rmdir ln chmod chown touch wc")

func (a *taintWalk) lintDash(l simpleCommand, w word, program string, dangerous bool) {
	from := l.taints[w.index].from
	hint := `Write -- before it: ` + program + ` ... -- ` + interpolation(from) + `.`
	if program == "find" {
		hint = `Write ./ before it: "./` + interpolation(from) + `".`
	}
	if dangerous {
		a.errorAt(l.args[w.index], "Value may be an option",
			`%s may begin with "-", and %s has options that run code. %s`, from, program, hint)
		return
	}
	a.warnAt(l.args[w.index], "Value may be an option", `%s may begin with "-", which %s would read as an option. %s`,
		from, program, hint)
}

func (a *taintWalk) lintFolder(l simpleCommand, w word) {
	if !w.callerControlled || w.constant {
		return
	}
	if dir, ok := looksLikeFolder(w.text); ok {
		a.warnAt(l.args[w.index], "Path may leave its folder",
			`%s may hold "..". To stay below the folder write ${under(%q, %s)}.`, l.taints[w.index].from, dir,
			l.taints[w.index].from)
	}
}
