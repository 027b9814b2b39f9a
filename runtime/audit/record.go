package audit

import (
	"encoding/json"
	"strconv"
	"time"

	"hatchel/hcl/value"
)

// What a record is about.
const (
	EventIntent  = "intent"  // a call that may change something is about to begin its work
	EventCall    = "call"    // a call is over
	EventRequest = "request" // a request was refused before it came to a call, or has ended a task

	EventFile = "file" // what has become of a file of a caller: Kind is "upload", "download", "removal", or "ticket", an address to upload one to

	EventOpened    = "opened"    // a process begins to write
	EventClosed    = "closed"    // it has ended as it should
	EventRotated   = "rotated"   // a file is full; this is the first record of the next
	EventRepaired  = "repaired"  // the end of the file was no whole record
	EventRecovered = "recovered" // records can be written again
)

// What a call came to.
const (
	OK        = "ok"
	Failed    = "failed"
	Refused   = "refused"   // nothing was carried out
	Cancelled = "cancelled" // by the client, a timeout of it, or the end of the server
	Fault     = "error"     // an error of the protocol
	Asked     = "asked"     // the client was asked, and comes back
	Task      = "task"      // it goes on in the background
)

// From what a call was answered that was not carried out.
const (
	FromKey   = "key"   // another with the same key was, or is a task
	FromCache = "cache" // another that asks the same was
)

// Record is one line of the log, as it is read. The members that a record does not have are left out of its line.
type Record struct {
	Sequence int64     `json:"seq"` // from 1, without gaps
	Time     time.Time `json:"time"`
	Event    string    `json:"event"`
	ID       string    `json:"id,omitempty"` // of the call: the same in its intent and its end

	Kind   string `json:"kind,omitempty"` // "tool", "prompt", "resource"
	Name   string `json:"name,omitempty"`
	URI    string `json:"uri,omitempty"`
	Task   string `json:"task,omitempty"`
	Caller Caller `json:"caller,omitzero"`

	Arguments json.RawMessage `json:"arguments,omitempty"` // an object with sorted keys; of a large one its beginning, as a text
	Size      int             `json:"arguments_bytes,omitempty"`
	Digest    string          `json:"arguments_sha256,omitempty"` // of the large one whole, redacted

	Decision string    `json:"decision,omitempty"` // "allowed" or "denied"; of a decision of somebody "approved" or "rejected"
	Rule     string    `json:"rule,omitempty"`     // by which it was decided
	Approval *Approval `json:"approval,omitempty"` // nil when nobody was asked to approve
	Outcome  string    `json:"outcome,omitempty"`
	Replayed string    `json:"replayed,omitempty"` // from what it was answered, when it was not carried out
	Status   int       `json:"status,omitempty"`   // of HTTP, of a refused request
	Message  string    `json:"message,omitempty"`  // of what did not go well
	Error    string    `json:"error_id,omitempty"`
	Steps    []string  `json:"steps,omitempty"` // that were run
	Asked    []string  `json:"asked,omitempty"` // of the client
	Rows     int       `json:"rows,omitempty"`
	Bytes    int       `json:"bytes,omitempty"`
	SHA256   string    `json:"sha256,omitempty"` // of a file
	Duration float64   `json:"ms,omitempty"`
	Revision string    `json:"revision,omitempty"` // of the configuration
	Trace    string    `json:"trace,omitempty"`    // of the caller's traceparent

	File    string   `json:"file,omitempty"`       // that was full, or that was opened
	Removed []string `json:"removed,omitempty"`    // files that were too many
	Lost    int64    `json:"lost_bytes,omitempty"` // that were no record
	LostSum string   `json:"lost_sha256,omitempty"`
	Process int      `json:"process,omitempty"`
	Host    string   `json:"host,omitempty"` // on which the process runs, where several may write

	Prev string `json:"prev"` // the Hash of the record before; zeros for the first
	Hash string `json:"hash"` // SHA-256 of the line up to where this member begins
}

