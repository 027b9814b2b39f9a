package urltext

import "hatchel/hcl/template"

// phase is a part of a URL.
type phase int

// state is the position of a rendering in a URL. Renderings with equal states do not differ from
// there on.
type state struct {
	phase           phase
	head            string                  // the scheme or the host so far
	first           bool                    // in the first segment
	dots            string                  // the segment so far if it is "", "." or "..", else "x"
	value           *template.Interpolation // the last value in the segment
	hasEscapedSlash bool                    // the constant text contains an escaped separator
	fromPathFunc    bool                    // the value is a path()
	inName          bool                    // in a query: before =
}

func mapStates(in []state, step func(state) state) []state {
	var out []state
	for _, s := range in {
		out = union(out, []state{step(s)})
	}
	return out
}

func union(a, b []state) []state {
	out := append([]state(nil), a...)
	for _, s := range b {
		known := false
		for _, o := range out {
			known = known || o == s
		}
		if !known {
			out = append(out, s)
		}
	}
	return out
}
