package runtime

import (
	"context"
	"errors"

	"hatchel/adapters"
	"hatchel/hcl/value"
	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
)

// Task serves a request about a task.
func (h *Host) Task(ctx context.Context, req *mcp.TaskRequest) (mcp.Appender, error) {
	if !h.current.Load().knows(req.Caller) {
		return nil, mcp.Unauthorized()
	}
	ts := h.build.State.tasks
	for ctx.Err() == nil {
		t, err := ts.find(ctx, req.ID, req.Caller)
		if err != nil {
			return nil, patiently(err)
		}
		done := true
		switch req.Method {
		case "tasks/get":
			return mcp.Raw(t.appendMembers(nil, true)), nil
		case "tasks/update":
			t.vouched(req.Caller)
			done, err = h.answer(ctx, t, req.Answers)
			err = h.unanswered(err)
		case "tasks/cancel":
			over := t.over()
			if done, err = ts.cancel(ctx, t); done && err == nil && !over {
				h.cancelled(ctx, t, req.Caller)
			}
		}
		if done || err != nil {
			return nil, patiently(err)
		}
	}
	return nil, context.Cause(ctx)
}

// unanswered is why answers were not taken, as the client is told.
func (h *Host) unanswered(err error) error {
	var f *adapters.Fault
	switch {
	case errors.Is(err, state.ErrFull):
		return errTasksFull
	case errors.As(err, &f):
		return &mcp.Error{Code: mcp.CodeInvalidParams, Message: h.Current().scrubber.sentence(f.Message)}
	}
	return err
}

// cancel ends a task. It reports false when the task was changed in the meantime.
func (ts *tasks) cancel(ctx context.Context, t *task) (bool, error) {
	if t.over() {
		return true, nil
	}
	t.end(taskCancelled, "The client has cancelled the task.")
	won, err := ts.save(ctx, t)
	if won {
		ts.end(t.row.Name, errTaskCancelled)
	}
	return won, err
}

// answer takes answers of the client of a task, and has the task go on when there are enough. It reports false when the task was changed in the meantime.
func (h *Host) answer(ctx context.Context, t *task, answers []byte) (bool, error) {
	sent, left, err := t.answered(answers)
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
	again, enough, err := p.hear(ctx, t, sent)
	if err != nil {
		return true, err
	}
	if !enough {
		t.wait(left, again)
		return ts.save(ctx, t)
	}
	won, err := ts.take(ctx, t)
	if won {
		p.carryOn(ctx, t, sent, nil)
	}
	return won, err
}

// answered are the answers by what the tool calls its questions, and the questions that are left. An answer to what was not asked is not among them.
func (t *task) answered(answers []byte) (sent map[string]any, left []taskQuestion, err error) {
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

// hear looks at answers without going on. It reports whether they are enough to go on, or to end the call; otherwise the task remembers what of them can be used, and
// the questions are those that must be asked again.
func (p *Program) hear(ctx context.Context, t *task, sent map[string]any) (again []mcp.Question, enough bool, err error) {
	defer recovered(&err)
	c := p.newCall(ctx, callerOf(t.caller()), adapters.Nobody{})
	defer c.reply.release()
	if err := c.again(t, sent); err != nil {
		return nil, false, err
	}
	r, ok := c.waitsAt()
	if !ok {
		return nil, false, errFrozen
	}
	pending, err := c.talk.left(r, c.frame)
	if err != nil || len(pending) == 0 {
		return nil, true, nil // an error is what the call comes to when it goes on
	}
	for _, a := range pending {
		if _, given := sent[a.Key]; !given {
			continue
		}
		q, err := c.talk.question(a, c.frame)
		if err != nil {
			return nil, false, err
		}
		again = append(again, q)
	}
	return again, false, c.remember(t)
}

// waitsAt is the round that the call waits for.
func (c *call) waitsAt() (*round, bool) {
	if c.talk == nil || c.at >= len(c.routine.stages) {
		return nil, false
	}
	r, ok := c.routine.stages[c.at].action.(*round)
	return r, ok
}
