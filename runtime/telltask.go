package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
	"hatchel/runtime/webhook"
)

// ofTask is what an event about a task is about.
const ofTask = "task:"

// enqueueEvents remembers that webhooks are told that a task has ended, before that is remembered itself: what is told is what became of it in the end. Of one that begins to wait for its client
// it remembers that, too: when nobody answers, nobody works on it when its time has passed. What there is no room for is lost, and the log says so.
func (ts *taskRegistry) enqueueEvents(ctx context.Context, t *task) error {
	if len(t.Callback) == 0 || !t.isFinal() && t.Status != taskWaiting {
		return nil
	}
	store, err := ts.state.openWebhooks(ctx)
	if err != nil {
		return err
	}
	e := t.finishedEvent()
	if !t.isFinal() {
		e = t.expiredEvent()
	}
	for _, name := range t.Callback {
		h, ok := ts.state.outbox.Hook(name)
		if !ok {
			continue // it is not declared any more
		}
		if err := ts.state.outbox.Put(ctx, store, h, e); err != nil && !errors.Is(err, state.ErrFull) {
			return err
		}
	}
	return nil
}

// releaseEvents has told at once what announce has remembered.
func (ts *taskRegistry) releaseEvents(t *task) {
	if len(t.Callback) == 0 || !t.isFinal() {
		return
	}
	ts.state.outbox.Ready(t.eventID())
}

// eventID is the id of the event that the task has ended.
func (t *task) eventID() string { return "task-finished-" + t.row.Name }

// maxEventResult is how many bytes of the result of a task webhooks are told.
const maxEventResult = 64 << 10

// finishedEvent is the event that the task has ended.
func (t *task) finishedEvent() *webhook.Event {
	data := struct {
		ID      string          `json:"id"`
		Tool    string          `json:"tool"`
		Status  string          `json:"status"`
		Message string          `json:"message,omitempty"`
		Subject string          `json:"subject,omitempty"`
		Created string          `json:"created"`
		Result  json.RawMessage `json:"result,omitempty"`
		Size    int             `json:"result_size,omitempty"` // of one that is too large to be told
		Error   json.RawMessage `json:"error,omitempty"`
	}{ID: t.row.Name, Tool: t.Tool, Status: t.Status, Message: t.Message, Subject: t.subject(), Created: formatTime(t.Created), Result: t.Result, Error: t.Error}
	if len(t.Result) > maxEventResult {
		data.Result, data.Size = nil, len(t.Result)
	}
	return &webhook.Event{ID: t.eventID(), Type: "task.finished", At: time.UnixMilli(t.Updated), Data: data, Of: ofTask + t.row.Name}
}

// expiredEvent is the event that the time has passed for which the task is kept, if it has by then, and nothing else has become of it.
func (t *task) expiredEvent() *webhook.Event {
	ended := *t
	ended.fail(errTaskTimedOut)
	ended.Updated = t.row.Expires.UnixMilli()
	e := ended.finishedEvent()
	e.By = t.row.Expires
	return e
}

// errTaskTimedOut is what a task comes to that is forgotten before it is done.
var errTaskTimedOut = &mcp.Error{Code: mcp.CodeInternalError, Message: "The time for which the task is kept has passed before it was done."}

// taskEvent is the event that a task has ended, if it has.
func (s *State) taskEvent(ctx context.Context, id string) (*webhook.Event, bool, error) {
	store, _, err := s.open(ctx)
	if err != nil {
		return nil, false, err
	}
	row, err := store.Record(ctx, kindTask, id)
	if err != nil || row == nil {
		return nil, err == nil, err
	}
	t, err := readTask(row)
	if err != nil || !t.isFinal() {
		return nil, false, err
	}
	return t.finishedEvent(), true, nil
}
