package runtime

import (
	"context"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/runtime/failure"
)

// toolCall is the action of a block that calls another tool.
type toolCall struct {
	target *Program
	inputs *hcl.KeyValues
}

// Do calls the tool as a client would, with the caller's identity, and answers {result, text}.
func (t *toolCall) Do(ctx context.Context, call *adapters.Call) (adapters.Result, error) {
	values, err := t.evalInputs(call.Frame)
	if err != nil {
		return adapters.Result{}, err
	}
	c := t.target.newCall(ctx, call.Frame.Caller, call.Client)
	defer c.result.Release()
	defer c.release()
	c.nested, c.action.Owner, c.action.Token, c.action.Key = true, call.Owner, call.Token, call.Key
	c.stopCtx = t.target.generation.pinnedCtx // its context ends with the call that it is a step of, which may be a task that a reload leaves alone
	if err := t.target.run(c, inputs{values: values}); err != nil {
		f := failure.Of(err)
		if f.Internal || f.Protocol != nil {
			return adapters.Result{}, err
		}
		return adapters.Result{}, &adapters.Fault{Message: c.failureText(f), Status: f.Status, Code: f.Code, Cause: err, After: f.RetryAfter}
	}
	text, err := c.result.AsText()
	if err != nil {
		return adapters.Result{}, c.contextCause(err)
	}
	return adapters.Result{Value: map[string]any{"result": c.result.Value, "text": text}}, nil
}

func (t *toolCall) evalInputs(f *hcl.Frame) (map[string]any, error) {
	entries, err := t.inputs.Eval(f)
	if err != nil {
		return nil, failure.AsFault(err)
	}
	values := make(map[string]any, len(entries))
	for _, e := range entries {
		values[e.Name] = e.Value
	}
	return values, nil
}
