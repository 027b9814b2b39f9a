package shelltext

import (
	"maps"
	"slices"

	"hatchel/hcl/template"
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
	loose bool   // it may hold a slash or begin with a dot, so that a path with it may leave its folder
	path  bool   // it is loose and begins as a path
	wild  bool   // it may have characters that a shell splits or expands, or begin with a dash
}

func (t taint) max(u taint) taint {
	loose, path, wild := t.loose || u.loose, t.path || u.path, t.wild || u.wild
	if u.level > t.level || u.level == t.level && (u.loose && !t.loose || u.wild && !t.wild) {
		t = u
	}
	t.loose, t.path, t.wild = loose, path, wild
	return t
}

// taintOf returns the taint of a value of a type.
func taintOf(t template.Type, source string) taint {
	out := taint{from: source}
	elem := t
	if t.Kind == template.List && t.Elem != nil && !t.Known {
		elem = *t.Elem
	}
	if CallerControlled(elem) {
		out.level, out.loose, out.path = tainted, !t.SafeInPath(), t.Path == template.PathUnsafe
		out.wild = !elem.Word
		if t.Path == template.PathUnder {
			out.level = confined
		}
	}
	return out
}

// taintOfStdin returns the taint of the standard input.
func (in Inputs) taintOfStdin() taint {
	if in.Stdin == "" {
		return taint{}
	}
	return taint{level: tainted, from: in.Stdin, loose: true, wild: true}
}

// taintOfEnv returns the taint of what a program may write of its environment.
func (in Inputs) taintOfEnv() (t taint) {
	for _, name := range slices.Sorted(maps.Keys(in.Env)) {
		t = t.max(taintOf(in.Env[name].Type, in.Env[name].Source))
	}
	return t
}

// computed returns the taint of a text that was computed from a value, such as the output of a program.
func (t taint) computed() taint {
	t = t.concatenated()
	t.wild = t.level > trusted
	return t
}

// concatenated returns the taint of a word with several parts: a path with a suffix may be outside
// its folder.
func (t taint) concatenated() taint {
	if t.level == confined {
		t.level, t.loose = tainted, true
	}
	return t
}

// join records the taint of a variable, or of a function's parameters, input or output. Taints only
// increase.
func (a *taintWalk) join(m map[string]taint, name string, t taint) {
	if joined := m[name].max(t); joined.level > m[name].level || joined.loose && !m[name].loose ||
		joined.path && !m[name].path || joined.wild && !m[name].wild {
		m[name] = joined
		a.changed = true
	}
}
