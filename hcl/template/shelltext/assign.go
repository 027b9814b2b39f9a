package shelltext

import (
	"slices"
	"strings"

	"hatchel/internal/lazyregexp"

	"mvdan.cc/sh/v3/syntax"
)

// assign records an assignment by n to a variable.
func (a *taintWalk) assign(n syntax.Node, name string, t taint) {
	if t.level == tainted && (LoadsCode(name) || computedVariables[name]) {
		a.errorAt(n, "Value in a program's code",
			`The shell or other programs compute with the variable %s, or find code through it, so it `+
				`cannot hold %s. Use a variable of another name.`, name, t.from)
	}
	a.join(a.vars, name, t)
}

// assignUnknown records an assignment of a text that the script does not write.
func (a *taintWalk) assignUnknown(n syntax.Node, name string, t taint) {
	a.assign(n, name, t)
	a.noteTexts(name, anyText)
}

// assignment follows NAME=value, NAME+=value, NAME=(values) or NAME[index]=value.
func (a *taintWalk) assignment(as *syntax.Assign, sc scope) taint {
	a.checkArithmetic(as.Index, sc)
	t := a.word(as.Value, sc)
	if t.loose && as.Value != nil {
		t.path = t.path || a.isPath(as.Value, sc)
	}
	if as.Array != nil {
		list := wordList{appends: as.Append}
		for _, e := range as.Array.Elems {
			a.checkArithmetic(e.Index, sc)
			t = t.max(a.word(e.Value, sc))
			if as.Name != nil && e.Value != nil {
				a.noteNames(as.Name.Value, e.Value, sc)
				list.words = append(list.words, a.expansions(e.Value, sc)[0]...)
			}
		}
		if as.Name != nil {
			a.noteList(as.Name.Value, list)
		}
	}
	if as.Name == nil {
		return t
	}
	if as.Append {
		t = t.concatenated()
	}
	a.assign(as, as.Name.Value, t)
	if as.Append {
		a.noteTexts(as.Name.Value, concatenate(a.variableTexts(as.Name.Value, sc), a.wordTexts(as.Value, sc))...)
	}
	if as.Array == nil {
		a.noteNames(as.Name.Value, as.Value, sc)
	}
	if as.Value != nil && namesCode(as.Name.Value) {
		a.checkProgramFile(word{node: as.Value, texts: a.wordTexts(as.Value, sc)}, sc.stdin)
	}
	return t
}

// noteNames records the variables that a word names which is assigned to a variable: in its constant text,
// and through other variables. It does not read commands in the word.
func (a *taintWalk) noteNames(variable string, w *syntax.Word, sc scope) {
	if w == nil {
		return
	}
	a.noteTexts(variable, a.wordTexts(w, sc)...)
	for text, p := range flatten(w.Parts) {
		names := variableName.FindAllString(text, -1)
		if x, ok := p.(*syntax.ParamExp); ok && x.Param != nil {
			names = a.names[nameKey(x.Param.Value, sc)]
			if x.Exp != nil {
				a.noteNames(variable, x.Exp.Word, sc)
			}
		}
		for _, name := range names {
			if !slices.Contains(a.names[variable], name) {
				a.names[variable], a.changed = append(a.names[variable], name), true
			}
		}
	}
}

// nameKey returns the key in names of a variable. All positional parameters of a function have one.
func nameKey(variable string, sc scope) string {
	if isPositional(variable) {
		return argsKey(sc.function)
	}
	return variable
}

func argsKey(function string) string { return "@" + function }

var variableName = lazyregexp.New(`[A-Za-z_]\w*`)

// declare follows export, readonly, local, declare and typeset.
func (a *taintWalk) declare(c *syntax.DeclClause, sc scope) {
	for _, as := range c.Args {
		if as.Name == nil && as.Value != nil && a.anyTainted && c.Variant.Value != "export" &&
			c.Variant.Value != "readonly" {
			switch option := as.Value.Lit(); {
			case strings.HasPrefix(option, "-") && strings.Contains(option, "i"):
				a.errorAt(as, "Value in arithmetic",
					`With %[1]s the shell computes with whatever the variable is given, and a value of the call can `+
						`be any text. Leave %[1]s out and compute where it is meant: n=$((n + 1)).`, option)
			case strings.HasPrefix(option, "-") && strings.Contains(option, "n"):
				a.errorAt(as, "Value as a variable's name",
					`With %s a variable names another one, whose value cannot be checked. Use the other variable `+
						`itself.`, option)
			}
		}
		t := a.assignment(as, sc)
		if as.Name == nil && t.level > trusted {
			a.errorAt(as, "Value as a variable's name",
				`%[1]s would choose which variable %[2]s sets. Write the name as text: %[2]s name=${...}.`, t.from,
				c.Variant.Value)
		}
		if as.Name != nil && as.Value != nil && !a.bash {
			a.warnUnquoted(as.Value, sc)
		}
	}
}
