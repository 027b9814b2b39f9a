package event

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"time"

	"hatchel/hcl/eventkind"
	"hatchel/hcl/jsonscan"
)

// Meta describes an event without its data. It decides which listeners get the event.
type Meta struct {
	Kind      eventkind.Kind
	Time      time.Time
	Operation string // "tool", "prompt" or "resource" that the event is about; empty for none
	Name      string // of the operation
	Subject   string // of the caller
	Owner     string // of the caller, as mcp.Caller.Owner returns it
	Outcome   string
}

const maxName = 1 << 10 // bytes of a member of Meta

// appendRecord appends what the ring keeps of an event, without its length.
func (m *Meta) appendRecord(dst, data []byte) []byte {
	dst = append(dst, byte(m.Kind))
	dst = binary.BigEndian.AppendUint64(dst, uint64(m.Time.UnixMicro()))
	for _, s := range [...]string{m.Operation, m.Name, m.Subject, m.Owner, m.Outcome} {
		if len(s) > maxName {
			s = "" // nobody is chosen by it
		}
		dst = append(binary.BigEndian.AppendUint16(dst, uint16(len(s))), s...)
	}
	return append(dst, data...)
}

// record is a Meta whose texts are in a record of the ring.
type record struct {
	kind                                     eventkind.Kind
	micros                                   int64
	operation, name, subject, owner, outcome []byte
	topic                                    []byte // the operation and its name as they are kept
	data                                     []byte
}

func parseRecord(b []byte) (r record) {
	r.kind, r.micros = eventkind.Kind(b[0]), int64(binary.BigEndian.Uint64(b[1:]))
	b = b[9:]
	texts := b
	for _, s := range [...]*[]byte{&r.operation, &r.name, &r.subject, &r.owner, &r.outcome} {
		n := 2 + int(binary.BigEndian.Uint16(b))
		*s, b = b[2:n], b[n:]
	}
	r.topic, r.data = texts[:4+len(r.operation)+len(r.name)], b
	return r
}

func (r *record) meta() Meta {
	return Meta{
		Kind: r.kind, Time: time.UnixMicro(r.micros), Operation: string(r.operation), Name: string(r.name),
		Subject: string(r.subject), Owner: string(r.owner), Outcome: string(r.outcome),
	}
}

// Call has the members of the events tool_call, tool_result, prompt_get and resource_read. Members that the
// kind does not have are ignored.
type Call struct {
	Kind      eventkind.Kind
	Name      string // of the tool, the prompt or the resource
	ID        []byte
	Input     []byte // JSON without sensitive values; nil for none
	InputSize int    // of an input that is not there in full; else 0
	Caller    Caller
	Owner     string
	Session   []byte // the name of the session
	TraceID   string
	Task      string

	Output     []byte // a JSON string; nil for none
	OutputSize int    // of an output that is not there in full; else 0
	Error      string
	Outcome    string
	Failures   // of a partial outcome
	Duration   time.Duration
	Rows       int
	Bytes      int
	Rule       string
	Replayed   string
}

// Caller is who makes a call.
type Caller struct {
	Subject string
	Key     string
	Groups  []string
	Client  []byte // a JSON string; nil for none
}

// operations are the kinds of operations that calls are about.
var operations = [...]string{
	eventkind.ToolCall: "tool", eventkind.ToolResult: "tool", eventkind.ToolStep: "tool",
	eventkind.PromptGet: "prompt", eventkind.ResourceRead: "resource",
}

func (c *Call) meta(now time.Time) Meta {
	return Meta{Kind: c.Kind, Time: now, Operation: operations[c.Kind], Name: c.Name, Subject: c.Caller.Subject,
		Owner: c.Owner, Outcome: c.Outcome}
}

// append appends the members, in the order of the table.
func (c *Call) append(dst []byte) []byte {
	ends, begins := c.Kind != eventkind.ToolCall, c.Kind != eventkind.ToolResult
	dst = appendText(dst, operations[c.Kind], c.Name)
	dst = appendText(dst, "tool_call_id", c.ID)
	if begins {
		dst = appendJSON(dst, "input", c.Input)
		dst = appendInt(dst, "input_bytes", c.InputSize)
		dst = c.Caller.append(dst)
		dst = appendText(dst, "session", c.Session)
		dst = appendText(dst, "trace_id", c.TraceID)
	}
	if ends {
		dst = appendJSON(dst, "output", c.Output)
		dst = appendInt(dst, "output_bytes", c.OutputSize)
		dst = appendText(dst, "error", c.Error)
		dst = appendText(dst, "outcome", c.Outcome)
		dst = c.Failures.append(dst)
		dst = appendMilliseconds(dst, c.Duration)
		dst = appendInt(dst, "rows", c.Rows)
		dst = appendInt(dst, "bytes", c.Bytes)
		dst = appendText(dst, "rule", c.Rule)
		dst = appendText(dst, "replayed", c.Replayed)
	}
	return appendText(dst, "task", c.Task)
}

