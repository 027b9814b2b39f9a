package task

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hatchel/runtime/durable/state"
	"hatchel/runtime/durable/webhook"
	"hatchel/runtime/edge/mcp"
)

// Events delivers events to webhooks.
type Events interface {
	// Enqueue stores an event for a webhook; it ignores one that does not exist.
	Enqueue(ctx context.Context, webhook string, e *webhook.Event) error
	// Resolve has a stored event delivered whose subject has come to its end.
	Resolve(id string)
}

// Registry knows the tasks of a server: those that this process works on, and what the store holds.
// A task that waits for its client has no goroutine. Its methods may be called concurrently.
type Registry struct {
	lease  *state.Lease
	isOpen func() bool // reports whether the store is open
	events Events

	mu       sync.Mutex
	audience Audience          // nil for none; guarded by mu
	running  map[string][]*Run // by the ID of the task; guarded by mu
	seen     map[string]int    // versions of the tasks that this process follows, nil without Look; guarded by mu
	closed   bool              // no task begins any more; guarded by mu
	idle     chan struct{}     // closed while nothing runs; guarded by mu

	saves map[string]*saveLock // by the ID of a task; guarded by mu
}

// Why the context of a task ends.
var (
	ErrCancelled = errors.New("the task was cancelled")
	ErrLost      = errors.New("another process has taken or ended the task")
	ErrTimedOut  = errors.New("the time for which the task is kept has passed")
)

// ErrFull is why a call cannot become a task.
var ErrFull = &mcp.Error{Code: mcp.CodeBusy, Message: "Too many tasks at once. Try again when some of them are done"}

const (
	maxRunning = 1024             // tasks that a process works on at once
	orphanTTL  = 2 * time.Second  // before the task of a dead process is taken for interrupted
	stopAfter  = 10 * time.Second // before Close gives up waiting for running tasks
)

// NewRegistry returns the registry of a process. IsOpen reports whether the store is open.
func NewRegistry(process *state.Process, isOpen func() bool, events Events) *Registry {
	idle := make(chan struct{})
	close(idle)
	r := &Registry{isOpen: isOpen, events: events, running: map[string][]*Run{}, idle: idle,
		saves: map[string]*saveLock{}}
	r.lease = &state.Lease{Process: process, Kind: Kind, TTL: orphanTTL, OnOrphan: r.failInterrupted}
	return r
}

// Watch ends the tasks of dead processes. It must be called once. Looks says whether Look will be called.
func (r *Registry) Watch(looks bool) {
	if looks {
		r.mu.Lock()
		r.seen = map[string]int{}
		r.mu.Unlock()
	}
	r.lease.Watch()
}

// failInterrupted ends a task whose process has died.
func (r *Registry) failInterrupted(ctx context.Context, _ state.Store, row *state.Record) error {
	t, err := decode(row)
	if err != nil {
		return err
	}
	text := "The task was interrupted by a restart of the server."
	if t.Step != "" {
		text = "The task was interrupted by a restart of the server; whether the step \"" + t.Step +
			"\" took effect is unknown."
	}
	t.Fail(&mcp.Error{Code: mcp.CodeInternalError, Message: text})
	_, err = r.Save(ctx, t)
	return err
}

// Create stores a new task that this process works on, and returns the run to start.
func (r *Registry) Create(ctx context.Context, t *Task, log *slog.Logger) (*Run, error) {
	r.mu.Lock()
	full := len(r.running) >= maxRunning
	r.mu.Unlock()
	if full {
		return nil, ErrFull
	}
	var id [16]byte
	rand.Read(id[:])
	now := time.Now()
	expires := now.Add(time.Duration(t.TTL) * time.Millisecond)
	t.row = state.Record{Name: hex.EncodeToString(id[:]), Expires: expires, NoNotify: true}
	t.Status, t.Created, t.Updated = Working, now.UnixMilli(), now.UnixMilli()
	if err := t.encode(); err != nil {
		return nil, err
	}
	hold, _, err := r.lease.Begin(ctx, &t.row, nil)
	t.row.NoNotify = false // subscribers are notified of what follows
	if errors.Is(err, state.ErrFull) {
		return nil, ErrFull
	}
	if err != nil {
		return nil, err
	}
	return &Run{Task: t, ctx: ctx, registry: r, hold: hold, log: log}, nil
}

// Take makes this process the one that works on a waiting task. The run is nil when the task was
// changed since it was read.
func (r *Registry) Take(ctx context.Context, t *Task, log *slog.Logger) (*Run, error) {
	defer r.lockSaves(t.row.Name)()
	waiting := t.row
	t.Status, t.Asked, t.Updated = Working, nil, max(t.Updated, time.Now().UnixMilli())
	if err := t.encode(); err != nil {
		return nil, err
	}
	hold, existing, err := r.lease.Begin(ctx, &t.row, &waiting)
	if err != nil || existing != nil {
		return nil, err
	}
	r.notify(t)
	return &Run{Task: t, ctx: ctx, registry: r, hold: hold, log: log}, nil
}

