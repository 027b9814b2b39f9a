package shell

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/shell/sandbox"
	"hatchel/hcl"
)

// action runs the command of one block. It is immutable and safe for concurrent use.
type action struct {
	block      *block
	scriptArgv []string // the command of a script_file
	baseEnv    environment
	inherited  []string // the names of inherit_env
	env        []*hcl.KeyValues
	configDir  string
	dir        string // of blocks without dir
	okCodes    []int
	timeout    time.Duration // 0: that of the call
	programs   *programLookup
	rules      *sandboxBlock
	sandbox    *sandbox.Sandbox // nil: the programs have all rights of the server
}

// errTimeout is the cause of a cancelled call that took longer than the timeout of its block.
var errTimeout = errors.New("the block's timeout has expired")

// newAction returns the action of a block, whose programs are confined with a version of Landlock.
func newAction(b *block, env adapters.Env, abi sandbox.ABI) (adapters.Action, error) {
	conn, ok := env.Connection.(*connection)
	if !ok {
		conn = &connection{}
	}
	a := &action{
		block: b, configDir: env.Dir, dir: adapters.Absolute(env.Dir, conn.Dir), okCodes: []int{0},
		timeout: cmp.Or(b.Timeout, conn.Timeout), env: []*hcl.KeyValues{conn.Env, b.Env},
		inherited: slices.Concat(conn.InheritEnv, b.InheritEnv), rules: cmp.Or(b.Sandbox, conn.Sandbox, newSandboxBlock()),
	}
	for _, codes := range [][]int{conn.OKCodes, b.OKCodes} {
		if codes != nil {
			a.okCodes = codes
		}
	}
	a.baseEnv = newEnvironment(a.inherited...)
	path := a.baseEnv.get("PATH")
	a.programs = &programLookup{path: path}
	err := b.Sandbox.checkPaths(env.Dir)
	if a.rules.Mode != modeNone {
		var sandboxErr error
		a.sandbox, sandboxErr = sandbox.New(a.rules.policy(b, conn, env.Dir, path), abi)
		err = errors.Join(sandboxErr, err)
	}
	if err != nil {
		return nil, err
	}
	if a.sandbox != nil {
		env.Defer(a.sandbox.Close)
	}
	if b.Command == nil && b.Pipe == nil && b.Script == nil {
		a.scriptArgv, err = scriptFileCommand(env.Dir, &b.ScriptFile)
	}
	return a, err
}

// Do implements adapters.Action.
func (a *action) Do(ctx context.Context, call *adapters.Call) (adapters.Result, error) {
	if err := ctx.Err(); err != nil {
		return adapters.Result{}, err
	}
	p, err := a.plan(call.Frame)
	if err != nil {
		return adapters.Result{}, err
	}
	if a.timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, a.timeout, errTimeout)
		defer cancel()
		ctx = limited
	}
	var stop context.CancelCauseFunc
	if a.sandbox != nil {
		ctx, stop = context.WithCancelCause(ctx)
		defer stop(nil)
	}
	j, err := p.start(a.programs)
	if err != nil {
		return adapters.Result{}, p.startFault(err)
	}
	defer j.close()
	j.stop = stop
	exits, stopped := j.wait(ctx)
	if stopped {
		return adapters.Result{}, a.stoppedError(ctx, p, j)
	}
	return a.result(p, j, exits)
}

// stoppedError returns the error of a call that was stopped.
func (a *action) stoppedError(ctx context.Context, p *commandPlan, j *job) error {
	cause := context.Cause(ctx)
	if exceeded := (*sandbox.LimitError)(nil); errors.As(cause, &exceeded) {
		return p.limitFault(exceeded, j)
	}
	if !errors.Is(cause, errTimeout) {
		return ctx.Err()
	}
	return p.timeoutFault(a.timeout, j)
}

// result checks the exit codes and reads the output.
func (a *action) result(p *commandPlan, j *job, exits []exitStatus) (adapters.Result, error) {
	code := 0
	for i, e := range exits {
		if i < len(exits)-1 && e.isBrokenPipe() {
			continue
		}
		if e.err != nil || !slices.Contains(a.okCodes, e.code) {
			return adapters.Result{}, p.exitFault(i, e, j)
		}
		if e.code != 0 {
			code = e.code
		}
	}
	output := map[string]any{"stdout": j.stdout.captured.text(p.secrets), "stderr": "", "code": code}
	if j.stderr != nil {
		output["stderr"] = j.stderr.captured.text(p.secrets)
	}
	if err := a.block.parseOutput(j.stdout.captured, output); err != nil {
		return adapters.Result{}, p.outputFault(err, j)
	}
	return adapters.Result{Value: output}, nil
}
