// Package task keeps MCP tasks: calls that continue after their first answer.
//
// A [Registry] stores tasks, knows those that this process works on, and reports their changes. The
// work itself is a function that is given to [Registry.Start] with a [Run].
package task

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"hatchel/hcl/value"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/durable/webhook"
	"hatchel/runtime/edge/mcp"
)

// What a task is doing, in the words of the protocol.
const (
	Working   = "working"
	Waiting   = "input_required"
	Completed = "completed"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// Statuses are all of them.
var Statuses = []string{Working, Waiting, Completed, Failed, Cancelled}

// pollInterval is how long clients are asked to wait between two requests about a task, in
// milliseconds.
const pollInterval = 500

// Kind is the kind of the records of tasks.
const Kind = "task"

// Task is a call that continues after its first answer, as it is stored. Its row is the record that
// it was read from.
type Task struct {
	row state.Record

	Tool    string `json:"tool"`
	Digest  string `json:"digest"`            // of the tool when the task began
	Owner   string `json:"subject,omitempty"` // to whom it belongs
	Toolset string `json:"toolset,omitempty"`

	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
	Created int64  `json:"created"` // milliseconds since 1970, like Updated
	Updated int64  `json:"updated"`
	TTL     int64  `json:"ttl"` // milliseconds

	Notify       []string        `json:"notify,omitempty"`       // webhooks that are notified of the end
	Identity     *mcp.Identity   `json:"identity,omitempty"`     // of the caller; nil without authentication
	Client       json.RawMessage `json:"client,omitempty"`       // clientInfo when the task began
	Capabilities json.RawMessage `json:"capabilities,omitempty"` // of the client when the task began
	Hops         int             `json:"hops,omitempty"`         // how many servers of this kind the call has passed
	Via          string          `json:"via,omitempty"`          // tool that was asked to make the call
	Call         json.RawMessage `json:"call,omitempty"`         // the frozen call, unless the task is final
	Step         string          `json:"step,omitempty"`         // the current step

	Asked  []Question     `json:"asked,omitempty"`  // questions of a waiting task
	Issued map[string]int `json:"issued,omitempty"` // how often each question was asked

	Result  json.RawMessage `json:"result,omitempty"`  // of a completed task: the result of tools/call
	Outcome string          `json:"outcome,omitempty"` // of a completed task: that of its call, as in the audit log
	Lifted  []string        `json:"lifted,omitempty"`  // of a completed task: the masks that showed its caller values
	Error   json.RawMessage `json:"error,omitempty"`   // of a failed one
}

// Question is a question that the client has not answered.
type Question struct {
	Key    string          `json:"key"` // unique within the task
	Ask    string          `json:"ask"` // the key of the ask block
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// decode returns the task of a row.
func decode(row *state.Record) (*Task, error) {
	t := &Task{row: *row}
	return t, json.Unmarshal(row.Body, t)
}

// encode writes the task into its row.
func (t *Task) encode() (err error) {
	t.row.Group, t.row.Due = t.Status, time.UnixMilli(t.Created) // so that they are counted and listed
	t.row.Body, err = json.Marshal(t)
	return err
}

// ID returns the ID of the task.
func (t *Task) ID() string { return t.row.Name }

// Expires returns when the task is removed.
func (t *Task) Expires() time.Time { return t.row.Expires }

// IsFinal reports whether the task has ended.
func (t *Task) IsFinal() bool {
	return t.Status == Completed || t.Status == Failed || t.Status == Cancelled
}

// end makes the task final.
func (t *Task) end(status, message string) {
	t.Status, t.Message = status, message
	t.Call, t.Step, t.Asked, t.row.Owner = nil, "", nil, ""
}

// Complete ends the task with the result of tools/call, and with the outcome that the audit log has of the call. Lifted
// are the masks that showed the caller values.
func (t *Task) Complete(result []byte, outcome string, lifted []string) {
	t.end(Completed, "")
	t.Result, t.Outcome, t.Lifted = result, outcome, lifted
}

// Fail ends the task with an error of the protocol.
func (t *Task) Fail(e *mcp.Error) {
	t.end(Failed, e.Message)
	t.Result, t.Outcome = nil, ""
	b := strconv.AppendInt([]byte(`{"code":`), int64(e.Code), 10)
	b = value.AppendString(append(b, `,"message":`...), e.Message)
	if e.Data != nil {
		b = append(append(b, `,"data":`...), e.Data...)
	}
	t.Error = append(b, '}')
}

// Wait makes the task wait for the answers to pending questions and to new ones. A question that
// was asked before gets another key.
func (t *Task) Wait(pending []Question, asked []mcp.Question) {
	t.Status, t.Message, t.Step, t.row.Owner = Waiting, "", "", ""
	t.Asked = pending
	if t.Issued == nil {
		t.Issued = map[string]int{}
	}
	for _, q := range asked {
		key := q.Key
		t.Issued[q.Key]++
		if n := t.Issued[q.Key]; n > 1 {
			key += "." + strconv.Itoa(n)
		}
		t.Asked = append(t.Asked, Question{key, q.Key, q.Method, q.Params})
	}
}

// MatchAnswers returns the given answers by the keys of the ask blocks, and the questions that are
// still pending. It ignores answers to other questions.
func (t *Task) MatchAnswers(answers map[string]any) (sent map[string]any, pending []Question) {
	if t.Status != Waiting {
		return nil, nil
	}
	sent = map[string]any{}
	for _, q := range t.Asked {
		if answer, ok := answers[q.Key]; ok {
			sent[q.Ask] = answer
		} else {
			pending = append(pending, q)
		}
	}
	return sent, pending
}

// AppendMembers appends the members of a task as tools/call answers when it begins; detailed adds
// those of tasks/get.
func (t *Task) AppendMembers(dst []byte, detailed bool) []byte {
	dst = value.AppendString(append(dst, `"taskId":`...), t.row.Name)
	dst = value.AppendString(append(dst, `,"status":`...), t.Status)
	dst = mcp.AppendMember(dst, "statusMessage", t.Message)
	dst = value.AppendString(append(dst, `,"createdAt":`...), formatTime(t.Created))
	dst = value.AppendString(append(dst, `,"lastUpdatedAt":`...), formatTime(t.Updated))
	dst = strconv.AppendInt(append(dst, `,"ttlMs":`...), t.TTL, 10)
	dst = strconv.AppendInt(append(dst, `,"pollIntervalMs":`...), pollInterval, 10)
	switch {
	case !detailed:
	case t.Status == Waiting:
		dst = append(dst, `,"inputRequests":{`...)
		for i, q := range t.Asked {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = value.AppendString(append(value.AppendString(dst, q.Key), `:{"method":`...), q.Method)
			dst = append(append(append(dst, `,"params":`...), q.Params...), '}')
		}
		dst = append(dst, '}')
	case t.Status == Completed:
		dst = append(append(dst, `,"result":`...), t.Result...)
	case t.Status == Failed:
		dst = append(append(dst, `,"error":`...), t.Error...)
	}
	return dst
}

func formatTime(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// Caller returns the caller who began the task, as far as the call can read it.
func (t *Task) Caller() *mcp.Caller {
	return &mcp.Caller{
		Revision: mcp.Revision20260728, Toolset: t.Toolset, Identity: t.Identity, Subject: t.subject(),
		ClientInfo: t.Client, Capabilities: t.Capabilities,
	}
}

// RefreshToken makes the task continue with the token of this request: tokens are not stored.
func (t *Task) RefreshToken(caller *mcp.Caller) {
	if t.Identity != nil && caller.Identity != nil {
		identity := *t.Identity // other goroutines may read the old one
		identity.Token = caller.Identity.Token
		t.Identity = &identity
	}
}

func (t *Task) subject() string {
	if t.Identity == nil {
		return t.Owner
	}
	return t.Identity.Subject
}

// belongsTo reports whether a caller may know of the task.
func (t *Task) belongsTo(c *mcp.Caller) bool { return t.Owner == c.Owner() && t.Toolset == c.Toolset }

// EventSubject is the prefix of the subject of an event about a task, before the ID of the task.
const EventSubject = "task:"

// maxEventResult is how many bytes of the result of a task an event has.
const maxEventResult = 64 << 10

// ErrExpired is what a task comes to whose time has passed before it was done.
var ErrExpired = &mcp.Error{
	Code: mcp.CodeInternalError, Message: "The time for which the task is kept has passed before it was done.",
}

// enqueueEvents stores the event that a task has ended before the task itself is stored, so that
// what is delivered is what the task came to. For a task that waits for its client it stores the
// event that the task has expired, which is delivered when nobody answers. Events that do not fit
// are dropped, and the log says so.
func (r *Registry) enqueueEvents(ctx context.Context, t *Task) error {
	if len(t.Notify) == 0 || !t.IsFinal() && t.Status != Waiting {
		return nil
	}
	e := t.finishedEvent()
	if !t.IsFinal() {
		e = t.expiredEvent()
	}
	for _, name := range t.Notify {
		if err := r.events.Enqueue(ctx, name, e); err != nil && !errors.Is(err, state.ErrFull) {
			return err
		}
	}
	return nil
}

// releaseEvents has the event of a task that has ended delivered at once.
func (r *Registry) releaseEvents(t *Task) {
	if len(t.Notify) > 0 && t.IsFinal() {
		r.events.Resolve(t.eventID())
	}
}

// eventID is the ID of the event that the task has ended.
func (t *Task) eventID() string { return "task-finished-" + t.row.Name }

// finishedEvent returns the event that the task has ended.
func (t *Task) finishedEvent() *webhook.Event {
	data := struct {
		ID      string          `json:"id"`
		Tool    string          `json:"tool"`
		Status  string          `json:"status"`
		Outcome string          `json:"outcome,omitempty"`
		Message string          `json:"message,omitempty"`
		Subject string          `json:"subject,omitempty"`
		Created string          `json:"created"`
		Result  json.RawMessage `json:"result,omitempty"`
		Size    int             `json:"result_size,omitempty"` // of a result that is too large for the event
		Error   json.RawMessage `json:"error,omitempty"`
	}{
		ID: t.row.Name, Tool: t.Tool, Status: t.Status, Outcome: t.Outcome, Message: t.Message, Subject: t.subject(),
		Created: formatTime(t.Created), Result: t.Result, Error: t.Error,
	}
	if len(t.Lifted) > 0 {
		data.Result = nil // who receives it may not see what the caller could
	} else if len(t.Result) > maxEventResult {
		data.Result, data.Size = nil, len(t.Result)
	}
	at := time.UnixMilli(t.Updated)
	return &webhook.Event{ID: t.eventID(), Type: "task.finished", At: at, Data: data,
		Subject: EventSubject + t.row.Name}
}

// CreatedTime returns when the task was created, as its event says it.
func (t *Task) CreatedTime() string { return formatTime(t.Created) }

// expiredEvent returns the event that the task has expired, which holds unless the task has ended
// by then.
func (t *Task) expiredEvent() *webhook.Event {
	expired := *t
	expired.Fail(ErrExpired)
	expired.Updated = t.row.Expires.UnixMilli()
	e := expired.finishedEvent()
	e.ResolvedBy = t.row.Expires
	return e
}

// Event returns the event that a task has ended. Known is false while the task has not ended; a nil
// event that is known is that of a task that does not exist any more.
func (r *Registry) Event(ctx context.Context, id string) (e *webhook.Event, known bool, err error) {
	t, err := r.load(ctx, id)
	switch {
	case err != nil || t != nil && !t.IsFinal():
		return nil, false, err
	case t == nil:
		return nil, true, nil
	}
	return t.finishedEvent(), true, nil
}
