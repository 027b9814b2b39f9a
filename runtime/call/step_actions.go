package call

import (
	"context"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/scrub"
	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/internal/ctxtime"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/result"
)

// builtin is the action of a block of a step that is not a backend. Its output is null.
type builtin struct {
	block    any
	scrubber *scrub.Scrubber
}

// BuiltinAction returns the action of a block of a step that is not a backend; nil for a backend.
func BuiltinAction(b *hcl.Backend, scrubber *scrub.Scrubber) adapters.Action {
	switch block := b.Config.(type) {
	case *hcl.AskGroup:
		return &elicit.AskGroup{Asks: block.Asks}
	case *hcl.Progress, *hcl.Log, *hcl.Wait, *hcl.Fail, *hcl.ProtocolFault:
		return &builtin{block, scrubber}
	}
	return nil
}

// Do implements adapters.Action.
func (b *builtin) Do(ctx context.Context, call *adapters.Call) (_ any, err error) {
	switch block := b.block.(type) {
	case *hcl.Progress:
		err = b.reportProgress(block, call)
	case *hcl.Log:
		err = b.log(block, call)
	case *hcl.Wait:
		err = wait(ctx, block, call)
	case *hcl.Fail:
		err = &adapters.Fault{Message: failure.Render(block.Message, call.Frame)}
	case *hcl.ProtocolFault:
		err = b.protocolError(block, call)
	}
	return nil, err
}

// Plan implements adapters.Planner.
func (b *builtin) Plan(call *adapters.Call) (effects []adapters.Effect, err error) {
	plan, kind := "", ""
	switch block := b.block.(type) {
	case *hcl.Progress:
		kind, plan = "progress", "reports progress to the client"
	case *hcl.Log:
		kind, plan = "log", "sends a log message to the client: "+block.Level
	case *hcl.Wait:
		var d time.Duration
		d, err = block.Duration(call.Frame)
		kind, plan = "wait", "waits "+failure.FormatDuration(d)
	case *hcl.Fail:
		kind, plan = "fail", "fails the call: "+failure.Render(block.Message, call.Frame)
	case *hcl.ProtocolFault:
		kind, plan = "fault", "answers with a protocol error: "+failure.Render(block.Message, call.Frame)
	}
	return adapters.PlanEffects(kind, "", plan), err
}

// redactor returns what removes from texts of a call what its client must not read.
func (b *builtin) redactor(call *adapters.Call) result.Redactor {
	return result.NewRedactor(b.scrubber, call.Frame.Detect)
}

