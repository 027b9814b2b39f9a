package exprlang

import (
	"strconv"

	"hatchel/hcl/spelling"
)

// A Problem is one mistake in a program, found at load.
type Problem struct {
	Offset, Length int    // in bytes, inside the source; Length is at least 1 unless the source ends there
	Summary        string // two to five constant words
	Detail         string // what was found, what is accepted, the nearest name or the rewritten text
	Warning        bool   // the program runs all the same
}

// EvalError is a run that failed. Its text is a sentence for the model or person that made the call, without the name of the attribute.
type EvalError struct {
	Message        string
	Offset, Length int   // in bytes: the part of the source that failed
	Cause          error // the context's error when the call ended, else nil
}

func (f *EvalError) Error() string { return f.Message }
func (f *EvalError) Unwrap() error { return f.Cause }

// span is a half-open byte interval of the source.
type span struct{ from, to int }

// didYouMean is a sentence to append, or "".
func didYouMean(name string, candidates []string) string {
	if best := spelling.Nearest(name, candidates); best != "" {
		return " Did you mean " + strconv.Quote(best) + "?"
	}
	return ""
}
