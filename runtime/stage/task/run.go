package task

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/mcp"
)

// progressInterval is how often the progress of a task is saved at most.
const progressInterval = time.Second

// Run is the work on a task until it ends or waits for its client. It is the client of the call:
// progress becomes the status message of the task.
type Run struct {
	Task *Task // guarded by mu while the call is running

	ctx      context.Context // ends when the work must
	cancel   context.CancelCauseFunc
	registry *Registry
	hold     *state.Hold
	log      *slog.Logger

	mu          sync.Mutex
	lastSaved   time.Time   // guarded by mu
	pendingSave *time.Timer // saves progress that was reported since; nil for none; guarded by mu
}

// Context ends when the work on the task must end.
func (r *Run) Context() context.Context { return r.ctx }

// WantsProgress implements adapters.Client.
func (r *Run) WantsProgress() bool { return true }

// Progress implements adapters.Client. Of reports that follow each other quickly the last one is
// saved.
func (r *Run) Progress(done, total float64, message string) {
	if message == "" {
		message = strconv.FormatFloat(done, 'f', -1, 64)
		if total > 0 {
			message += " of " + strconv.FormatFloat(total, 'f', -1, 64)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Task.Message = message
	switch wait := progressInterval - time.Since(r.lastSaved); {
	case r.pendingSave != nil:
	case wait > 0:
		r.pendingSave = time.AfterFunc(wait, r.flush)
	default:
		r.Save()
	}
}

// Log implements adapters.Client. Tasks have no log.
func (r *Run) Log(level, logger string, data []byte) {}

// flush saves the last progress, unless the call has ended.
func (r *Run) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pendingSave != nil {
		r.pendingSave = nil
		r.Save()
	}
}

// EndProgress is called when the call has ended: no more progress is saved, and Task belongs to the
// caller.
func (r *Run) EndProgress() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pendingSave != nil {
		r.pendingSave.Stop()
		r.pendingSave = nil
	}
}

// SetStep stores which step runs next, so that a restart can tell what was interrupted.
func (r *Run) SetStep(step string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Task.Step = step
	r.store(r.registry.write)
}

// Save stores the task and tells its subscribers. When another process has ended the task, the work
// on it ends.
func (r *Run) Save() {
	r.lastSaved = time.Now()
	r.store(r.registry.Save)
}

// SaveOutcome is Save for what the work on the task came to. It is retried while the state store is
// unavailable, for as long as the task is kept.
func (r *Run) SaveOutcome() {
	r.store(func(ctx context.Context, t *Task) (won bool, err error) {
		err = state.Retry(r.ctx, func(context.Context) error {
			won, err = r.registry.Save(ctx, t)
			return err
		})
		return won, err
	})
}

func (r *Run) store(save func(context.Context, *Task) (bool, error)) {
	ctx, t := context.WithoutCancel(r.ctx), r.Task
	won, err := save(ctx, t)
	if errors.Is(err, state.ErrFull) {
		const text = "The state store is full, so the outcome of the task is not kept; whether its last step took " +
			"effect is unknown."
		t.Fail(&mcp.Error{Code: mcp.CodeInternalError, Message: text})
		_, err = r.registry.Save(ctx, t)
		won = false
	}
	switch {
	case err != nil:
		r.log.LogAttrs(ctx, slog.LevelError, "task not saved", slog.String("tool", t.Tool),
			slog.String("task", t.row.Name), slog.String("error", err.Error()))
	case !won:
		r.registry.stop(t.row.Name, ErrLost)
	}
}

// StoppedError returns what a task comes to that the server ends because it shuts down.
func (t *Task) StoppedError() *mcp.Error {
	text := "The server was stopped before the task was done."
	if t.Step != "" {
		text = "The server was stopped while the task was at the step \"" + t.Step +
			"\"; whether that took effect is unknown."
	}
	return &mcp.Error{Code: mcp.CodeInternalError, Message: text}
}

// Abort saves a task that was created and is not started, and ends the work on it.
func (r *Run) Abort() error {
	defer r.hold.Release()
	_, err := r.registry.Save(context.WithoutCancel(r.ctx), r.Task)
	return err
}
