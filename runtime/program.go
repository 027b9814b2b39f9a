package runtime

import (
	"context"
	"sync/atomic"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/runtime/mcp"
)

// Program is one compiled tool. It is immutable but for what a database tells of its rows, and serves any number of calls at once.
type Program struct {
	tool       *hcl.Tool
	generation *Generation
	stages     []*stage
	headers    []mcp.HeaderInput
	answers    answers
	narrow     string                      // a sentence that says how to get less of an answer
	inferred   atomic.Pointer[schema.Type] // of the default result, when the other side was asked
	asked      atomic.Bool                 // the other side has answered whether the tool will work
}

func newProgram(g *Generation, t *hcl.Tool) *Program {
	return &Program{tool: t, generation: g, headers: headerInputs(t.Input), answers: answersOf(t), narrow: narrowing(t)}
}

// Tool is what the program was compiled from.
func (p *Program) Tool() *hcl.Tool { return p.tool }

// Run serves one call and accounts for it. What a model should read about a failure is in the Outcome; an error is one of the protocol.
func (p *Program) Run(ctx context.Context, req *mcp.CallRequest) (mcp.Outcome, error) {
	if err := req.CheckHeaders(p.headers); err != nil {
		return mcp.Outcome{}, err
	}
	c := p.newCall(ctx, callerOf(req.Caller), req.Progress)
	failed := failureOf(p.answer(c, req.Arguments))
	c.account(ctx, req.Caller.Remote, failed)
	return c.outcome(failed, req.Caller.Revision), nil
}

// answer runs the call and encodes what it came to. A panic in it is its error.
func (p *Program) answer(c *call, arguments []byte) (err error) {
	defer recovered(&err)
	if err := p.run(c, inputs{raw: arguments}); err != nil {
		return err
	}
	return c.encode()
}

// run is the straight line of every call, whoever makes it.
func (p *Program) run(c *call, in inputs) error {
	if err := p.validate(c, in); err != nil {
		return err
	}
	if err := p.check(c); err != nil {
		return err
	}
	if err := p.authorize(c); err != nil {
		return err
	}
	if err := p.work(c); err != nil {
		return err
	}
	return p.shape(c)
}

// work runs the steps in their order, under the timeout of the tool.
func (p *Program) work(c *call) error {
	if len(p.stages) == 0 {
		return nil
	}
	defer c.limit(p.tool.Timeout)()
	for _, s := range p.stages {
		if err := s.run(c); err != nil {
			c.step = s.step.Name
			return c.why(err)
		}
	}
	return nil
}

// call is one call of a program under way. It belongs to one goroutine.
type call struct {
	program   *Program
	began     time.Time
	frame     *hcl.Frame
	computing computing // the context of frame, when the tool only computes
	action    adapters.Call
	step      string // that failed
	answer    answer
	reply     *reply
}

func (p *Program) newCall(ctx context.Context, caller map[string]any, progress func(done, total float64, message string)) *call {
	b := p.generation.build
	c := &call{program: p, began: time.Now(), frame: hcl.NewFrame(ctx, b.Dir, b.Now), reply: borrowReply()}
	if len(p.stages) == 0 {
		c.computing = computing{ctx, c.began.Add(p.tool.Timeout), p.generation.ctx}
		c.frame.Context = &c.computing
	}
	c.frame.Caller = caller
	c.action = adapters.Call{Frame: c.frame, Progress: progress}
	return c
}