func (c *Caller) append(dst []byte) []byte {
	from := len(dst)
	dst = append(dst, `,"caller":`...)
	open := len(dst)
	dst = appendText(dst, "subject", c.Subject)
	dst = appendText(dst, "key", c.Key)
	if len(c.Groups) > 0 {
		dst = append(dst, `,"groups":[`...)
		for i, group := range c.Groups {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = jsonscan.AppendString(dst, group)
		}
		dst = append(dst, ']')
	}
	dst = appendJSON(dst, "client", c.Client)
	if len(dst) == open {
		return dst[:from]
	}
	dst[open] = '{' // instead of the comma
	return append(dst, '}')
}

// Step is the end of a step: of tool_step.
type Step struct {
	Tool       string
	ID         []byte // of the call
	Subject    string
	Owner      string
	Step       string
	Kind       string // of the backend
	Connection string // its kind and name; empty for none
	Duration   time.Duration
	Outcome    string
	Failures   // of a partial outcome
	Error      string
	Rows       int
	Bytes      int
	Attempts   int
	Pages      int // is not published
}

// Failures are those after which a call went on.
type Failures struct {
	Failed     int
	Of         int
	FailedStep string // of the first one
	FailedKey  string
}

func (f *Failures) append(dst []byte) []byte {
	dst = appendInt(dst, "failed", f.Failed)
	dst = appendInt(dst, "of", f.Of)
	dst = appendText(dst, "failed_step", f.FailedStep)
	return appendText(dst, "failed_key", f.FailedKey)
}

func (s *Step) meta(now time.Time) Meta {
	return Meta{Kind: eventkind.ToolStep, Time: now, Operation: "tool", Name: s.Tool, Subject: s.Subject,
		Owner: s.Owner, Outcome: s.Outcome}
}

func (s *Step) append(dst []byte) []byte {
	dst = appendText(dst, "tool", s.Tool)
	dst = appendText(dst, "tool_call_id", s.ID)
	dst = appendText(dst, "step", s.Step)
	dst = appendText(dst, "kind", s.Kind)
	dst = appendText(dst, "connection", s.Connection)
	dst = appendMilliseconds(dst, s.Duration)
	dst = appendText(dst, "outcome", s.Outcome)
	dst = s.Failures.append(dst)
	dst = appendText(dst, "error", s.Error)
	dst = appendInt(dst, "rows", s.Rows)
	dst = appendInt(dst, "bytes", s.Bytes)
	return appendInt(dst, "attempts", s.Attempts)
}

// appendTime appends a time as the audit log has it, with microseconds. RFC 3339 is the only layout that the time
// package need not read each time.
func appendTime(dst []byte, t time.Time) []byte {
	dst = t.UTC().AppendFormat(dst, time.RFC3339)
	dot := len(dst) - len("Z")
	dst = strconv.AppendInt(dst[:dot], 1_000_000+int64(t.Nanosecond()/1000), 10)
	dst[dot] = '.'
	return append(dst, 'Z')
}

// appendText appends a member, unless it is empty.
func appendText[T string | []byte](dst []byte, name string, text T) []byte {
	if len(text) == 0 {
		return dst
	}
	return jsonscan.AppendString(appendName(dst, name), text)
}

func appendJSON(dst []byte, name string, text []byte) []byte {
	if len(text) == 0 {
		return dst
	}
	return append(appendName(dst, name), text...)
}

func appendInt(dst []byte, name string, n int) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(appendName(dst, name), int64(n), 10)
}

func appendMilliseconds(dst []byte, d time.Duration) []byte {
	micros := d.Microseconds()
	dst = strconv.AppendInt(appendName(dst, "ms"), micros/1000, 10)
	if rest := micros % 1000; rest > 0 {
		decimals := [...]byte{'.', '0' + byte(rest/100), '0' + byte(rest/10%10), '0' + byte(rest%10)}
		dst = append(dst, bytes.TrimRight(decimals[:], "0")...)
	}
	return dst
}

func appendName(dst []byte, name string) []byte {
	return append(append(append(dst, `,"`...), name...), `":`...)
}
