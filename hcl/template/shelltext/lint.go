package shelltext

import (
	"cmp"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"hatchel/hcl/template"
)

// lint warns about commands that are allowed but often wrong.
func (a *taintWalk) lint(l simpleCommand, name string) {
	if !a.report || noOptions[name] {
		return
	}
	if name == "echo" {
		for _, w := range l.words {
			if w.level == tainted && w.wild {
				a.warnAt(w.node, "Value given to echo",
					`echo changes backslashes and takes -n and -e for options. Write printf '%%s\n' %s.`,
					cmp.Or(a.sourceOf(w.node), "..."))
			}
		}
		return
	}
	lines := commandLines(l.words)
	words := lines[len(lines)-1]
	if !words[0].constant {
		return
	}
	inner, p, dangerous := lookup(words[0].text)
	dangerous = dangerous && p.operand != file && (p.operand != data || p.code+p.codes+p.adds != "") || inner == "find"
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
		if processOf(w.node) != nil || w.level != tainted || !w.wild || w.constant || w.text != "" {
			continue
		}
		if before := words[i-1]; i > 1 && before.constant && isOption(before.text) && !bareOptions[inner] {
			continue
		}
		if i > 2 && namedArguments[words[i-2].text] {
			continue
		}
		a.lintDash(w, inner, dangerous)
	}
}

// namedArguments are options of jq with a name and a value.
var namedArguments = template.WordSet("--arg --argjson")

// noOptions are commands without relevant options after the first word.
var noOptions = template.WordSet(`printf test [ : true false exit return shift set export readonly local read sleep eval
	trap alias . source unset let expr basename dirname break continue`)

// bareOptions are programs whose options rarely take an argument.
var bareOptions = template.WordSet("rm ls cat cp mv rmdir ln chmod chown touch wc")

func (a *taintWalk) lintDash(w word, program string, dangerous bool) {
	if a.HasErrorAt(a.rangeOf(a.span(w.node))) {
		return
	}
	hint := `Write -- before it: ` + program + ` ... -- ` + interpolation(w.from) + `.`
	if program == "find" {
		hint = `Write ./ before it: "./` + interpolation(w.from) + `".`
	}
	if dangerous {
		a.errorAt(w.node, "Value may be an option",
			`%s may begin with "-", and %s has options that run code. %s`, w.from, program, hint)
		return
	}
	a.warnAt(w.node, "Value may be an option", `%s may begin with "-", which %s would read as an option. %s`, w.from,
		program, hint)
}

// checkPaths reports words that are paths and that a caller's value can make leave their folder.
func (a *taintWalk) checkPaths(l simpleCommand, name string) {
	if noOptions[name] || name == "echo" {
		return
	}
	for _, w := range l.words[1:] {
		if w.node != nil && w.loose && (w.path || a.isPath(w.node, l.scope)) {
			a.rejectPath(w, "the word is a path")
		}
	}
}

func (a *taintWalk) rejectPath(w word, why string) {
	if !a.HasErrorAt(a.rangeOf(a.span(w.node))) {
		a.errorAt(w.node, LoosePath, "%s", LoosePathDetail(w.from, why, false))
	}
}

// isPath reports whether a value in a word is in a path.
func (a *taintWalk) isPath(w *syntax.Word, sc scope) bool {
	var prefix template.PathPrefix
	for text, p := range flatten(w.Parts) {
		switch {
		case p == nil:
			prefix.AddText(text)
		case !a.part(p, sc).loose:
			prefix.AddDir(a.knownText(p))
		case prefix.IsPath():
			return true
		default:
			prefix.AddText("value")
		}
	}
	return false
}

// knownText returns the text of a value that is known at load, or a stand-in.
func (a *taintWalk) knownText(p syntax.WordPart) string {
	if p, ok := p.(*syntax.ParamExp); ok && p.Param != nil {
		if h := a.values[p.Param.Value]; h != nil && len(h.Type.Texts()) > 0 {
			return h.Type.Texts()[0]
		}
	}
	return "dir"
}
