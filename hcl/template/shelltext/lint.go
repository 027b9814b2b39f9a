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
		for _, w := range l.words {
			if w.level == tainted {
				a.warnAt(w.node, "Value given to echo",
					`echo changes backslashes and takes -n and -e for options. Write printf '%%s\n' %s.`,
					cmp.Or(a.sourceOf(w.node), "..."))
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
		a.lintFolder(w)
		if processOf(w.node) != nil || w.level != tainted || w.constant || w.text != "" {
			continue
		}
		if before := words[i-1]; i > 1 && before.constant && isOption(before.text) && !bareOptions[inner] {
			continue
		}
		a.lintDash(w, inner, dangerous)
	}
}

// noOptions are commands without relevant options after the first word.
var noOptions = template.WordSet(`printf test [ : true false exit return shift set export readonly local read sleep eval
	trap alias . source unset let expr basename dirname break continue`)

// bareOptions are programs whose options rarely take an argument.
var bareOptions = template.WordSet("rm ls cat cp mv rmdir ln chmod chown touch wc")

func (a *taintWalk) lintDash(w word, program string, dangerous bool) {
	hint := `Write -- before it: ` + program + ` ... -- ` + interpolation(w.from) + `.`
	if program == "find" {
		hint = `Write ./ before it: "./` + interpolation(w.from) + `".`
	}
	if dangerous {
		a.errorAt(w.node, "Value may be an option", `%s may begin with "-", and %s has options that run code. %s`, w.from,
			program, hint)
		return
	}
	a.warnAt(w.node, "Value may be an option", `%s may begin with "-", which %s would read as an option. %s`, w.from,
		program, hint)
}

func (a *taintWalk) lintFolder(w word) {
	if dir, ok := looksLikeFolder(w.text); ok && w.level > trusted && !w.constant {
		a.warnAt(w.node, "Path may leave its folder",
			`%[1]s may hold "..". To stay below the folder write ${under(%[2]q, %[1]s)}.`, w.from, dir)
	}
}