// Caller is who asked.
type Caller struct {
	Subject string   `json:"subject,omitempty"`
	Key     string   `json:"key,omitempty"`
	Groups  []string `json:"groups,omitempty"`
	Remote  string   `json:"remote,omitempty"`
	Client  string   `json:"client,omitempty"`
}

func (c *Caller) empty() bool {
	return c.Subject == "" && c.Key == "" && c.Groups == nil && c.Remote == "" && c.Client == ""
}

// What others say is held by a record up to so many bytes of a text, and so many texts of a list.
const (
	most      = 1 << 10
	mostTexts = 100
)

// timeForm is how times are written, in UTC.
const timeForm = "2006-01-02T15:04:05.000000Z"

// append appends the members of the record but for those of the chain.
func (r *Record) append(dst []byte) []byte {
	dst = append(dst, `"time":"`...)
	dst = append(r.Time.UTC().AppendFormat(dst, timeForm), `","event":"`...)
	dst = append(append(dst, r.Event...), '"')
	dst = text(dst, "id", r.ID)
	dst = text(dst, "kind", r.Kind)
	dst = text(dst, "name", r.Name)
	dst = text(dst, "uri", r.URI)
	dst = text(dst, "task", r.Task)
	if !r.Caller.empty() {
		dst = r.Caller.append(append(dst, `,"caller":`...))
	}
	if r.Arguments != nil {
		dst = append(append(dst, `,"arguments":`...), r.Arguments...)
	}
	dst = number(dst, "arguments_bytes", int64(r.Size))
	dst = text(dst, "arguments_sha256", r.Digest)
	dst = text(dst, "decision", r.Decision)
	dst = text(dst, "rule", r.Rule)
	if r.Approval != nil {
		dst = r.Approval.append(append(dst, `,"approval":`...))
	}
	dst = text(dst, "outcome", r.Outcome)
	dst = text(dst, "replayed", r.Replayed)
	dst = number(dst, "status", int64(r.Status))
	dst = text(dst, "message", r.Message)
	dst = text(dst, "error_id", r.Error)
	dst = texts(dst, "steps", r.Steps)
	dst = texts(dst, "asked", r.Asked)
	dst = number(dst, "rows", int64(r.Rows))
	dst = number(dst, "bytes", int64(r.Bytes))
	dst = text(dst, "sha256", r.SHA256)
	if r.Duration != 0 {
		dst = strconv.AppendFloat(append(dst, `,"ms":`...), r.Duration, 'f', -1, 64)
	}
	dst = text(dst, "revision", r.Revision)
	dst = text(dst, "trace", r.Trace)
	dst = text(dst, "file", r.File)
	dst = texts(dst, "removed", r.Removed)
	dst = number(dst, "lost_bytes", r.Lost)
	dst = text(dst, "lost_sha256", r.LostSum)
	dst = number(dst, "process", int64(r.Process))
	return text(dst, "host", r.Host)
}

func (c *Caller) append(dst []byte) []byte {
	from := len(dst)
	dst = text(dst, "subject", c.Subject)
	dst = text(dst, "key", c.Key)
	dst = texts(dst, "groups", c.Groups)
	dst = text(dst, "remote", c.Remote)
	dst = text(dst, "client", c.Client)
	dst[from] = '{' // in the place of the comma
	return append(dst, '}')
}

// text appends a member, unless it is empty.
func text(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return value.AppendString(named(dst, key), clipped(s))
}

func texts(dst []byte, key string, list []string) []byte {
	if len(list) == 0 {
		return dst
	}
	dst = append(named(dst, key), '[')
	for i, s := range list {
		if i == mostTexts {
			break
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value.AppendString(dst, clipped(s))
	}
	return append(dst, ']')
}

func number(dst []byte, key string, n int64) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(named(dst, key), n, 10)
}

func named(dst []byte, key string) []byte {
	return append(append(append(dst, `,"`...), key...), `":`...)
}

// clipped is a text, or the beginning of one that is too long.
func clipped(s string) string {
	if len(s) <= most {
		return s
	}
	at := most
	for at > 0 && s[at]&0xC0 == 0x80 { // not within a character
		at--
	}
	return s[:at] + "…"
}
