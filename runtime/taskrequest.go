package runtime

import (
	"context"
	"errors"

	"hatchel/adapters"
	"hatchel/hcl/value"
	"hatchel/runtime/elicit"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
)

// Task serves a request about a task.
func (h *Host) Task(ctx context.Context, req *mcp.TaskRequest) (mcp.Appender, error) {
	if !h.current.Load().isAuthenticated(req.Caller) {
		return nil, mcp.Unauthorized()
	}
	ts := h.build.State.tasks
	for ctx.Err() == nil {
		t, err := ts.find(ctx, req.ID, req.Caller)
		if err != nil {
			return nil, publicError(err)
		}
		done := true
		switch req.Method {
		case "tasks/get":
			return mcp.Raw(t.appendMembers(nil, true)), nil
		case "tasks/update":
			t.refreshToken(req.Caller)
			done, err = h.answerTask(ctx, t, req.Answers)
			err = h.answerError(err)
		case "tasks/cancel":
			over := t.isFinal()
			if done, err = ts.cancel(ctx, t); done && err == nil && !over {
				h.recordTaskCancelled(ctx, t, req.Caller)
			}
		}
		if done || err != nil {
			return nil, publicError(err)
		}
	}
	return nil, context.Cause(ctx)
}

// answerError is why answers were not taken, as the client is told.
func (h *Host) answerError(err error) error {
	var f *adapters.Fault
	switch {
	case errors.Is(err, state.ErrFull):
		return errTasksFull
	case errors.As(err, &f):
		return &mcp.Error{Code: mcp.CodeInvalidParams, Message: h.Current().scrubber.Text(f.Message)}
	}
	return err
}

// cancel ends a task. It reports false when the task was changed in the meantime.
func (ts *taskRegistry) cancel(ctx context.Context, t *task) (bool, error) {
	if t.isFinal() {
		return true, nil
	}
	t.end(taskCancelled, "The client has cancelled the task.")
	won, err := ts.save(ctx, t)
	if won {
		ts.stop(t.row.Name, errTaskCancelled)
	}
	return won, err
}

// answerTask takes answers of the client of a task, and has the task go on when there are enough. It reports false when the task was changed in the meantime.
func (h *Host) answerTask(ctx context.Context, t *task, answers []byte) (bool, error) {
	sent, left, err := t.matchAnswers(answers)
	if err != nil || len(sent) == 0 {
		return true, err
	}
	g := h.pin()
	if g == nil {
		return true, &mcp.Error{Code: mcp.CodeBusy, Message: "The server is shutting down"}
	}
	defer g.leave()
	ts := h.build.State.tasks
	p, ok := g.programs[t.Tool]
	if !ok || p.decl.Digest != t.Digest {
		t.fail(&mcp.Error{Code: mcp.CodeInternalError, Message: "The tool was changed while the task waited for an answer, so it cannot go on. Call the tool again."})
		return ts.save(ctx, t)
	}
	again, enough, err := p.checkAnswers(ctx, t, sent)
	if err != nil {
		return true, err
	}
	if !enough {
		t.wait(left, again)
		return ts.save(ctx, t)
	}
	won, err := ts.take(ctx, t)
	if won {
		p.runTask(ctx, t, sent, nil)
	}
	return won, err
}

// matchAnswers are the answers by what the tool calls its questions, and the questions that are left. An answer to what was not asked is not among them.
func (t *task) matchAnswers(answers []byte) (sent map[string]any, left []taskQuestion, err error) {
	if t.Status != taskWaiting {
		return nil, nil, nil
	}
	v, err := value.Decode(answers)
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, nil, &mcp.Error{Code: mcp.CodeInvalidParams, Message: "params.inputResponses cannot be read"}
	}
	sent = map[string]any{}
	for _, q := range t.Asked {
		if answer, ok := m[q.Key]; ok {
			sent[q.Ask] = answer
		} else {
			left = append(left, q)
		}
	}
	return sent, left, nil
}

// checkAnswers looks at answers without going on. It reports whether they are enough to go on, or to end the call; otherwise the task remembers what of them can be used, and
// the questions are those that must be asked again.
func (p *Program) checkAnswers(ctx context.Context, t *task, sent map[string]any) (again []mcp.Question, enough bool, err error) {
	defer failure.Recover(&err)
	c := p.newCall(ctx, callerRoot(t.caller()), adapters.Nobody{})
	defer c.result.Release()
	if err := c.restoreCall(t, sent); err != nil {
		return nil, false, err
	}
	r, ok := c.waitingAskGroup()
	if !ok {
		return nil, false, errPauseState
	}
	pending, err := c.elicitation.Pending(r, c.frame)
	if err != nil || len(pending) == 0 {
		return nil, true, nil // an error is what the call comes to when it goes on
	}
	for _, a := range pending {
		if _, given := sent[a.Key]; !given {
			continue
		}
		q, err := c.elicitation.Question(a, c.frame)
		if err != nil {
			return nil, false, err
		}
		again = append(again, q)
	}
	return again, false, c.saveCall(t)
}

// waitingAskGroup is the round that the call waits for.
func (c *call) waitingAskGroup() (*elicit.AskGroup, bool) {
	if c.elicitation == nil || c.nextStep >= len(c.operation.steps) {
		return nil, false
	}
	r, ok := c.operation.steps[c.nextStep].action.(*elicit.AskGroup)
	return r, ok
}
