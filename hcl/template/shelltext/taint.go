package shelltext

import (
	"maps"
	"slices"
)

// level is the degree to which a caller controls a text.
type level int

const (
	trusted  level = iota // not controlled: constant text, a number, a value of an enum
	confined              // a path below a folder that the author chose
	tainted               // any text
)

// taint describes how a variable or word depends on the values of a call.
type taint struct {
	level level
	from  string // the source text of the value
}

func (t taint) max(u taint) taint {
	if u.level > t.level {
		return u
	}
	return t
}

// taintOfStdin returns the taint of the standard input.
func (in Inputs) taintOfStdin() taint {
	if in.Stdin == "" {
		return taint{}
	}
	return taint{tainted, in.Stdin}
}

// taintOfEnv returns the taint of what a program may write of its environment.
func (in Inputs) taintOfEnv() (t taint) {
	for _, name := range slices.Sorted(maps.Keys(in.Env)) {
		t = t.max(taint{tainted, in.Env[name]})
	}
	return t
}

// concatenated returns the taint of a word with several parts: a path with a suffix may be outside
// its folder.
func (t taint) concatenated() taint {
	if t.level == confined {
		t.level = tainted
	}
	return t
}

// join records the taint of a variable, or of a function's parameters, input or output. Taints only
// increase.
func (a *taintWalk) join(m map[string]taint, name string, t taint) {
	if t.level > m[name].level {
		m[name] = t
		a.changed = true
	}
}
