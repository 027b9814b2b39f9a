package runtime

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

// The blocks of a step that are not backends are bound here. They answer null.

// builtinStep makes the action of a block that the language itself has; nil when the block is a backend.
func (c *compiler) builtinStep(b *hcl.Backend) adapters.Action {
	switch block := b.Config.(type) {
	case *hcl.Progress:
		return progressStep{block, c.g.scrubber}
	case *hcl.Log:
		return logStep{block, c.g.scrubber}
	case *hcl.Wait:
		return waitStep{block}
	case *hcl.Fail:
		return failStep{block}
	case *hcl.ProtocolFault:
		return faultStep{block, c.g.scrubber}
	case *hcl.AskGroup:
		return &elicit.AskGroup{Asks: block.Asks}
	}
	return nil
}

type progressStep struct {
	*hcl.Progress
	scrubber *result.Scrubber
}

// Do tells the client how far the call is.
func (a progressStep) Do(_ context.Context, call *adapters.Call) (adapters.Result, error) {
	done, err := evalNumber(a.Done, call.Frame)
	if err != nil {
		return adapters.Result{}, err
	}
	total, err := evalNumber(a.Total, call.Frame)
	if err != nil {
		return adapters.Result{}, err
	}
	text := ""
	if a.Message != nil {
		text = a.scrubber.Text(failure.Render(a.Message, call.Frame))
	}
	call.Progress(done, total, text)
	return adapters.Result{}, nil
}

// Plan implements adapters.Planner.
func (a progressStep) Plan(*adapters.Call) (string, error) {
	return "tells the client how far it is", nil
}

// evalNumber is what an expression gives; 0 for none.
func evalNumber(e *hcl.Expr, f *hcl.Frame) (float64, error) {
	if e == nil {
		return 0, nil
	}
	v, err := e.Eval(f)
	if err == nil {
		v, err = value.Resolve(v)
	}
	if err != nil {
		return 0, failure.AsFault(err)
	}
	n, ok := value.Float(v)
	if !ok {
		return 0, &adapters.Fault{Message: "progress is a number, and this is a " + value.Kind(v)}
	}
	return n, nil
}

type logStep struct {
	*hcl.Log
	scrubber *result.Scrubber
}

// Do sends a message to the log of the client.
func (a logStep) Do(_ context.Context, call *adapters.Call) (adapters.Result, error) {
	var data []byte
	if a.Message != nil {
		data = value.AppendString(nil, failure.Render(a.Message, call.Frame))
	} else {
		var err error
		if data, err = evalJSON(a.Data, call.Frame); err != nil {
			return adapters.Result{}, err
		}
	}
	call.Log(a.Level, a.Logger, a.scrubber.JSON(data))
	return adapters.Result{}, nil
}

// Plan implements adapters.Planner.
func (a logStep) Plan(*adapters.Call) (string, error) {
	return "sends a message to the log of the client: " + a.Level, nil
}

// evalJSON is what an expression gives, as JSON.
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

type waitStep struct{ *hcl.Wait }

// Do waits, unless the call ends before.
func (a waitStep) Do(ctx context.Context, call *adapters.Call) (adapters.Result, error) {
	long, err := a.Duration(call.Frame)
	if err != nil {
		return adapters.Result{}, failure.AsFault(err)
	}
	if client, ok := call.Client.(detacher); ok && a.Detach {
		client.Detach(long)
	}
	return adapters.Result{}, ctxtime.Sleep(ctx, long)
}

// Plan implements adapters.Planner.
func (a waitStep) Plan(call *adapters.Call) (string, error) {
	long, err := a.Duration(call.Frame)
	return "waits " + failure.FormatDuration(long), err
}

type failStep struct{ *hcl.Fail }

// Do fails the call.
func (a failStep) Do(_ context.Context, call *adapters.Call) (adapters.Result, error) {
	return adapters.Result{}, &adapters.Fault{Message: failure.Render(a.Message, call.Frame)}
}

// Plan implements adapters.Planner.
func (a failStep) Plan(call *adapters.Call) (string, error) {
	return "fails the call: " + failure.Render(a.Message, call.Frame), nil
}

type faultStep struct {
	*hcl.ProtocolFault
	scrubber *result.Scrubber
}

// Do answers the request with an error of the protocol.
func (a faultStep) Do(_ context.Context, call *adapters.Call) (adapters.Result, error) {
	e := &mcp.Error{Code: a.Code, Message: a.scrubber.Text(failure.Render(a.Message, call.Frame))}
	if a.Data != nil {
		data, err := evalJSON(a.Data, call.Frame)
		if err != nil {
			return adapters.Result{}, err
		}
		e.Data = a.scrubber.JSON(data)
	}
	return adapters.Result{}, e
}

// Plan implements adapters.Planner.
func (a faultStep) Plan(call *adapters.Call) (string, error) {
	return "answers with an error of the protocol: " + failure.Render(a.Message, call.Frame), nil
}
