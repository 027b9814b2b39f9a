package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/outbox"
	"hatchel/runtime/state"
)

// tell remembers that an event is to be delivered to webhooks, before it returns. Of any number of events with the same id, which is made of letters, digits, _ and -, one is
// delivered to each webhook. Data is encoded as JSON; known secrets are taken out of it.
func (g *Generation) tell(ctx context.Context, names []string, id, event string, data any) error {
	if len(names) == 0 {
		return nil
	}
	store, err := g.build.State.delivers(ctx)
	if err != nil {
		return err
	}
	encoded, err := json.Marshal(data)
	if err != nil {
		return err
	}
	hooks := hooksOf(g.Config)
	e := &outbox.Event{ID: id, Type: event, At: time.Now(), Data: json.RawMessage(g.scrubber.json(encoded))}
	for _, name := range names {
		if err := g.build.State.outbox.Put(ctx, store, hooks[name], e); err != nil {
			return err
		}
	}
	return nil
}

// hooksOf are the webhooks of a configuration, by name.
func hooksOf(c *hcl.Config) map[string]outbox.Hook {
	hooks := make(map[string]outbox.Hook, len(c.Webhooks))
	for _, w := range c.Webhooks {
		hooks[w.Name] = outbox.Hook{Name: w.Name, URL: w.URL.Reveal(), Place: w.Place(), Key: w.Key(), Timeout: w.Timeout, Keep: w.Keep}
	}
	return hooks
}

// deliver says what webhooks there are from now on, and with what they are told.
func (s *State) deliver(g *Generation) {
	s.outbox.Serve(outbox.Service{Hooks: hooksOf(g.Config), Agent: "hatchel/" + g.build.Version, Log: g.log()})
}

// delivers opens the store, unless it is open, and has what is put into the outbox delivered, by this process or another.
func (s *State) delivers(ctx context.Context) (state.Store, error) {
	store, _, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}
	s.outbox.Open(ctx, store)
	return store, s.tasks.begin(ctx)
}

// waiting says what waits for webhooks.
func (s *State) waiting(ctx context.Context) []outbox.Health {
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	return s.outbox.Health(ctx)
}

// left has what is left of deliveries delivered, if there can be any: it opens the store only if that is there already, or was asked for.
func (s *State) left(ctx context.Context) error {
	s.mu.Lock()
	there := s.store != nil || s.kept != nil || s.exists != nil && s.exists(s.kept)
	s.mu.Unlock()
	if !there {
		return nil
	}
	_, err := s.delivers(ctx)
	return err
}

// ofTask is what an event about a task is about.
const ofTask = "task:"

// announce remembers that webhooks are told that a task has ended, before that is remembered itself: what is told is what became of it in the end. What there is no room
// for is lost, and the log says so.
func (ts *tasks) announce(ctx context.Context, t *task) error {
	if len(t.Callback) == 0 || !t.over() {
		return nil
	}
	store, err := ts.state.delivers(ctx)
	if err != nil {
		return err
	}
	e := t.finished()
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

// announced has told at once what announce has remembered.
func (ts *tasks) announced(t *task) {
	if !t.over() {
		return
	}
	for _, name := range t.Callback {
		ts.state.outbox.Ready(name, t.event())
	}
}

// event is the id of the event that the task has ended.
func (t *task) event() string { return "task-finished-" + t.row.ID }

// largestTold is how many bytes of the result of a task webhooks are told.
const largestTold = 64 << 10

// finished is the event that the task has ended.
func (t *task) finished() *outbox.Event {
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
	}{ID: t.row.ID, Tool: t.Tool, Status: t.Status, Message: t.Message, Subject: t.subject(), Created: moment(t.Created), Result: t.Result, Error: t.Error}
	if len(t.Result) > largestTold {
		data.Result, data.Size = nil, len(t.Result)
	}
	return &outbox.Event{ID: t.event(), Type: "task.finished", At: time.UnixMilli(t.Updated), Data: data, Of: ofTask + t.row.ID}
}

// settled implements outbox.Settled.
func (s *State) settled(ctx context.Context, of string) (*outbox.Event, bool, error) {
	id, ok := strings.CutPrefix(of, ofTask)
	if !ok {
		return nil, true, nil
	}
	store, _, err := s.opened(ctx)
	if err != nil {
		return nil, false, err
	}
	row, err := store.Task(ctx, id)
	if err != nil || row == nil {
		return nil, err == nil, err
	}
	t, err := readTask(row)
	if err != nil || !t.over() {
		return nil, false, err
	}
	return t.finished(), true, nil
}
