package call

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/runtime/stage/approval"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/result"
)

// AddBefore adds a before block of an approval, and returns its operation, which has no steps yet.
func (p *Program) AddBefore(decl *hcl.Before) *Operation {
	o := new(Operation)
	o.Init(p.Env, "before", &decl.Operation, nil)
	if p.before == nil {
		p.before = map[*hcl.Before]*Operation{}
	}
	p.before[decl] = o
	return o
}

// maxObserved is how many bytes the results of the before blocks of a call have.
const maxObserved = 32 << 10

// observer returns what runs the before blocks of rules for the call; nil if there are none. It is called by the
// goroutine of the call.
func (v *approvalView) observer(rules []*ApprovalRule) func() []approval.Observation {
	var blocks []*hcl.Before
	for _, r := range rules {
		blocks = append(blocks, r.decl.Before...)
	}
	if len(blocks) == 0 {
		return nil
	}
	return func() (seen []approval.Observation) {
		ctx, cancel := context.WithTimeout(v.call.Frame.Context, blocks[0].Timeout)
		defer cancel()
		left := maxObserved
		for _, decl := range blocks {
			o := v.observe(ctx, decl, left)
			left = max(left-len(o.Result), 0)
			seen = append(seen, o)
		}
		return seen
	}
}

// observe runs one before block. A failure is what the approver is shown.
func (v *approvalView) observe(ctx context.Context, decl *hcl.Before, maxBytes int) approval.Observation {
	o := approval.Observation{Name: decl.Label, At: time.Now().UTC()}
	var text []byte
	err := failure.Try(func() (err error) {
		text, err = v.readBefore(ctx, decl)
		return err
	})
	switch {
	case err == nil:
		o.Result = text
		if len(text) > maxBytes {
			head := string(text[:result.CutBefore(text, maxBytes)])
			const format = "%s%s%d more bytes]"
			cut := fmt.Sprintf(format, head, adapters.OmittedPrefix, len(text)-len(head))
			o.Result = value.AppendString(nil, cut)
		}
	case ctx.Err() != nil:
		o.Error = fmt.Sprintf("it was not read within %s", failure.FormatDuration(decl.Timeout))
	default:
		failed := failure.Of(err)
		v.program.Env.LogFailure(v.call.Frame.Context, slog.LevelWarn, "state before a call not read", err,
			"tool", v.program.Decl.Name, "before", decl.Label)
		if failed.Internal {
			failed.Message = failure.InternalMessage("before block")
		}
		o.Error = approval.EscapeText(v.arguments.hide(v.program.Env.relativePaths(failed.Message)))
	}
	return o
}

// readBefore runs a before block and returns its default result as JSON, without secrets and sensitive inputs.
func (v *approvalView) readBefore(ctx context.Context, decl *hcl.Before) ([]byte, error) {
	o := v.program.before[decl]
	if o.Missing != "" {
		return nil, failure.Refusal(fmt.Sprintf(unavailable, "block", decl.Label, o.Missing))
	}
	action := adapters.Call{
		Frame: v.call.Frame.Fork(ctx), Timeout: decl.Timeout, Client: adapters.NopClient{}, Owner: v.call.Owner,
		Token: v.call.Token, Traceparent: v.call.Traceparent, Tracestate: v.call.Tracestate, Span: v.call.Span,
		Hops: v.call.Hops, Upstreams: v.call.Upstreams,
	}
	action.Frame.Lifted = nil // every approver sees the same
	out, _, err := o.Steps[0].runOnce(&action)
	if err != nil {
		return nil, err
	}
	shown, err := result.DefaultValue(decl.Steps[0].Backend.Effects.Default, out)
	if err != nil {
		return nil, err
	}
	text, err := value.AppendJSON(nil, shown)
	if err != nil {
		return nil, err
	}
	hidden := v.arguments.hideSent(string(v.program.Env.Scrubber.JSON(text)))
	if !json.Valid([]byte(hidden)) { // a number was sensitive
		return value.AppendString(nil, hidden), nil
	}
	return []byte(hidden), nil
}
