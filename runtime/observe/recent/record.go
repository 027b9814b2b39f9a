package recent

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"slices"
	"time"

	"hatchel/runtime/observe/event"
)

// Call is a call as it is kept. Its JSON is stored, so a member keeps its name.
type Call struct {
	ID        string          `json:",omitzero"`
	Tool      string          `json:",omitzero"`
	Began     time.Time       `json:",omitzero"`
	Subject   string          `json:",omitzero"` // of the caller
	Client    string          `json:",omitzero"` // of the caller, a JSON string; empty for none
	Owner     string          `json:",omitzero"` // of the caller, as mcp.Caller.Owner returns it
	TraceID   string          `json:",omitzero"`
	Task      string          `json:",omitzero"` // that the call belongs to; empty for none
	Process   string          `json:",omitzero"` // that has carried it out
	Input     json.RawMessage `json:",omitzero"` // JSON without sensitive values; nil for none
	InputSize int             `json:",omitzero"` // of an input that is not there in full; else 0

	Steps     []Step `json:",omitzero"`
	Waits     []Wait `json:",omitzero"`
	MoreSteps int    `json:",omitzero"` // that found no room
	Approval  string `json:",omitzero"` // that the call has requested; empty for none
	End       *End   `json:",omitzero"` // nil while the call runs
}

// Ended returns when the call has ended; the zero time while it runs.
func (c *Call) Ended() time.Time {
	if c.End == nil {
		return time.Time{}
	}
	return c.Began.Add(c.End.After)
}

// Continuing returns the call with what it has done before it paused.
func (c *Call) Continuing(before *Call) *Call {
	whole := *before
	moved := c.Began.Sub(before.Began)
	whole.Steps, whole.Waits = slices.Clip(before.Steps), slices.Clip(before.Waits)
	for _, s := range c.Steps {
		s.Began += moved
		s.Elements = slices.Clone(s.Elements)
		for i := range s.Elements {
			s.Elements[i].Began += moved
		}
		whole.Steps = append(whole.Steps, s)
	}
	for _, w := range c.Waits {
		w.Began += moved
		whole.Waits = append(whole.Waits, w)
	}
	if whole.End = nil; c.End != nil {
		end := *c.End
		end.After += moved
		whole.End = &end
	}
	whole.MoreSteps += c.MoreSteps
	whole.Approval, whole.Process = cmp.Or(c.Approval, before.Approval), c.Process
	return &whole
}

// Step is what a step of a call came to.
type Step struct {
	Began    time.Duration `json:",omitzero"` // after the call
	Took     time.Duration `json:",omitzero"`
	Name     string        `json:",omitzero"`
	Kind     string        `json:",omitzero"` // of the backend
	Target   string        `json:",omitzero"` // kind and name of the connection; empty for none
	Outcome  string        `json:",omitzero"`
	Error    string        `json:",omitzero"`
	Rows     int           `json:",omitzero"`
	Bytes    int           `json:",omitzero"`
	Attempts int           `json:",omitzero"` // requests that were sent
	Pages    int           `json:",omitzero"` // that were read
	Failures
	Elements []Element `json:",omitzero"` // of a step with each, in their order
}

// Element is what a step came to for one element of its each.
type Element struct {
	Began   time.Duration `json:",omitzero"` // after the call
	Took    time.Duration `json:",omitzero"`
	Key     string        `json:",omitzero"` // of the element
	Outcome string        `json:",omitzero"`
	Error   string        `json:",omitzero"`
}

// Wait is a time in which a call has waited for people.
type Wait struct {
	Began time.Duration `json:",omitzero"` // after the call
	Took  time.Duration `json:",omitzero"`
}

// Failures are those after which a call or a step went on.
type Failures struct {
	Failed, Of      int    `json:",omitzero"`
	FailedStep, Key string `json:",omitzero"` // of the first one
}

// End is what a call came to.
type End struct {
	After      time.Duration   `json:",omitzero"` // after the beginning, with the waits for people
	Took       time.Duration   `json:",omitzero"` // without that time
	Outcome    string          `json:",omitzero"`
	Error      string          `json:",omitzero"` // the message of the failure
	Cause      string          `json:",omitzero"` // of the failure, for operators; empty for none
	Rule       string          `json:",omitzero"` // of a policy, that has decided
	Replayed   string          `json:",omitzero"`
	Output     json.RawMessage `json:",omitzero"` // a JSON string; nil for none
	OutputSize int             `json:",omitzero"` // of an output that is not there in full; else 0
	Rows       int             `json:",omitzero"`
	Bytes      int             `json:",omitzero"`
	Failures
}

// Parts of a record.
const (
	stepPart byte = iota + 1
	approvalPart
	waitPart
	elementPart
	endPart
)

// maxText is how many bytes are kept of a text that has no limit of its own.
const maxText = 256

func appendInt(dst []byte, n int) []byte { return binary.AppendUvarint(dst, uint64(n)) }

func appendDuration(dst []byte, d time.Duration) []byte {
	return binary.AppendUvarint(dst, uint64(max(d, 0)))
}

func appendText[T string | []byte](dst []byte, text T) []byte {
	return append(appendInt(dst, len(text)), text...)
}

