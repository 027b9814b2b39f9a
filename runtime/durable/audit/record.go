package audit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"hatchel/hcl/value"
	"hatchel/internal/cut"
	"hatchel/internal/operator"
)

// Format is the version of the format of records. It changes when a program that reads them has to know more. Records
// of event "opened" and "rotated" have it.
const Format = 1

// CheckFormat returns an error for a record after which the records have a newer format than this program reads.
func (r *Record) CheckFormat() error {
	if r.Format <= Format {
		return nil
	}
	return operator.Error(fmt.Sprintf("record %d begins what a newer version of this program wrote (format %d, "+
		"supported is %d): use that version", r.Sequence, r.Format, Format))
}

// Events.
const (
	EventIntent  = "intent"  // a call that may change something is about to start
	EventCall    = "call"    // a call has ended
	EventRequest = "request" // a request was refused before it became a call, or has ended a task or a session

	// EventFile is about a file of a caller. Kind is "upload", "download", "removal" or "ticket".
	EventFile = "file"

	// EventSignIn is about the sign-in of a person. Kind is "client", and Name the client.
	EventSignIn = "sign_in"

	EventReload    = "reload"    // another configuration is served
	EventHeld      = "held"      // a reload waits for its lock
	EventDrift     = "drift"     // definitions of an upstream server differ from the reviewed ones, or no longer do
	EventOpened    = "opened"    // a process starts to write
	EventClosed    = "closed"    // a process has ended normally
	EventRotated   = "rotated"   // first record after a full file
	EventRepaired  = "repaired"  // the file ended with something that is not a record
	EventRecovered = "recovered" // records can be written again
	EventCut       = "cut"       // records at the end were removed while no process wrote
)

// Outcomes of a call.
const (
	OK            = "ok"
	Partial       = "partial" // elements or steps with on_error = "continue" have failed
	Failed        = "failed"
	Refused       = "refused"   // nothing was done
	Cancelled     = "cancelled" // by the client, a timeout, or the shutdown of the server
	ProtocolError = "error"     // a protocol error
	Asked         = "asked"     // the client was asked something and will come back
	Task          = "task"      // the call continues in the background
)

// Outcomes of a sign-in, besides Refused, for a person who is not admitted or whom the provider did not sign in.
const (
	Consented = "consented" // the person has allowed a client to use the server, and is admitted
	Denied    = "denied"    // the person has not allowed it
	Refreshed = "refreshed" // the client has got new tokens
	Replayed  = "replayed"  // a code or token was used twice, which has ended the sign-in
	Revoked   = "revoked"   // the sign-in was ended
	Asserted  = "asserted"  // the provider has vouched for the person to the client (ID-JAG)
)

// Sources of a result for which nothing was executed.
const (
	FromKey   = "key"   // another call with the same idempotency key
	FromCache = "cache" // the result cache
)

