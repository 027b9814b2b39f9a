package call

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/adapters"
	"hatchel/hcl/diag"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/internal/cut"
	"hatchel/internal/printable"
	"hatchel/runtime/stage/failure"
)

// Tracer writes what the steps of one call do, for the person who makes it: without secrets and
// sensitive inputs. It is safe for concurrent use.
type Tracer struct {
	Out     io.Writer
	Dir     string // which names of files are shown with
	MaxText int    // bytes of one text; 0 for no limit

	mu     sync.Mutex
	stderr []ErrorOutput // guarded by mu
}

// Observer watches all calls of a generation, for tests. Its functions may be called concurrently.
type Observer struct {
	// Branch receives the place and the value of every condition, and the place of every step that goes on after a
	// failure, with whether it has failed.
	Branch func(at diag.Range, holds bool)
	// Step receives the output of every named step of a call that is no step itself, and whether it was run. That of a
	// skipped step is nil.
	Step func(name string, output any, ran bool)
	// Refused receives the arguments of a call that is no step itself that their types refuse.
	Refused func(violations []schema.Violation)
	// Masked receives what callers see in place of each masked value that is not null.
	Masked func(given any)
	// Answered receives the result of a tool as JSON, in whatever format it is sent; nil for one that is a text.
	Answered func(encoded []byte)
}

// observe receives what a step came to; nil ignores it.
func (o *Observer) observe(s *Step, end stepEnd) {
	if o != nil && end.err == nil && s.Decl.Name != "" && !s.Decl.Streams {
		o.Step(s.Decl.Name, end.output, end.ran)
	}
}

// answer receives the result of a call; nil ignores it.
func (o *Observer) answer(encoded []byte) {
	if o != nil {
		o.Answered(encoded)
	}
}

// ErrorOutput is what a program of a step has written to its standard error.
type ErrorOutput struct {
	From string `json:"from"` // the step, and its element of each
	Text string `json:"text"`
}

// Stderr returns the error output of all steps so far.
func (t *Tracer) Stderr() []ErrorOutput {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.stderr)
}

// write writes an event and its text, which is indented.
func (t *Tracer) write(event, text string) {
	if step, ok := strings.CutSuffix(event, ": "+adapters.TraceStderr); ok {
		t.mu.Lock()
		t.stderr = append(t.stderr, ErrorOutput{step, text})
		t.mu.Unlock()
	}
	text = strings.TrimRight(strings.ToValidUTF8(text, "\uFFFD"), "\n")
	if size := len(text); t.MaxText > 0 && size > t.MaxText {
		text = text[:cut.Before(text, t.MaxText)]
		text += fmt.Sprintf("\n… %d more bytes: --full shows them", size-len(text))
	}
	var out strings.Builder
	out.WriteString(event + "\n")
	for line := range strings.Lines(printable.Reveal(text, "\n\t")) {
		out.WriteString("    " + line)
	}
	if text != "" {
		out.WriteByte('\n')
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	io.WriteString(t.Out, out.String())
}

// explain writes why a program has failed.
func (t *Tracer) explain(at diag.Range, text string) {
	file := filepath.Join(t.Dir, filepath.FromSlash(at.File))
	t.write(fmt.Sprintf("error at %s:%d:%d", file, at.Start.Line, at.Start.Column), text)
}

// traceTo traces what the steps of a call do, and the programs that fail, without secrets and sensitive inputs.
func traceTo(call *adapters.Call, sent callArguments, trace adapters.Trace, explain func(diag.Range, string)) {
	call.Trace = func(event, text string) { trace(event, sent.hideSent(text)) }
	call.Frame.Explain = func(at diag.Range, text string) { explain(at, sent.hideSent(text)) }
}

// label names the step, and its current element of each.
func (s *Step) label(call *adapters.Call) string {
	label := s.Decl.Backend.Kind
	if s.Decl.Name != "" {
		label = fmt.Sprintf("step %q", s.Decl.Name)
	}
	if s.Decl.Each != nil && call.Frame.Each != nil {
		label += fmt.Sprintf(" [%v]", call.Frame.Each.Key)
	}
	return label
}

// labelTrace returns the trace of the step; nil for none.
func (s *Step) labelTrace(call *adapters.Call) adapters.Trace {
	trace := call.Trace
	if trace == nil {
		return nil
	}
	label := s.label(call)
	return s.maskedTrace(call.Frame, func(event, text string) { trace(label+": "+event, text) })
}

func (s *Step) traceSkipped(call *adapters.Call) {
	if call.Trace != nil {
		call.Trace(s.label(call)+": skipped, because `when` is false", s.Decl.When.Source())
	}
}

// doTraced is do with a trace, if a person traces the call.
func (s *Step) doTraced(call *adapters.Call) (any, error) {
	trace := call.Trace
	if trace == nil {
		return s.do(call)
	}
	label, labelled := s.label(call), s.labelTrace(call)
	var received atomic.Bool // a session may be opened for longer than the call waits for it
	call.Trace = func(event, text string) {
		if strings.HasPrefix(event, adapters.TraceReceived) {
			received.Store(true)
		}
		labelled(event, text)
	}
	defer func() { call.Trace = trace }()
	began := time.Now()
	output, err := s.do(call)
	took := failure.FormatDuration(time.Since(began).Round(10 * time.Microsecond))
	switch {
	case err != nil:
		text := err.Error()
		if cause := errors.Unwrap(err); cause != nil && cause.Error() != text {
			text += "\ncause: " + cause.Error()
		}
		labelled("failed after "+took, text)
	case received.Load():
		trace(label+": took "+took, "")
	default:
		text, err := value.AppendJSON(nil, output)
		if err != nil {
			text = []byte(err.Error())
		}
		trace(label+": output after "+took, string(text))
	}
	return output, err
}
