package runtime

import (
	"context"
	"sync/atomic"

	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/runtime/mcp"
)

// Program is one compiled tool. It is immutable but for what a database tells of its rows, and serves any number of calls at once.
type Program struct {
	routine
	tool     *hcl.Tool
	headers  []mcp.HeaderInput
	answers  answers
	inferred atomic.Pointer[schema.Type] // of the default result, when the other side was asked
}

func newProgram(g *Generation, t *hcl.Tool) *Program {
	p := &Program{tool: t, headers: headerInputs(t.Input), answers: answersOf(t)}
	p.init(g, "tool", &t.Work, t.Error)
	return p
}

// Tool is what the program was compiled from.
func (p *Program) Tool() *hcl.Tool { return p.tool }

// Run serves one call and accounts for it. What a model should read about a failure is in the Outcome; an error is one of the protocol.
func (p *Program) Run(ctx context.Context, req *mcp.CallRequest) (mcp.Outcome, error) {
	if err := req.CheckHeaders(p.headers); err != nil {
		return mcp.Outcome{}, err
	}
	c := p.newCall(ctx, callerOf(req.Caller), (*client)(req))
	failed := failureOf(p.answer(c, req.Arguments))
	c.account(ctx, req.Caller.Remote, failed)
	return p.outcome(c, failed, req.Caller.Revision), nil
}

// answer runs the call and encodes what it came to. A panic in it is its error.
func (p *Program) answer(c *call, arguments []byte) (err error) {
	defer recovered(&err)
	if err := p.run(c, inputs{raw: arguments}); err != nil {
		return err
	}
	return p.encode(c)
}

// run does all that the tool does, and makes the answer of the outputs.
func (p *Program) run(c *call, in inputs) error {
	if err := p.routine.run(c, in); err != nil {
		return err
	}
	return p.shape(c)
}
