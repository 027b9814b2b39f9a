package crowd

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

// outcome is a result of the modern era, as far as it says how to go on.
type outcome struct {
	ResultType    string
	InputRequests map[string]struct {
		Method string
		Params json.RawMessage
	}
	RequestState string
	TaskID       string
	Status       string
}

const mostRounds = 8

// converse makes a request and goes on, in the modern era, until it is answered or the visitor has had enough of it.
func (v *visitor) converse(ctx context.Context, q request) error {
	first := q.params
	for range mostRounds {
		r, err := v.ask(q)
		if err != nil || r.Failure != nil || v.speaks() == legacy {
			return err
		}
		var o outcome
		if err := json.Unmarshal(r.Result, &o); err != nil {
			return fmt.Errorf("%w in %.300s", err, r.Result)
		}
		switch o.ResultType {
		case "complete":
			return nil
		case "task":
			v.s.tally.add("a call became a task")
			return v.attend(ctx, o)
		case "input_required":
			v.s.tally.add("a result was a question")
		default:
			v.s.faults.add("a result of no kind", "%.300s", r.Result)
			return nil
		}
		if rand.IntN(10) == 0 {
			v.s.tally.add("a question was left alone")
			return nil
		}
		if rand.IntN(10) == 0 && o.RequestState != "" {
			return v.forge(q, first, o)
		}
		q.params = first + v.answers(o)
	}
	return nil
}

// answers are the members with which the next round begins.
func (v *visitor) answers(o outcome) string {
	members := fmt.Sprintf(`,"inputResponses":%s`, encoded(v.responses(o)))
	if o.RequestState != "" {
		members += fmt.Sprintf(`,"requestState":%q`, o.RequestState)
	}
	return members
}

// responses answer the questions, each in a mood of its own.
func (v *visitor) responses(o outcome) map[string]any {
	said := make(map[string]any)
	for key, q := range o.InputRequests {
		v.s.tally.add("asked: " + q.Method)
		if m := anyMood(); m < refusing {
			said[key] = answer(m, q.Method, q.Params)
		}
	}
	return said
}

// forge sends a state that the server did not make, which it must refuse.
func (v *visitor) forge(q request, first string, o outcome) error {
	o.RequestState += "A"
	q.params = first + v.answers(o)
	r, err := v.ask(q)
	if err == nil && r.Failure == nil {
		v.s.faults.add("a forged state was taken", "%s: %.300s", q.name, r.Result)
	}
	v.s.tally.add("a state was forged")
	return err
}
