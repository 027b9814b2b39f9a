package task

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
	"hatchel/runtime/webhook"
)

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
		Message string          `json:"message,omitempty"`
		Subject string          `json:"subject,omitempty"`
		Created string          `json:"created"`
		Result  json.RawMessage `json:"result,omitempty"`
		Size    int             `json:"result_size,omitempty"` // of a result that is too large for the event
		Error   json.RawMessage `json:"error,omitempty"`
	}{
		ID: t.row.Name, Tool: t.Tool, Status: t.Status, Message: t.Message, Subject: t.subject(),
		Created: formatTime(t.Created), Result: t.Result, Error: t.Error,
	}
	if len(t.Result) > maxEventResult {
		data.Result, data.Size = nil, len(t.Result)
	}
	at := time.UnixMilli(t.Updated)
	return &webhook.Event{ID: t.eventID(), Type: "task.finished", At: at, Data: data,
		Subject: EventSubject + t.row.Name}
}

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
	store, err := r.lease.Process.Store(ctx)
	if err != nil {
		return nil, false, err
	}
	row, err := store.Record(ctx, Kind, id)
	if err != nil || row == nil {
		return nil, err == nil, err
	}
	t, err := decode(row)
	if err != nil || !t.IsFinal() {
		return nil, false, err
	}
	return t.finishedEvent(), true, nil
}
