package shelltext

// level says how much of a text a caller chooses.
type level int

const (
	clean  level = iota // nothing that matters: the author's text, a number, one of an enum
	inside              // the path of a file below a folder of the author
	loose               // any text
)

// taint is what a variable or word holds of the values of a call.
type taint struct {
	level level
	from  string // the value it came from, as the author wrote it
}

func (t taint) or(u taint) taint {
	if u.level > t.level {
		return u
	}
	return t
}

// glued is the taint of a word that holds more than one piece: a path with something added is no longer known to be below its folder.
func (t taint) glued() taint {
	if t.level == inside {
		t.level = loose
	}
	return t
}

// flow is what an analysis knows of a script so far. It only ever grows.
type flow struct {
	vars  map[string]taint // variables, of all functions together
	args  map[string]taint // positional parameters by function; "" is the script
	stdin map[string]taint // what functions may read
	out   map[string]taint // what functions may write
	grew  bool
}

func newFlow() *flow {
	return &flow{vars: map[string]taint{}, args: map[string]taint{}, stdin: map[string]taint{}, out: map[string]taint{}}
}

func (f *flow) raise(m map[string]taint, name string, t taint) {
	if t.level > m[name].level {
		m[name] = t
		f.grew = true
	}
}