// Record is one line of the log. Empty members are left out of the line.
type Record struct {
	Sequence int64     `json:"seq"` // from 1, without gaps
	Time     time.Time `json:"time"`
	Event    string    `json:"event"`
	ID       string    `json:"id,omitempty"` // of the call; the same in its intent and at its end

	Kind   string `json:"kind,omitempty"` // "tool", "prompt", "resource", "search", "session"
	Name   string `json:"name,omitempty"`
	Via    string `json:"via,omitempty"` // tool that was asked to make the call
	URI    string `json:"uri,omitempty"`
	Task   string `json:"task,omitempty"`
	Caller Caller `json:"caller,omitzero"`

	// Identities are as whom the steps of the call act in the systems behind connections.
	Identities []Identity `json:"as,omitempty"`

	Arguments       json.RawMessage `json:"arguments,omitempty"` // object with sorted keys; if large, truncated
	ArgumentsSize   int             `json:"arguments_bytes,omitempty"`
	ArgumentsDigest string          `json:"arguments_sha256,omitempty"` // of truncated ones in full, redacted

	Decision string    `json:"decision,omitempty"` // "allowed", "denied"; of an approver "approved", "rejected"
	Rule     string    `json:"rule,omitempty"`     // that has decided
	Approval *Approval `json:"approval,omitempty"` // nil when no approval was required
	Outcome  string    `json:"outcome,omitempty"`
	Replayed string    `json:"replayed,omitempty"` // source of a replayed result
	Status   int       `json:"status,omitempty"`   // HTTP status of a refused request
	Message  string    `json:"message,omitempty"`  // of a failure; of a partial outcome, of the first one
	Failed   int       `json:"failed,omitempty"`   // of a partial outcome: elements and steps that failed
	Of       int       `json:"of,omitempty"`       // of as many that were run

	FailedStep string `json:"failed_step,omitempty"` // of a partial outcome: of the first failure
	FailedKey  string `json:"failed_key,omitempty"`  // of its element

	ErrorID string   `json:"error_id,omitempty"`
	Steps   []string `json:"steps,omitempty"` // that were run
	Asked   []string `json:"asked,omitempty"` // questions to the client
	// Upstreams are the tools of other MCP servers that were called.
	Upstreams []Upstream `json:"upstreams,omitempty"`
	// Masks are those of the outputs that the call could read: each is MaskApplied, or MaskLifted for its caller.
	Masks map[string]string `json:"masks,omitempty"`
	// Detected are how many values of each kind were replaced in what was sent.
	Detected map[string]int `json:"detected,omitempty"`
	Rows     int            `json:"rows,omitempty"`
	// Found are the names of the tools that a search has found.
	Found []string `json:"found,omitempty"`
	// Page is the number of a page of rows, and Delivered the rows of it and of the pages before.
	Page      int      `json:"page,omitempty"`
	Delivered int      `json:"delivered,omitempty"`
	Bytes     int      `json:"bytes,omitempty"`
	Tokens    int      `json:"tokens,omitempty"` // of a model's context that the answer takes, estimated
	SHA256    string   `json:"sha256,omitempty"` // of a file; of a reload that waited, of the lock
	Duration  float64  `json:"ms,omitempty"`
	Revision  string   `json:"revision,omitempty"` // of the configuration
	Commit    string   `json:"commit,omitempty"`   // of a repository, of a reload
	Previous  string   `json:"previous,omitempty"` // of a reload: the revision that it has replaced
	Added     []string `json:"added,omitempty"`    // of a reload: tools and other blocks
	Changed   []string `json:"changed,omitempty"`
	// Differences are what a reload means for callers, with their class.
	Differences []string `json:"differences,omitempty"`
	TraceID     string   `json:"trace,omitempty"` // from the traceparent of the caller

	Format     int      `json:"format,omitempty"`     // where a process or a file begins, of the records after it
	File       string   `json:"file,omitempty"`       // that was full, or was opened
	Removed    []string `json:"removed,omitempty"`    // surplus files; of a reload, blocks
	LostBytes  int64    `json:"lost_bytes,omitempty"` // bytes that are not a record
	LostDigest string   `json:"lost_sha256,omitempty"`
	Process    int      `json:"process,omitempty"`
	Host       string   `json:"host,omitempty"` // of the process; in a table

	Prev string `json:"prev"` // Hash of the record before; zeros in the first record
	Hash string `json:"hash"` // SHA-256 of the line up to this member
}

// Upstream is a tool of another MCP server that a call has called.
type Upstream struct {
	Connection string `json:"connection"`
	Tool       string `json:"tool"`       // by its name at the server
	Protocol   string `json:"protocol"`   // the revision of the session
	Definition string `json:"definition"` // the digest of the pinned definition
	Calls      int    `json:"calls"`      // how often it was called
}

// Common is what the records about one call, request or event share. It is empty in records of a log about itself.
type Common struct {
	ID       string
	Kind     string
	Name     string
	Via      string
	URI      string
	Task     string
	Caller   Caller
	Revision string
	TraceID  string

	Identities []Identity
}

// What became of a mask in a call.
const (
	MaskApplied = "applied"
	MaskLifted  = "lifted" // its rule let the caller see the values
)

// NewRecord returns the record of an event that happens now. Every record is made here, so that what all of them have
// is set in one place.
func NewRecord(event string, c Common) *Record {
	return &Record{
		Time: time.Now(), Event: event, ID: c.ID, Kind: c.Kind, Name: c.Name, Via: c.Via, URI: c.URI, Task: c.Task,
		Caller: c.Caller, Revision: c.Revision, TraceID: c.TraceID, Identities: c.Identities,
	}
}

