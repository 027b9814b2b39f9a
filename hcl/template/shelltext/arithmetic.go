package shelltext

import "mvdan.cc/sh/v3/syntax"

// test walks the expression of [[ ... ]].
func (a *taintWalk) test(x syntax.TestExpr, sc scope) {
	switch x := x.(type) {
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			for _, side := range []syntax.TestExpr{x.X, x.Y} {
				if w, ok := side.(*syntax.Word); ok {
					a.checkNumber(w, sc)
				}
			}
			return
		}
		a.test(x.X, sc)
		a.test(x.Y, sc)
	case *syntax.UnaryTest:
		if w, ok := x.X.(*syntax.Word); ok && (x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar) {
			a.rejectName(w, a.word(w, sc))
			return
		}
		a.test(x.X, sc)
	case *syntax.ParenTest:
		a.test(x.X, sc)
	case *syntax.Word:
		a.word(x, sc)
	}
}

// checkNumber checks a word that the shell evaluates as a number.
func (a *taintWalk) checkNumber(w *syntax.Word, sc scope) {
	t := a.word(w, sc)
	for text, p := range flatten(w.Parts) {
		for _, name := range variableName.FindAllString(text, -1) {
			t = t.max(a.variable(name, sc)).max(a.named(name, map[string]bool{}))
		}
		if p, ok := p.(*syntax.ParamExp); ok && p.Param != nil {
			t = t.max(a.named(nameKey(p.Param.Value, sc), map[string]bool{}))
		}
	}
	a.rejectNumber(w, t)
}

// named returns the taint of the variables that a variable's value names. Arithmetic computes with
// them: after w=v, $((w)) is the value of v.
func (a *taintWalk) named(name string, seen map[string]bool) (t taint) {
	seen[name] = true
	for _, other := range a.names[name] {
		if t = t.max(a.vars[other]); !seen[other] {
			t = t.max(a.named(other, seen))
		}
	}
	return t
}

// rejectNumber reports a value in arithmetic.
func (a *taintWalk) rejectNumber(n syntax.Node, t taint) {
	if t.level > trusted {
		a.errorAt(n, "Value in arithmetic",
			`A shell runs code inside arithmetic, and %s can be any text. Make the input an integer, or turn it into `+
				`a number first: n=$(printf '%%d' "$x").`, t.from)
	}
}

// rejectName reports a value as a variable's name.
func (a *taintWalk) rejectName(n syntax.Node, t taint) {
	if t.level > trusted {
		a.errorAt(n, "Value as a variable's name",
			`A shell runs code inside the name of a variable, and %s can be any text. Write the name as text.`, t.from)
	}
}

// checkArithmetic walks an arithmetic expression, if there is one. Its result is always a number.
func (a *taintWalk) checkArithmetic(x syntax.ArithmExpr, sc scope) {
	if x == nil {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		w, isWord := n.(*syntax.Word)
		if isWord {
			a.checkNumber(w, sc)
		}
		return !isWord
	})
}
