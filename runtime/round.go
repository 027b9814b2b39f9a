package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/result"
)

// askGroup is the action of a step that asks the client: of all its questions at once.
type askGroup struct{ asks []*hcl.Ask }

// Do answers an object with the answers by key. Where the client cannot be asked while the call is under way, the error is *paused as long as answers are missing: the step is
// run again when there are more.
func (r *askGroup) Do(_ context.Context, call *adapters.Call) (adapters.Result, error) {
	talk, ok := call.Client.(*elicitation)
	if !ok {
		return adapters.Result{}, failure.Refusal("This asks the client, and nobody can be asked here.")
	}
	answers, err := talk.ask(r, call.Frame)
	if err != nil {
		return adapters.Result{}, err
	}
	return adapters.Result{Value: answers}, nil
}

// Plan says what would be asked.
func (r *askGroup) Plan(*adapters.Call) (string, error) {
	keys := make([]string, len(r.asks))
	for i, a := range r.asks {
		keys[i] = a.Key
	}
	return "asks the client: " + strings.Join(keys, ", "), nil
}

// maxTries is how often a question is asked while the call is under way.
const maxTries = 3

// ask asks what is left of a round.
func (t *elicitation) ask(r *askGroup, f *hcl.Frame) (map[string]any, error) {
	if t.done == nil {
		t.done = map[string]any{}
		for _, a := range r.asks {
			if ok, err := result.EvalCondition(a.When, f); err != nil {
				return nil, failure.AsFault(err)
			} else if !ok {
				t.done[a.Key] = nil
			}
		}
	}
	for try := 0; ; try++ {
		left, err := t.pendingQuestions(r, f)
		if err != nil {
			return nil, err
		}
		switch {
		case len(left) == 0:
			done := t.done
			t.done, t.invalid = nil, nil
			return done, nil
		case try == maxTries:
			return nil, failure.Refusal(fmt.Sprintf("The client's answer to %q cannot be used: %s", left[0].Key, t.invalid[left[0].Key]))
		}
		questions := make([]mcp.Question, len(left))
		for i, a := range left {
			if questions[i], err = t.question(a, f); err != nil {
				return nil, err
			}
		}
		if t.req == nil {
			return nil, &pausedError{questions, longestTimeout(left)}
		}
		if err := t.askAll(left, questions); err != nil {
			return nil, err
		}
	}
}

// pendingQuestions takes the answers that have come, and is what has to be asked: what is not answered in a way that can be used, and can be asked of this client.
func (t *elicitation) pendingQuestions(r *askGroup, f *hcl.Frame) (left []*hcl.Ask, err error) {
	sent := t.sent
	t.sent, t.invalid = nil, nil
	for _, a := range r.asks {
		if _, done := t.done[a.Key]; done {
			continue
		}
		if v, ok := sent[a.Key]; ok {
			if ok, err = t.acceptAnswer(a, v); err != nil {
				return nil, err
			} else if ok {
				continue
			}
		}
		switch need := capabilityFor(a); {
		case hasCapability(t.caller, need):
			left = append(left, a)
		default:
			if err := t.fallback(a, need, f); err != nil {
				return nil, err
			}
		}
	}
	return left, nil
}

// acceptAnswer reads an answer, and reports whether it can be used.
func (t *elicitation) acceptAnswer(a *hcl.Ask, sent any) (bool, error) {
	answer, err := a.ParseResponse(sent)
	var declined *hcl.DeclinedError
	var wrong *hcl.InvalidAnswerError
	switch {
	case err == nil:
		t.done[a.Key] = answer
		return true, nil
	case errors.As(err, &declined):
		return false, failure.Refusal(declined.Error())
	case errors.As(err, &wrong):
		if t.invalid == nil {
			t.invalid = map[string]string{}
		}
		t.invalid[a.Key] = wrong.Error()
		return false, nil
	}
	return false, err
}

// fallback answers for a client that cannot be asked.
func (t *elicitation) fallback(a *hcl.Ask, need string, f *hcl.Frame) error {
	if a.Fallback == nil {
		return failure.Refusal(fmt.Sprintf("The question %q takes a client that has the capability %q, and yours does not say that it has. Nothing after the question was done.", a.Key, need))
	}
	answer, err := a.FallbackAnswer(f)
	if err != nil {
		return failure.AsFault(err)
	}
	t.done[a.Key] = answer
	return nil
}

// longestTimeout is how long the client has for all of the questions.
func longestTimeout(asks []*hcl.Ask) time.Duration {
	return slices.MaxFunc(asks, func(a, b *hcl.Ask) int { return int(a.Timeout - b.Timeout) }).Timeout
}
