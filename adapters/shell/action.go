package shell

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
)

// An action runs the command of one block. It is immutable and safe for concurrent use.
type action struct {
	block     *block
	file      []string // the command of a script_file
	base      environ  // before env is added
	inherited []string // the names in it
	env       []*hcl.KeyValues
	folder    string // of the configuration
	dir       string // when the block names none
	codes     []int
	timeout   time.Duration // 0: the call's own
	programs  *finder
	confined  *confinement // nil: the programs may do all that the server may
}

// errTimeout is why a call ends that took longer than its block allows.
var errTimeout = errors.New("the block's timeout has passed")

// bind makes the action of a block, on a kernel with a version of Landlock.
func bind(b *block, env adapters.Env, v version) (adapters.Action, error) {
	conn, ok := env.Connection.(*connection)
	if !ok {
		conn = &connection{}
	}
	a := &action{block: b, folder: env.Dir, dir: env.Dir, codes: []int{0}, timeout: conn.Timeout, env: []*hcl.KeyValues{conn.Env, b.Env}}
	if conn.Dir != "" {
		a.dir = below(env.Dir, conn.Dir)
	}
	for _, codes := range [][]int{conn.OKCodes, b.OKCodes} {
		if codes != nil {
			a.codes = codes
		}
	}
	if b.Timeout > 0 {
		a.timeout = b.Timeout
	}
	a.inherited = slices.Concat(conn.InheritEnv, b.InheritEnv)
	a.base = newEnviron(a.inherited...)
	a.programs = &finder{path: a.base.get("PATH")}
	err := b.Sandbox.missing(env.Dir)
	if a.confined = newConfinement(b, conn, env.Dir, a.base.get("PATH")); a.confined != nil {
		err = errors.Join(a.confined.prepare(v), err)
	}
	if err != nil {
		return nil, err
	}
	if a.confined != nil {
		env.Defer(a.confined.close)
	}
	if b.ScriptFile != "" {
		file, err := scriptFile(env.Dir, &b.ScriptFile)
		if err != nil {
			return nil, err
		}
		a.file = file
	}
	return a, nil
}

// below is a path that is relative to a folder unless it is absolute.
func below(folder, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}

// Do implements adapters.Action.
func (a *action) Do(ctx context.Context, call *adapters.Call) (adapters.Result, error) {
	if err := ctx.Err(); err != nil {
		return adapters.Result{}, err
	}
	d, err := a.draft(call.Frame)
	if err != nil {
		return adapters.Result{}, err
	}
	if a.timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, a.timeout, errTimeout)
		defer cancel()
		ctx = limited
	}
	var stop context.CancelCauseFunc
	if a.confined != nil {
		ctx, stop = context.WithCancelCause(ctx)
		defer stop(nil)
	}
	j, err := d.start(a.programs)
	if err != nil {
		return adapters.Result{}, d.notStarted(err)
	}
	defer j.close()
	j.stop = stop
	exits, stopped := j.wait(ctx)
	if stopped {
		return adapters.Result{}, a.interrupted(ctx, d, j)
	}
	return a.conclude(d, j, exits)
}

// interrupted is how a call ends that was not allowed to go on.
func (a *action) interrupted(ctx context.Context, d *draft, j *job) error {
	cause := context.Cause(ctx)
	if excess := (*excess)(nil); errors.As(cause, &excess) {
		return d.tooMuch(excess, j)
	}
	if !errors.Is(cause, errTimeout) {
		return ctx.Err()
	}
	return d.overdue(a.timeout, j)
}

// conclude judges how the programs ended and reads what they wrote.
func (a *action) conclude(d *draft, j *job, exits []exit) (adapters.Result, error) {
	code := 0
	for i, e := range exits {
		if i < len(exits)-1 && e.cutOff() {
			continue
		}
		if e.err != nil || !slices.Contains(a.codes, e.code) {
			return adapters.Result{}, d.failed(i, e, j)
		}
		if e.code != 0 {
			code = e.code
		}
	}
	out := map[string]any{"stdout": j.out.kept.text(d.secrets), "stderr": "", "code": code}
	if j.err != nil {
		out["stderr"] = j.err.kept.text(d.secrets)
	}
	if err := a.block.parse(j.out.kept, out); err != nil {
		return adapters.Result{}, d.unreadable(err, j)
	}
	return adapters.Result{Value: out}, nil
}
