package runtime

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
)

// progressSaveInterval is how often the progress of a task is remembered and told at most.
const progressSaveInterval = time.Second

// Progress implements adapters.Client. Of reports that follow each other fast the last one is remembered and told.
func (s *taskRun) Progress(done, total float64, message string) {
	if message == "" {
		message = strconv.FormatFloat(done, 'f', -1, 64)
		if total > 0 {
			message += " of " + strconv.FormatFloat(total, 'f', -1, 64)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.task.Message = message
	switch wait := progressSaveInterval - time.Since(s.lastSaved); {
	case s.pendingSave != nil:
	case wait > 0:
		s.pendingSave = time.AfterFunc(wait, s.flush)
	default:
		s.save()
	}
}

// Log implements adapters.Client. Tasks have no log.
func (s *taskRun) Log(level, logger string, data []byte) {}

// flush saves what was reported last, unless the call has ended.
func (s *taskRun) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pendingSave != nil {
		s.pendingSave = nil
		s.save()
	}
}

// cancelPendingSave is called when the call has ended: what it came to is saved, and what was reported before is not.
func (s *taskRun) cancelPendingSave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pendingSave != nil {
		s.pendingSave.Stop()
		s.pendingSave = nil
	}
}

// setStep says which step comes next, so that a restart can tell what was interrupted.
func (s *taskRun) setStep(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.task.Step = step
	s.store(s.program.generation.build.State.tasks.write)
}

// save remembers the task and tells who follows it. What was not remembered because somebody else has ended the task ends the work on it.
func (s *taskRun) save() {
	s.lastSaved = time.Now()
	s.store(s.program.generation.build.State.tasks.save)
}

// storeRetryInterval is how long what a task came to waits for a store that is away.
const storeRetryInterval = time.Second

// saveOutcome is save for what the work on the task came to, or waits for: it is tried again while the store is away, for as long as somebody may want to know.
func (s *taskRun) saveOutcome() {
	remembered := func(ctx context.Context, t *task) (won bool, err error) {
		for {
			won, err = s.program.generation.build.State.tasks.save(ctx, t)
			if !errors.Is(err, state.ErrAway) || s.ctx.Err() != nil {
				return won, err
			}
			waitUntil(s.ctx.Done(), storeRetryInterval, nil)
		}
	}
	s.store(remembered)
}

func (s *taskRun) store(keep func(context.Context, *task) (bool, error)) {
	ctx, p, t := context.WithoutCancel(s.ctx), s.program, s.task
	ts := p.generation.build.State.tasks
	won, err := keep(ctx, t)
	if errors.Is(err, state.ErrFull) {
		t.fail(&mcp.Error{Code: mcp.CodeInternalError, Message: "The server has no room left to remember what became of the task; whether its last step took effect is unknown."})
		_, err = ts.save(ctx, t)
		won = false
	}
	switch {
	case err != nil:
		p.generation.log().LogAttrs(ctx, slog.LevelError, "what became of a task cannot be remembered", slog.String("tool", p.decl.Name), slog.String("task", t.row.Name), slog.String("error", err.Error()))
	case !won:
		ts.stop(t.row.Name, errTaskLost)
	}
}
