package exprlang

// Problem is one mistake in a program, found at load. Offset and Length are in bytes and lie inside
// the source; Length is at least 1 unless the source ends there.
type Problem struct {
	Offset, Length int
	Summary        string // two to five constant words
	Detail         string // what was found, what is accepted, and the nearest name or the corrected text
	Warning        bool   // the program can be run nevertheless
}

// EvalError is the error of a run. Message is a sentence for the model or the person who made the
// call; it does not name the argument that holds the program.
type EvalError struct {
	Message        string
	Offset, Length int   // the part of the source that failed, in bytes
	Cause          error // the cause of the context if the call has ended, else nil
}

func (e *EvalError) Error() string { return e.Message }
func (e *EvalError) Unwrap() error { return e.Cause }

// span is a half-open byte interval of the source.
type span struct{ from, to int }
