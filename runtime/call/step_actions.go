package call

import (
	"context"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/internal/ctxtime"
	"hatchel/runtime/elicit"
	"hatchel/runtime/failure"
	"hatchel/runtime/mcp"
	"hatchel/runtime/result"
)

// BuiltinAction returns the action of a block of a step that is not a backend; nil for a backend.
// Its output is null.
func BuiltinAction(b *hcl.Backend, scrubber *result.Scrubber) adapters.Action {
	switch block := b.Config.(type) {
	case *hcl.Progress:
		return progressAction{block, scrubber}
	case *hcl.Log:
		return logAction{block, scrubber}
	case *hcl.Wait:
		return waitAction{block}
	case *hcl.Fail:
		return failAction{block}
	case *hcl.ProtocolFault:
		return faultAction{block, scrubber}
	case *hcl.AskGroup:
		return &elicit.AskGroup{Asks: block.Asks}
	}
	return nil
}

func isAskGroup(action adapters.Action) bool {
	_, ok := action.(*elicit.AskGroup)
	return ok
}

// progressAction reports to the client how far the call is.
type progressAction struct {
	*hcl.Progress
	scrubber *result.Scrubber
}

// Do implements adapters.Action.
func (a progressAction) Do(_ context.Context, call *adapters.Call) (any, error) {
	done, err := evalNumber(a.Done, call.Frame)
	if err != nil {
		return nil, err
	}
	total, err := evalNumber(a.Total, call.Frame)
	if err != nil {
		return nil, err
	}
	text := ""
	if a.Message != nil {
		text = a.scrubber.Text(failure.Render(a.Message, call.Frame))
	}
	call.Progress(done, total, text)
	return nil, nil
}

// Plan implements adapters.Planner.
func (a progressAction) Plan(*adapters.Call) (string, error) {
	return "reports progress to the client", nil
}

// evalNumber evaluates a number; nil is 0.
func evalNumber(e *hcl.Expr, f *hcl.Frame) (float64, error) {
	if e == nil {
		return 0, nil
	}
	v, err := result.EvalResolved(e, f)
	if err != nil {
		return 0, failure.AsFault(err)
	}
	n, ok := value.Float(v)
	if !ok {
		return 0, &adapters.Fault{Message: "progress must be a number, got a " + value.Kind(v)}
	}
	return n, nil
}

// logAction sends a message to the log of the client.
type logAction struct {
	*hcl.Log
	scrubber *result.Scrubber
}

// Do implements adapters.Action.
func (a logAction) Do(_ context.Context, call *adapters.Call) (any, error) {
	var data []byte
	if a.Message != nil {
		data = value.AppendString(nil, failure.Render(a.Message, call.Frame))
	} else {
		var err error
		if data, err = evalJSON(a.Data, call.Frame); err != nil {
			return nil, err
		}
	}
	call.Log(a.Level, a.Logger, a.scrubber.JSON(data))
	return nil, nil
}

// Plan implements adapters.Planner.
func (a logAction) Plan(*adapters.Call) (string, error) {
	return "sends a log message to the client: " + a.Level, nil
}

// evalJSON evaluates an expression and encodes its value.
func evalJSON(e *hcl.Expr, f *hcl.Frame) ([]byte, error) {
	v, err := e.Eval(f)
	var b []byte
	if err == nil {
		b, err = value.AppendJSON(nil, v)
	}
	if err != nil {
		return nil, failure.AsFault(err)
	}
	return b, nil
}

// waitAction waits.
type waitAction struct{ *hcl.Wait }

// Do implements adapters.Action.
func (a waitAction) Do(ctx context.Context, call *adapters.Call) (any, error) {
	d, err := a.Duration(call.Frame)
	if err != nil {
		return nil, failure.AsFault(err)
	}
	if client, ok := call.Client.(detacher); ok && a.Detach {
		client.Detach(d)
	}
	return nil, ctxtime.Sleep(ctx, d)
}

// Plan implements adapters.Planner.
func (a waitAction) Plan(call *adapters.Call) (string, error) {
	d, err := a.Duration(call.Frame)
	return "waits " + failure.FormatDuration(d), err
}

// failAction fails the call.
type failAction struct{ *hcl.Fail }

// Do implements adapters.Action.
func (a failAction) Do(_ context.Context, call *adapters.Call) (any, error) {
	return nil, &adapters.Fault{Message: failure.Render(a.Message, call.Frame)}
}

// Plan implements adapters.Planner.
func (a failAction) Plan(call *adapters.Call) (string, error) {
	return "fails the call: " + failure.Render(a.Message, call.Frame), nil
}

// faultAction answers the request with an error of the protocol.
type faultAction struct {
	*hcl.ProtocolFault
	scrubber *result.Scrubber
}

// Do implements adapters.Action.
func (a faultAction) Do(_ context.Context, call *adapters.Call) (any, error) {
	e := &mcp.Error{Code: a.Code, Message: a.scrubber.Text(failure.Render(a.Message, call.Frame))}
	if a.Data != nil {
		data, err := evalJSON(a.Data, call.Frame)
		if err != nil {
			return nil, err
		}
		e.Data = a.scrubber.JSON(data)
	}
	return nil, e
}

// Plan implements adapters.Planner.
func (a faultAction) Plan(call *adapters.Call) (string, error) {
	return "answers with a protocol error: " + failure.Render(a.Message, call.Frame), nil
}

// toolCall is the action of a step that calls another tool.
type toolCall struct {
	target *Program
	inputs *hcl.KeyValues
}

// ToolAction returns the action of a step that calls another tool.
func ToolAction(target *Program, inputs *hcl.KeyValues) adapters.Action {
	return &toolCall{target, inputs}
}

// Do calls the tool as a client does, as the caller of the outer call, and returns {result, text}.
func (t *toolCall) Do(ctx context.Context, call *adapters.Call) (any, error) {
	values, err := t.evalInputs(call.Frame)
	if err != nil {
		return nil, err
	}
	c := t.target.newCall(ctx, call.Frame.Caller, call.Client)
	defer c.result.Release()
	defer c.release()
	c.nested, c.action.Owner, c.action.Token, c.action.Key = true, call.Owner, call.Token, call.Key
	c.timing.stopCtx = t.target.Env.Pinned // ctx ends with the outer call, which may be a task that outlives a reload
	if err := t.target.run(c, inputs{values: values}); err != nil {
		f := failure.Of(err)
		if f.Internal || f.Protocol != nil {
			return nil, err
		}
		return nil, &adapters.Fault{
			Message: c.failureText(f), Status: f.Status, Code: f.Code, Cause: err, RetryAfter: f.RetryAfter,
		}
	}
	text, err := c.result.AsText()
	if err != nil {
		return nil, c.contextCause(err)
	}
	return map[string]any{"result": c.result.Value, "text": text}, nil
}

// Plan implements adapters.Planner.
func (t *toolCall) Plan(call *adapters.Call) (string, error) {
	values, err := t.evalInputs(call.Frame)
	if err != nil {
		return "", err
	}
	text, err := result.AppendText([]byte("tool "+t.target.tool.Name+" "), values)
	return string(text), err
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