// appendShort appends a text unless it is too long, as a name that a client has made up.
func appendShort[T string | []byte](dst []byte, text T) []byte {
	if len(text) > maxText {
		return append(dst, 0)
	}
	return appendText(dst, text)
}

func appendBeginning(dst []byte, c *event.Call) []byte {
	dst = appendText(dst, c.ID)
	dst = appendShort(dst, c.Name)
	dst = appendShort(dst, c.Caller.Subject)
	dst = appendShort(dst, c.Caller.Client)
	dst = appendShort(dst, c.Owner)
	dst = appendShort(dst, c.TraceID)
	dst = appendShort(dst, c.Task)
	if size := max(c.InputSize, len(c.Input)); len(c.Input) > maxCall/2 {
		return appendInt(append(dst, 0), size)
	}
	return appendInt(appendText(dst, c.Input), c.InputSize)
}

func appendWait(dst []byte, began, took time.Duration) []byte {
	return appendDuration(appendDuration(append(dst, waitPart), began), took)
}

func appendFailures(dst []byte, f *event.Failures) []byte {
	dst = appendInt(appendInt(dst, f.Failed), f.Of)
	return appendShort(appendShort(dst, f.FailedStep), f.FailedKey)
}

func appendStep(dst []byte, s *event.Step, began time.Duration) []byte {
	dst = appendDuration(appendDuration(append(dst, stepPart), began), s.Duration)
	dst = appendShort(appendShort(appendShort(dst, s.Step), s.Kind), s.Connection)
	dst = appendText(appendShort(dst, s.Outcome), s.Error)
	dst = appendInt(appendInt(appendInt(appendInt(dst, s.Rows), s.Bytes), s.Attempts), s.Pages)
	return appendFailures(dst, &s.Failures)
}

func appendElement(dst []byte, e *Element, began time.Duration) []byte {
	dst = appendDuration(appendDuration(append(dst, elementPart), began), e.Took)
	return appendText(appendShort(appendShort(dst, e.Key), e.Outcome), e.Error)
}

// appendEnd appends the end of a call. An output that finds no room is left out.
func appendEnd(dst []byte, c *event.Call, cause string, after time.Duration) []byte {
	dst = appendDuration(appendDuration(append(dst, endPart), after), c.Duration)
	dst = appendText(appendShort(dst, c.Outcome), c.Error)
	dst = appendShort(appendShort(appendText(dst, cause), c.Rule), c.Replayed)
	dst = appendInt(appendInt(dst, c.Rows), c.Bytes)
	dst = appendFailures(dst, &c.Failures)
	if size := max(c.OutputSize, len(c.Output)); len(dst)+len(c.Output)+2*binary.MaxVarintLen32 > maxCall {
		return appendInt(append(dst, 0), size)
	}
	return appendInt(appendText(dst, c.Output), c.OutputSize)
}

// reader reads the parts of a record, which appendBeginning and the others have written.
type reader struct{ rest []byte }

func (r *reader) int() int {
	n, size := binary.Uvarint(r.rest)
	r.rest = r.rest[size:]
	return int(n)
}

func (r *reader) duration() time.Duration { return time.Duration(r.int()) }

func (r *reader) bytes() []byte {
	n := r.int()
	if n == 0 {
		return nil
	}
	text := r.rest[:n]
	r.rest = r.rest[n:]
	return text
}

func (r *reader) text() string { return string(r.bytes()) }

func (r *reader) failures() Failures { return Failures{r.int(), r.int(), r.text(), r.text()} }

// parse returns the call of a record, which it copies.
func parse(record []byte, began time.Time) *Call {
	r := reader{record}
	c := &Call{
		Began: began, ID: r.text(), Tool: r.text(), Subject: r.text(), Client: r.text(), Owner: r.text(),
		TraceID: r.text(), Task: r.text(), Input: bytes.Clone(r.bytes()), InputSize: r.int(),
	}
	for len(r.rest) > 0 {
		part := r.rest[0]
		r.rest = r.rest[1:]
		switch part {
		case stepPart:
			c.Steps = append(c.Steps, Step{
				Began: r.duration(), Took: r.duration(), Name: r.text(), Kind: r.text(), Target: r.text(),
				Outcome: r.text(), Error: r.text(), Rows: r.int(), Bytes: r.int(), Attempts: r.int(), Pages: r.int(),
				Failures: r.failures(),
			})
		case elementPart:
			e := Element{Began: r.duration(), Took: r.duration(), Key: r.text(), Outcome: r.text(), Error: r.text()}
			if n := len(c.Steps); n > 0 {
				c.Steps[n-1].Elements = append(c.Steps[n-1].Elements, e)
			}
		case waitPart:
			c.Waits = append(c.Waits, Wait{r.duration(), r.duration()})
		case approvalPart:
			c.Approval = r.text()
		case endPart:
			c.End = &End{
				After: r.duration(), Took: r.duration(), Outcome: r.text(), Error: r.text(), Cause: r.text(),
				Rule: r.text(), Replayed: r.text(), Rows: r.int(), Bytes: r.int(), Failures: r.failures(),
				Output: bytes.Clone(r.bytes()), OutputSize: r.int(),
			}
		}
	}
	return c
}
