package shelltext

// level says how much of a text a caller chooses.
type level int

const (
	trusted  level = iota // nothing that matters: the author's text, a number, one of an enum
	confined              // the path of a file below a folder of the author
	tainted               // any text
)

// taint is what a variable or word holds of the values of a call.
type taint struct {
	level level
	from  string // the value it came from, as the author wrote it
}

func (t taint) max(u taint) taint {
	if u.level > t.level {
		return u
	}
	return t
}

// concatenated is the taint of a word that holds more than one piece: a path with something added
// is no longer known to be below its folder.
func (t taint) concatenated() taint {
	if t.level == confined {
		t.level = tainted
	}
	return t
}

// taintState is what an analysis knows of a script so far. It only ever grows.
type taintState struct {
	vars    map[string]taint // variables, of all functions together
	args    map[string]taint // positional parameters by function; "" is the script
	stdin   map[string]taint // what functions may read
	out     map[string]taint // what functions may write
	changed bool
}

func newTaintState() *taintState {
	return &taintState{vars: map[string]taint{}, args: map[string]taint{}, stdin: map[string]taint{},
		out: map[string]taint{}}
}

func (f *taintState) join(m map[string]taint, name string, t taint) {
	if t.level > m[name].level {
		m[name] = t
		f.changed = true
	}
}
