package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"hatchel/runtime/edge/mcp"
)

// The questions of the tools.
var (
	askName    = mcp.Question{Key: "who", Method: "elicitation/create", Params: []byte(`{"message":"Who is it?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`)}
	askSummary = mcp.Question{Key: "summary", Method: "sampling/createMessage", Params: []byte(`{"messages":[{"role":"user","content":{"type":"text","text":"Sum up"}}],"maxTokens":100}`)}
	askRoots   = mcp.Question{Key: "where", Method: "roots/list"}
)

// callAskingTool runs the tools that ask a question or become a task.
func (s *fakeHandler) callAskingTool(ctx context.Context, req *mcp.CallRequest) (mcp.Outcome, error) {
	switch req.Name {
	case "ask":
		answer, err := req.Ask(ctx, askName)
		if s.stopped != nil {
			s.stopped <- err
		}
		return text("%s", answerText(answer, err))
	case "ask-later":
		var answer []byte
		state := func() (string, error) { return req.State + "suspended, ", nil }
		err := req.Wait(ctx, state, func() (err error) {
			answer, err = req.Ask(ctx, askName)
			return err
		})
		if errors.Is(err, mcp.ErrSuspended) {
			return mcp.Outcome{Questions: new(mcp.Questions)}, nil
		}
		return text("%s%s", req.State, answerText(answer, err))
	case "ask-all":
		return text("%s", askAll(ctx, req))
	case "ask-briefly":
		short, cancel := context.WithTimeout(ctx, 90*time.Second)
		defer cancel()
		return text("%s", answerText(req.Ask(short, askName)))
	case "ask-too-late":
		ended, cancel := context.WithCancelCause(ctx)
		cancel(errors.New("too late"))
		return text("%s", answerText(req.Ask(ended, askName)))
	case "ask-twice":
		first, _ := req.Ask(ctx, askName)
		second, _ := req.Ask(ctx, askName)
		return text("%s, %s", first, second)
	case "ask-until-freed":
		cancellable, cancel := context.WithCancelCause(ctx)
		go func() {
			<-s.release
			cancel(errors.New("cancelled by the tool"))
		}()
		return text("%s", answerText(req.Ask(cancellable, askName)))
	case "ask-late":
		go func() {
			<-s.release
			_, err := req.Ask(context.WithoutCancel(ctx), askName)
			s.stopped <- err
		}()
		return text("no question")
	case "let-go":
		detached := req.Detach(100 * time.Millisecond)
		<-time.After(150 * time.Millisecond)
		req.Progress(1, 0, "")
		return text("let go: %t, again: %t; %s", detached, req.Detach(time.Second), answerText(req.Ask(ctx, askRoots)))
	case "let-go-for-long":
		req.Detach(2 * time.Minute)
		answer, err := req.Ask(ctx, askName)
		s.stopped <- err
		return text("%s", answerText(answer, err))
	case "interview":
		if !req.Caller.Revision.Modern() {
			return text("%s", askAll(ctx, req))
		}
		if req.Answers == nil {
			return mcp.Outcome{Questions: &mcp.Questions{Ask: []mcp.Question{askName, askSummary, askRoots}, State: "asked"}}, nil
		}
		return text("%s, %s", req.State, req.Answers)
	case "rounds":
		return askInRounds(req), nil
	case "task":
		if !req.Caller.Can("extensions", mcp.TasksExtension) {
			return mcp.Outcome{}, mcp.MissingCapability("extensions", mcp.TasksExtension)
		}
		return mcp.Outcome{Task: mcp.Raw(task + `,"status":"working"`)}, nil
	case "scoped":
		return mcp.Outcome{}, mcp.InsufficientScope([]string{"a", "b"})
	case "stale":
		return mcp.Outcome{}, mcp.Unauthorized()
	case "sampler":
		return mcp.Outcome{}, mcp.MissingCapability("sampling")
	}
	return mcp.Outcome{}, mcp.Unknown("tool", req.Name)
}

// answerText describes the result of a question.
func answerText(answer []byte, err error) string {
	var refused *mcp.ClientError
	switch {
	case errors.As(err, &refused):
		return fmt.Sprintf("refused with %d: %s", refused.Code, refused.Message)
	case errors.Is(err, mcp.ErrUnreachable):
		return "cannot ask"
	case err != nil:
		return err.Error()
	}
	return string(answer)
}

// askAll asks all questions concurrently.
func askAll(ctx context.Context, req *mcp.CallRequest) string {
	questions := []mcp.Question{askName, askSummary, askRoots}
	answers := make([]string, len(questions))
	var all sync.WaitGroup
	for i, q := range questions {
		all.Go(func() { answers[i] = q.Key + ": " + answerText(req.Ask(ctx, q)) })
	}
	all.Wait()
	return strings.Join(answers, "; ")
}

// askInRounds asks for a name, then two questions, then for another call without a question.
func askInRounds(req *mcp.CallRequest) mcp.Outcome {
	switch req.State {
	case "":
		return mcp.Outcome{Questions: &mcp.Questions{Ask: []mcp.Question{askName}, State: `after "one"`}}
	case `after "one"`:
		return mcp.Outcome{Questions: &mcp.Questions{Ask: []mcp.Question{askSummary, askRoots}, State: "after two"}}
	case "after two":
		return mcp.Outcome{Questions: &mcp.Questions{State: "after three"}}
	case "without state":
		return mcp.Outcome{Questions: &mcp.Questions{Ask: []mcp.Question{askName}}}
	}
	return mcp.Outcome{Content: mcp.Text(fmt.Sprintf("state %s, answers %s", req.State, req.Answers))}
}

// task is the only task.
const task = `"taskId":"parcel","createdAt":"2026-07-28T10:30:00Z","lastUpdatedAt":"2026-07-28T10:40:00Z","ttlMs":60000`

func (s *fakeHandler) Task(ctx context.Context, req *mcp.TaskRequest) (mcp.Appender, error) {
	switch {
	case req.ID == "slow":
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(6 * time.Second):
			return mcp.Raw(task + `,"status":"working"`), nil
		}
	case req.ID == "broken":
		return nil, errors.New("secret detail")
	case req.ID != "parcel":
		return nil, mcp.Unknown("task", req.ID)
	case req.Method == "tasks/get":
		return mcp.Raw(task + `,"status":"completed","result":{"content":[]}`), nil
	case req.Method == "tasks/update" && string(req.Answers) != `{"who":{"action":"decline"}}`:
		return nil, fmt.Errorf("answered with %s", req.Answers)
	}
	return nil, nil
}