// reportProgress reports to the client how far the call is.
func (b *builtin) reportProgress(block *hcl.Progress, call *adapters.Call) error {
	done, err := evalNumber(block.Done, call.Frame)
	if err != nil {
		return err
	}
	total, err := evalNumber(block.Total, call.Frame)
	if err != nil {
		return err
	}
	text := ""
	if block.Message != nil {
		text = b.redactor(call).Text(failure.Render(block.Message, call.Frame))
	}
	call.Progress(done, total, text)
	return nil
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

// log sends a message to the log of the client.
func (b *builtin) log(block *hcl.Log, call *adapters.Call) (err error) {
	var data []byte
	if block.Message != nil {
		data = value.AppendString(nil, failure.Render(block.Message, call.Frame))
	} else if data, err = evalJSON(block.Data, call.Frame); err != nil {
		return err
	}
	call.Log(block.Level, block.Logger, b.redactor(call).JSON(data))
	return nil
}

// evalJSON evaluates an expression and encodes its value.
func evalJSON(e *hcl.Expr, f *hcl.Frame) (b []byte, err error) {
	v, err := e.Eval(f)
	if err == nil {
		b, err = value.AppendJSON(nil, v)
	}
	if err != nil {
		return nil, failure.AsFault(err)
	}
	return b, nil
}

func wait(ctx context.Context, block *hcl.Wait, call *adapters.Call) error {
	d, err := block.Duration(call.Frame)
	if err != nil {
		return failure.AsFault(err)
	}
	if client, ok := call.Client.(mcp.SuspendableClient); ok && block.Detach {
		client.Detach(d) // the client comes back for its result after d
	}
	return ctxtime.Sleep(ctx, d)
}

// protocolError returns the error of the protocol that answers the request.
func (b *builtin) protocolError(block *hcl.ProtocolFault, call *adapters.Call) error {
	e := &mcp.Error{Code: block.Code, Message: b.redactor(call).Text(
		failure.Render(block.Message, call.Frame))}
	if block.Data != nil {
		data, err := evalJSON(block.Data, call.Frame)
		if err != nil {
			return err
		}
		e.Data = b.redactor(call).JSON(data)
	}
	return e
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
func (t *toolCall) Do(ctx context.Context, call *adapters.Call) (_ any, err error) {
	values, err := t.evalInputs(call.Frame)
	if err != nil {
		return nil, err
	}
	c := t.target.newCall(ctx, call.Frame.Caller, call.Client)
	defer c.result.Release()
	defer c.release()
	if call.Trace != nil {
		traceTo(&c.action, c.arguments(), call.Trace, call.Frame.Explain)
	}
	c.program, c.action.Owner, c.action.Token, c.action.Key = t.target, call.Owner, call.Token, call.Key
	c.action.Traceparent, c.action.Tracestate, c.action.Span = call.Traceparent, call.Tracestate, call.Span
	c.action.Hops, c.action.Upstreams = call.Hops, call.Upstreams
	if call.Span.IsRecorded() {
		c.action.Span = call.Span.Start("tool "+t.target.tool.Name, adapters.SpanInternal)
		c.action.Span.SetText("gen_ai.tool.name", t.target.tool.Name)
		defer func() { c.action.Span.End(adapters.ErrorType(err)) }()
	}
	if call.Changes != nil {
		c.action.Changes = call.Changes
	}
	c.clock.stopCtx = t.target.Env.Pinned // ctx ends with the outer call, which may be a task that outlives a reload
	err = c.runTool(inputs{values: values})
	f := failure.Of(err)
	end := c.ending(ctx, f, interimOutcome(err))
	c.approval.recordCall(ctx, &end)
	if err != nil {
		if f.Internal || f.Protocol != nil {
			return nil, err
		}
		fault := &adapters.Fault{
			Message: c.failureWriter().text(f), Status: f.Status, Code: f.Code, Cause: err, RetryAfter: f.RetryAfter,
			Hint: f.Hint, Constraint: f.Constraint,
		}
		if !t.target.hasOwnText(f) {
			fault.Advice = f.Advice
			if f.Unchanged != "" {
				fault.Change = adapters.ChangeUndone
			}
		}
		return nil, fault
	}
	call.Failures.Add(c.result.Failures)
	call.Received.Add(c.result.Received)
	if cut := c.result.Cut; cut != nil {
		outer := *cut
		outer.Block, outer.Members = cut.Block+" of the tool "+t.target.tool.Name, []string{"result", "text"}
		if err := call.Truncate(outer); err != nil {
			return nil, err
		}
	}
	text, err := c.result.AsText()
	if err != nil {
		return nil, c.clock.cause(err)
	}
	return map[string]any{"result": c.result.Value, "text": text}, nil
}

// Plan implements adapters.Planner.
func (t *toolCall) Plan(call *adapters.Call) ([]adapters.Effect, error) {
	values, err := t.evalInputs(call.Frame)
	if err != nil {
		return nil, err
	}
	text, err := result.AppendText([]byte("tool "+t.target.tool.Name+" "), values)
	return adapters.PlanEffects("tool", t.target.tool.Name, string(text)), err
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

// lockedClient is a client that several goroutines of one call use.
type lockedClient struct {
	mu     sync.Mutex
	client adapters.Client // guarded by mu
}

// WantsProgress implements adapters.Client.
func (l *lockedClient) WantsProgress() bool { return l.client.WantsProgress() }

// Progress implements adapters.Client.
func (l *lockedClient) Progress(done, total float64, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.client.Progress(done, total, message)
}

// Log implements adapters.Client.
func (l *lockedClient) Log(level, logger string, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.client.Log(level, logger, data)
}

// redactedClient is a client that does not read what it must not of what another server tells it.
type redactedClient struct {
	adapters.Client
	safe result.Redactor
}

// Progress implements adapters.Client.
func (c *redactedClient) Progress(done, total float64, message string) {
	c.Client.Progress(done, total, c.safe.Text(message))
}

// Log implements adapters.Client.
func (c *redactedClient) Log(level, logger string, data []byte) {
	c.Client.Log(level, logger, c.safe.JSON(data))
}