// Save stores a task and tells its subscribers, and the webhooks of a task that has ended. It
// reports false when the task was changed in the meantime.
func (r *Registry) Save(ctx context.Context, t *Task) (bool, error) {
	defer r.lockSaves(t.row.Name)()
	if err := r.enqueueEvents(ctx, t); err != nil {
		return false, err
	}
	won, err := r.write(ctx, t)
	if err != nil || !won {
		return false, err
	}
	r.releaseEvents(t)
	r.notify(t)
	r.notifyEnd(t)
	return true, nil
}

// write stores a task and tells nobody. It reports false when the task was changed in the meantime.
func (r *Registry) write(ctx context.Context, t *Task) (bool, error) {
	store, err := r.lease.Process.Store(ctx)
	if err != nil {
		return false, err
	}
	t.Updated = max(t.Updated, time.Now().UnixMilli())
	if err := t.encode(); err != nil {
		return false, err
	}
	won, err := store.Replace(ctx, &t.row)
	if won {
		r.see(t)
	}
	return won, err
}

// load returns a task; nil for none.
func (r *Registry) load(ctx context.Context, id string) (*Task, error) {
	store, err := r.lease.Process.Store(ctx)
	if err != nil {
		return nil, err
	}
	row, err := store.Record(ctx, Kind, id)
	if err != nil || row == nil {
		return nil, err
	}
	return decode(row)
}

// Find returns a task of a caller; mcp.Unknown for one that is not theirs.
func (r *Registry) Find(ctx context.Context, id string, c *mcp.Caller) (*Task, error) {
	if !r.isOpen() { // there is none, and the store is not opened for that
		return nil, mcp.Unknown("task", id)
	}
	t, err := r.load(ctx, id)
	if err == nil && (t == nil || !t.belongsTo(c)) {
		err = mcp.Unknown("task", id)
	}
	if err != nil {
		return nil, err
	}
	r.see(t)
	return t, nil
}

// Messages of cancelled tasks.
const (
	ByClient   = "The client has cancelled the task."
	ByOperator = "An operator has cancelled the task."
)

// Cancel ends a task with ByClient or ByOperator. It reports false when the task was changed in the meantime.
func (r *Registry) Cancel(ctx context.Context, t *Task, message string) (bool, error) {
	if t.IsFinal() {
		return true, nil
	}
	t.end(Cancelled, message)
	won, err := r.Save(ctx, t)
	if won {
		r.stop(t.row.Name, ErrCancelled)
	}
	return won, err
}

// Count returns how many tasks the store keeps, by status.
func (r *Registry) Count(ctx context.Context) (map[string]int, error) {
	store, err := r.lease.Process.Store(ctx)
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, status := range Statuses {
		if counts[status], err = store.Count(ctx, Kind, status); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// Start has work run on a goroutine of its own, for as long as the task is kept. It reports false
// when the server is shutting down.
func (r *Registry) Start(run *Run, work func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		run.hold.Release()
		return false
	}
	var end context.CancelFunc
	run.ctx, run.cancel = context.WithCancelCause(context.WithoutCancel(run.ctx))
	run.ctx, end = context.WithDeadlineCause(run.ctx, run.Task.row.Expires, ErrTimedOut)
	if len(r.running) == 0 {
		r.idle = make(chan struct{})
	}
	id := run.Task.row.Name
	r.running[id] = append(r.running[id], run)
	go func() {
		defer r.remove(run)
		defer run.cancel(nil)
		defer end()
		work()
	}()
	return true
}

func (r *Registry) remove(run *Run) {
	run.hold.Release()
	r.mu.Lock()
	defer r.mu.Unlock()
	id := run.Task.row.Name
	r.running[id] = slices.DeleteFunc(r.running[id], func(other *Run) bool { return other == run })
	if len(r.running[id]) == 0 {
		delete(r.running, id)
	}
	if len(r.running) == 0 {
		close(r.idle)
	}
}

// stop ends the work on a task, if this process works on it.
func (r *Registry) stop(id string, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, run := range r.running[id] {
		run.cancel(cause)
	}
}

// Drain waits until nothing runs, or ctx ends.
func (r *Registry) Drain(ctx context.Context) error {
	r.mu.Lock()
	idle := r.idle
	r.mu.Unlock()
	select {
	case <-idle:
		return nil
	default:
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close lets no task begin any more, and ends those that run with this cause.
func (r *Registry) Close(cause error) {
	r.mu.Lock()
	r.closed = true
	for _, runs := range r.running {
		for _, run := range runs {
			run.cancel(cause)
		}
	}
	idle := r.idle
	r.mu.Unlock()
	select {
	case <-idle:
	case <-time.After(stopAfter):
	}
}