// Caller is who has made a call or a request.
type Caller struct {
	Subject string   `json:"subject,omitempty"`
	Key     string   `json:"key,omitempty"`
	Groups  []string `json:"groups,omitempty"`
	Remote  string   `json:"remote,omitempty"`
	Client  string   `json:"client,omitempty"`
}

func (c *Caller) isEmpty() bool {
	return c.Subject == "" && c.Key == "" && c.Groups == nil && c.Remote == "" && c.Client == ""
}

// Limits of what a record holds, because callers control many of its members.
const (
	maxText  = 1 << 10 // bytes
	maxTexts = 100     // elements of a list
)

// timeFormat is the format of times, which are in UTC.
const timeFormat = "2006-01-02T15:04:05.000000Z"

// append appends the members of the record, without those that form the chain.
func (r *Record) append(dst []byte) []byte {
	dst = append(dst, `"time":"`...)
	dst = append(r.Time.UTC().AppendFormat(dst, timeFormat), `","event":"`...)
	dst = append(append(dst, r.Event...), '"')
	dst = appendText(dst, "id", r.ID)
	dst = appendText(dst, "kind", r.Kind)
	dst = appendText(dst, "name", r.Name)
	dst = appendText(dst, "via", r.Via)
	dst = appendText(dst, "uri", r.URI)
	dst = appendText(dst, "task", r.Task)
	if !r.Caller.isEmpty() {
		dst = r.Caller.append(append(dst, `,"caller":`...))
	}
	for i := range r.Identities {
		dst = append(dst, [...]string{`,"as":[`, `,`}[min(i, 1)]...)
		dst = r.Identities[i].append(dst)
		if i == len(r.Identities)-1 {
			dst = append(dst, ']')
		}
	}
	if r.Arguments != nil {
		dst = append(append(dst, `,"arguments":`...), r.Arguments...)
	}
	dst = appendNumber(dst, "arguments_bytes", int64(r.ArgumentsSize))
	dst = appendText(dst, "arguments_sha256", r.ArgumentsDigest)
	dst = appendText(dst, "decision", r.Decision)
	dst = appendText(dst, "rule", r.Rule)
	if r.Approval != nil {
		dst = r.Approval.append(append(dst, `,"approval":`...))
	}
	dst = appendText(dst, "outcome", r.Outcome)
	dst = appendText(dst, "replayed", r.Replayed)
	dst = appendNumber(dst, "status", int64(r.Status))
	dst = appendText(dst, "message", r.Message)
	dst = appendNumber(dst, "failed", int64(r.Failed))
	dst = appendNumber(dst, "of", int64(r.Of))
	dst = appendText(dst, "failed_step", r.FailedStep)
	dst = appendText(dst, "failed_key", r.FailedKey)
	dst = appendText(dst, "error_id", r.ErrorID)
	dst = appendTexts(dst, "steps", r.Steps)
	dst = appendTexts(dst, "asked", r.Asked)
	for i := range r.Upstreams {
		dst = append(dst, [...]string{`,"upstreams":[`, `,`}[min(i, 1)]...)
		dst = r.Upstreams[i].append(dst)
		if i == len(r.Upstreams)-1 {
			dst = append(dst, ']')
		}
	}
	for i, name := range slices.Sorted(maps.Keys(r.Masks)) {
		dst = value.AppendString(append(dst, [...]string{`,"masks":{`, `,`}[min(i, 1)]...), name)
		if dst = value.AppendString(append(dst, ':'), r.Masks[name]); i == len(r.Masks)-1 {
			dst = append(dst, '}')
		}
	}
	for i, name := range slices.Sorted(maps.Keys(r.Detected)) {
		dst = value.AppendString(append(dst, [...]string{`,"detected":{`, `,`}[min(i, 1)]...), name)
		if dst = strconv.AppendInt(append(dst, ':'), int64(r.Detected[name]), 10); i == len(r.Detected)-1 {
			dst = append(dst, '}')
		}
	}
	dst = appendNumber(dst, "rows", int64(r.Rows))
	dst = appendTexts(dst, "found", r.Found)
	dst = appendNumber(dst, "page", int64(r.Page))
	dst = appendNumber(dst, "delivered", int64(r.Delivered))
	dst = appendNumber(dst, "bytes", int64(r.Bytes))
	dst = appendNumber(dst, "tokens", int64(r.Tokens))
	dst = appendText(dst, "sha256", r.SHA256)
	if r.Duration != 0 {
		dst = strconv.AppendFloat(append(dst, `,"ms":`...), r.Duration, 'f', -1, 64)
	}
	dst = appendText(dst, "revision", r.Revision)
	dst = appendText(dst, "commit", r.Commit)
	dst = appendText(dst, "previous", r.Previous)
	dst = appendTexts(dst, "added", r.Added)
	dst = appendTexts(dst, "changed", r.Changed)
	dst = appendTexts(dst, "differences", r.Differences)
	dst = appendText(dst, "trace", r.TraceID)
	dst = appendNumber(dst, "format", int64(r.Format))
	dst = appendText(dst, "file", r.File)
	dst = appendTexts(dst, "removed", r.Removed)
	dst = appendNumber(dst, "lost_bytes", r.LostBytes)
	dst = appendText(dst, "lost_sha256", r.LostDigest)
	dst = appendNumber(dst, "process", int64(r.Process))
	return appendText(dst, "host", r.Host)
}

