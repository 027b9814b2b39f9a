package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"hatchel/runtime/mcp"
)

// What the tools of the desk want to know.
var (
	whoIsIt = mcp.Question{Key: "who", Method: "elicitation/create", Params: []byte(`{"message":"Who is it?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`)}
	sumUp   = mcp.Question{Key: "summary", Method: "sampling/createMessage", Params: []byte(`{"messages":[{"role":"user","content":{"type":"text","text":"Sum up"}}],"maxTokens":100}`)}
	where   = mcp.Question{Key: "where", Method: "roots/list"}
)

// askAtTheDesk serves the tools of the shop that have a question, or become a task.
func (s *shop) askAtTheDesk(ctx context.Context, req *mcp.CallRequest) (mcp.Outcome, error) {
	switch req.Name {
	case "ask":
		answer, err := req.Ask(ctx, whoIsIt)
		if s.stopped != nil {
			s.stopped <- err
		}
		return text("%s", heard(answer, err))
	case "ask-all":
		return text("%s", askAll(ctx, req))
	case "ask-briefly":
		brief, cancel := context.WithTimeout(ctx, 90*time.Second)
		defer cancel()
		return text("%s", heard(req.Ask(brief, whoIsIt)))
	case "ask-too-late":
		gone, cancel := context.WithCancelCause(ctx)
		cancel(errors.New("too late"))
		return text("%s", heard(req.Ask(gone, whoIsIt)))
	case "ask-twice":
		first, _ := req.Ask(ctx, whoIsIt)
		second, _ := req.Ask(ctx, whoIsIt)
		return text("%s, %s", first, second)
	case "ask-until-freed":
		wanted, cancel := context.WithCancelCause(ctx)
		go func() {
			<-s.freed
			cancel(errors.New("not wanted any more"))
		}()
		return text("%s", heard(req.Ask(wanted, whoIsIt)))
	case "ask-late":
		go func() {
			<-s.freed
			_, err := req.Ask(context.WithoutCancel(ctx), whoIsIt)
			s.stopped <- err
		}()
		return text("no question")
	case "let-go":
		detached := req.Detach(100 * time.Millisecond)
		<-time.After(150 * time.Millisecond)
		req.Progress(1, 0, "")
		return text("let go: %t, again: %t; %s", detached, req.Detach(time.Second), heard(req.Ask(ctx, where)))
	case "let-go-for-long":
		req.Detach(2 * time.Minute)
		answer, err := req.Ask(ctx, whoIsIt)
		s.stopped <- err
		return text("%s", heard(answer, err))
	case "interview":
		if !req.Caller.Revision.Modern() {
			return text("%s", askAll(ctx, req))
		}
		if req.Answers == nil {
			return mcp.Outcome{Questions: &mcp.Questions{Ask: []mcp.Question{whoIsIt, sumUp, where}, State: "asked"}}, nil
		}
		return text("%s, %s", req.State, req.Answers)
	case "rounds":
		return rounds(req), nil
	case "task":
		if !req.Caller.Can("extensions", mcp.TasksExtension) {
			return mcp.Outcome{}, mcp.MissingCapability("extensions", mcp.TasksExtension)
		}
		return mcp.Outcome{Task: mcp.Raw(parcel + `,"status":"working"`)}, nil
	case "scoped":
		return mcp.Outcome{}, mcp.InsufficientScope([]string{"a", "b"})
	case "stale":
		return mcp.Outcome{}, mcp.Unauthorized()
	case "sampler":
		return mcp.Outcome{}, mcp.MissingCapability("sampling")
	}
	return mcp.Outcome{}, mcp.UnknownTool(req.Name)
}

// heard is what came of a question, in words.
func heard(answer []byte, err error) string {
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

// askAll asks everything at once.
func askAll(ctx context.Context, req *mcp.CallRequest) string {
	questions := []mcp.Question{whoIsIt, sumUp, where}
	answers := make([]string, len(questions))
	var all sync.WaitGroup
	for i, q := range questions {
		all.Go(func() { answers[i] = q.Key + ": " + heard(req.Ask(ctx, q)) })
	}
	all.Wait()
	return strings.Join(answers, "; ")
}

// rounds wants to know a name, then everything, then nothing but to be called again.
func rounds(req *mcp.CallRequest) mcp.Outcome {
	switch req.State {
	case "":
		return mcp.Outcome{Questions: &mcp.Questions{Ask: []mcp.Question{whoIsIt}, State: `after "one"`}}
	case `after "one"`:
		return mcp.Outcome{Questions: &mcp.Questions{Ask: []mcp.Question{sumUp, where}, State: "after two"}}
	case "after two":
		return mcp.Outcome{Questions: &mcp.Questions{State: "after three"}}
	case "without state":
		return mcp.Outcome{Questions: &mcp.Questions{Ask: []mcp.Question{whoIsIt}}}
	}
	return mcp.Outcome{Content: mcp.Text(fmt.Sprintf("state %s, answers %s", req.State, req.Answers))}
}

// parcel is the only task of the shop.
const parcel = `"taskId":"parcel","createdAt":"2026-07-28T10:30:00Z","lastUpdatedAt":"2026-07-28T10:40:00Z","ttlMs":60000`

func (s *shop) Task(ctx context.Context, req *mcp.TaskRequest) (mcp.Appender, error) {
	switch {
	case req.ID == "slow":
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(6 * time.Second):
			return mcp.Raw(parcel + `,"status":"working"`), nil
		}
	case req.ID == "broken":
		return nil, errors.New("secret detail")
	case req.ID != "parcel":
		return nil, mcp.UnknownTask(req.ID)
	case req.Method == "tasks/get":
		return mcp.Raw(parcel + `,"status":"completed","result":{"content":[]}`), nil
	case req.Method == "tasks/update" && string(req.Answers) != `{"who":{"action":"decline"}}`:
		return nil, fmt.Errorf("answered with %s", req.Answers)
	}
	return nil, nil
}
