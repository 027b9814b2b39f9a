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
	"hatchel/runtime/mcp"
)

// round is the action of a step that asks the client: of all its questions at once.
type round struct{ asks []*hcl.Ask }

// Do answers an object with the answers by key. Where the client cannot be asked while the call is under way, the error is *paused as long as answers are missing: the step is
// run again when there are more.
func (r *round) Do(_ context.Context, call *adapters.Call) (adapters.Result, error) {
	talk, ok := call.Client.(*conversation)
	if !ok {
		return adapters.Result{}, refusal("This asks the client, and nobody can be asked here.")
	}
	answers, err := talk.put(r, call.Frame)
	if err != nil {
		return adapters.Result{}, err
	}
	return adapters.Result{Value: answers}, nil
}

// Plan says what would be asked.
func (r *round) Plan(*adapters.Call) (string, error) {
	keys := make([]string, len(r.asks))
	for i, a := range r.asks {
		keys[i] = a.Key
	}
	return "asks the client: " + strings.Join(keys, ", "), nil
}

// tries is how often a question is asked while the call is under way.
const tries = 3

// put asks what is left of a round.
func (t *conversation) put(r *round, f *hcl.Frame) (map[string]any, error) {
	if t.done == nil {
		t.done = map[string]any{}
		for _, a := range r.asks {
			if ok, err := holds(a.When, f); err != nil {
				return nil, spoken(err)
			} else if !ok {
				t.done[a.Key] = nil
			}
		}
	}
	for try := 0; ; try++ {
		left, err := t.left(r, f)
		if err != nil {
			return nil, err
		}
		switch {
		case len(left) == 0:
			done := t.done
			t.done, t.said = nil, nil
			return done, nil
		case try == tries:
			return nil, refusal(fmt.Sprintf("The client's answer to %q cannot be used: %s", left[0].Key, t.said[left[0].Key]))
		}
		questions := make([]mcp.Question, len(left))
		for i, a := range left {
			if questions[i], err = t.question(a, f); err != nil {
				return nil, err
			}
		}
		if t.req == nil {
			return nil, &paused{questions, timeoutOf(left)}
		}
		if err := t.ask(left, questions); err != nil {
			return nil, err
		}
	}
}

// left takes the answers that have come, and is what has to be asked: what is not answered in a way that can be used, and can be asked of this client.
func (t *conversation) left(r *round, f *hcl.Frame) (left []*hcl.Ask, err error) {
	sent := t.sent
	t.sent, t.said = nil, nil
	for _, a := range r.asks {
		if _, done := t.done[a.Key]; done {
			continue
		}
		if v, ok := sent[a.Key]; ok {
			if ok, err = t.take(a, v); err != nil {
				return nil, err
			} else if ok {
				continue
			}
		}
		switch need := needOf(a); {
		case capable(t.caller, need):
			left = append(left, a)
		default:
			if err := t.instead(a, need, f); err != nil {
				return nil, err
			}
		}
	}
	return left, nil
}

// take reads an answer, and reports whether it can be used.
func (t *conversation) take(a *hcl.Ask, sent any) (bool, error) {
	answer, err := a.Answer(sent)
	var declined *hcl.Declined
	var wrong *hcl.WrongAnswer
	switch {
	case err == nil:
		t.done[a.Key] = answer
		return true, nil
	case errors.As(err, &declined):
		return false, refusal(declined.Error())
	case errors.As(err, &wrong):
		if t.said == nil {
			t.said = map[string]string{}
		}
		t.said[a.Key] = wrong.Error()
		return false, nil
	}
	return false, err
}

// instead answers for a client that cannot be asked.
func (t *conversation) instead(a *hcl.Ask, need string, f *hcl.Frame) error {
	if a.Fallback == nil {
		return refusal(fmt.Sprintf("The question %q takes a client that has the capability %q, and yours does not say that it has. Nothing after the question was done.", a.Key, need))
	}
	answer, err := a.Instead(f)
	if err != nil {
		return spoken(err)
	}
	t.done[a.Key] = answer
	return nil
}

// timeoutOf is how long the client has for all of the questions.
func timeoutOf(asks []*hcl.Ask) time.Duration {
	return slices.MaxFunc(asks, func(a, b *hcl.Ask) int { return int(a.Timeout - b.Timeout) }).Timeout
}