func (u *Upstream) append(dst []byte) []byte {
	from := len(dst)
	dst = appendText(dst, "connection", u.Connection)
	dst = appendText(dst, "tool", u.Tool)
	dst = appendText(dst, "protocol", u.Protocol)
	dst = appendText(dst, "definition", u.Definition)
	dst = appendNumber(dst, "calls", int64(u.Calls))
	dst[from] = '{' // instead of the comma
	return append(dst, '}')
}

func (c *Caller) append(dst []byte) []byte {
	from := len(dst)
	dst = appendText(dst, "subject", c.Subject)
	dst = appendText(dst, "key", c.Key)
	dst = appendTexts(dst, "groups", c.Groups)
	dst = appendText(dst, "remote", c.Remote)
	dst = appendText(dst, "client", c.Client)
	dst[from] = '{' // instead of the comma
	return append(dst, '}')
}

// appendText appends a member, unless it is empty.
func appendText(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return value.AppendString(appendName(dst, key), truncate(s))
}

func appendTexts(dst []byte, key string, list []string) []byte {
	if len(list) == 0 {
		return dst
	}
	dst = append(appendName(dst, key), '[')
	for i, s := range list[:min(len(list), maxTexts)] {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value.AppendString(dst, truncate(s))
	}
	if more := len(list) - maxTexts; more > 0 {
		dst = value.AppendString(append(dst, ','), fmt.Sprintf("and %d more", more))
	}
	return append(dst, ']')
}

func appendNumber(dst []byte, key string, n int64) []byte {
	if n == 0 {
		return dst
	}
	return strconv.AppendInt(appendName(dst, key), n, 10)
}

func appendName(dst []byte, key string) []byte {
	return append(append(append(dst, `,"`...), key...), `":`...)
}

// truncate shortens a long text at the boundary of a character.
func truncate(s string) string {
	if len(s) <= maxText {
		return s
	}
	return s[:cut.Before(s, maxText)] + "…"
}

// EventApproval is the event of a decision about an approval. Decision says what was decided, and
// Caller is the approver.
const EventApproval = "approval"

// Approval describes the decision that allowed or refused a call. It is in the records of the call
// and in that of the decision.
type Approval struct {
	ID        string    `json:"id,omitempty"`
	Requester string    `json:"asker,omitempty"` // subject of the caller; only in the record of the decision
	By        string    `json:"by,omitempty"`
	At        time.Time `json:"at,omitzero"`
	Reason    string    `json:"reason,omitempty"`
	Digest    string    `json:"digest,omitempty"` // of what the approver was shown; empty if it is not known
	Rules     []string  `json:"rules,omitempty"`  // that require the approval
}

func (a *Approval) append(dst []byte) []byte {
	from := len(dst)
	dst = appendText(dst, "id", a.ID)
	dst = appendText(dst, "asker", a.Requester)
	dst = appendText(dst, "by", a.By)
	if !a.At.IsZero() {
		dst = append(a.At.UTC().AppendFormat(append(appendName(dst, "at"), '"'), timeFormat), '"')
	}
	dst = appendText(dst, "reason", a.Reason)
	dst = appendText(dst, "digest", a.Digest)
	dst = appendTexts(dst, "rules", a.Rules)
	if len(dst) == from {
		return append(dst, "{}"...)
	}
	dst[from] = '{' // instead of the comma
	return append(dst, '}')
}
