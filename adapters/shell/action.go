package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/guard"
	"hatchel/adapters/program"
	"hatchel/adapters/sandbox"
	"hatchel/hcl"
	"hatchel/internal/charset"
	"hatchel/internal/printable"
)

// action runs the command of one block. It is immutable and safe for concurrent use.
type action struct {
	block      *block
	scriptArgv []string // the command of a script_file
	baseEnv    program.Environment
	inherited  []string // the names of inherit_env
	tempVars   []string // the names of variables that hold the temporary directory of the call
	env        []*hcl.KeyValues
	configDir  string
	dir        string // of blocks without dir
	okCodes    []int
	timeout    time.Duration // 0: that of the call
	programs   *program.Lookup
	encoding   *charset.Encoding
	rules      *sandbox.Block
	sandbox    *sandbox.Sandbox // nil: the programs have all rights of the server
	log        *slog.Logger
	mocks      adapters.Mocks
	connection string // its name, for mocks
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
		inherited: slices.Concat(conn.InheritEnv, b.InheritEnv), log: env.Log,
		rules: cmp.Or(b.Sandbox, conn.Sandbox, sandbox.NewBlock()), mocks: env.Mocks, connection: env.ConnectionName,
	}
	a.encoding, _ = charset.Find(b.Encoding)
	for _, codes := range [][]int{conn.OKCodes, b.OKCodes} {
		if codes != nil {
			a.okCodes = codes
		}
	}
	if a.rules.Mode == sandbox.ModeNone {
		a.baseEnv = program.NewEnvironment(slices.Concat(program.DirectoryVars, a.inherited)...)
	} else {
		a.baseEnv = program.NewEnvironment(a.inherited...)
		a.tempVars = slices.DeleteFunc(slices.Clone(program.DirectoryVars), func(name string) bool {
			return name == "HOME" && slices.Contains(a.inherited, name)
		})
	}
	path := a.baseEnv.Get("PATH")
	a.programs = program.NewLookup(path)
	var err error
	startsPrograms := a.mocks == nil || a.mocks.Live(false)
	if startsPrograms {
		if err := guard.Supported(); err != nil {
			return nil, hcl.Blame(nil, "The block starts a program: %v.", err)
		}
		err = b.Sandbox.CheckPaths(env.Dir)
	}
	if startsPrograms && a.rules.Mode != sandbox.ModeNone {
		var sandboxErr error
		if a.sandbox, sandboxErr = sandbox.New(b.policy(a.rules, conn, env.Dir, path), abi); sandboxErr == nil {
			a.rules.Warn(env, a.sandbox)
		}
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
	if startsPrograms {
		a.warnOfMissing(env, path)
		if b.Dir == nil {
			if conn.Dir != "" {
				env.WarnIfMissing(&conn.Dir, conn.Dir)
			}
		} else if dir, known := b.Dir.Known(); known {
			env.WarnIfMissing(&b.Dir, dir)
		}
	}
	return a, err
}

// warnOfMissing warns of programs that are not where calls look for them. The configuration may be meant for another
// machine, so that this is no error.
func (a *action) warnOfMissing(env adapters.Env, path string) {
	var field any
	var names []string
	switch b := a.block; {
	case b.Command != nil:
		field, names = &b.Command, b.Command.Programs()
	case b.Pipe != nil:
		field, names = &b.Pipe, b.Pipe.Programs()
	case b.Script != nil:
		field, names = &b.Script, b.Script.Argv()[:1]
	case len(a.scriptArgv) > 0:
		field, names = &b.ScriptFile, a.scriptArgv[:1]
	}
	setsPath := func(entries *hcl.KeyValues) bool { return slices.Contains(entries.Names(), "PATH") }
	if slices.ContainsFunc(a.env, setsPath) {
		return
	}
	for _, name := range names {
		where := "in the PATH of the server, " + path
		file := name
		if !strings.Contains(name, "/") {
			_, err := program.SearchPath(name, path)
			if err == nil {
				continue
			}
		} else if where = "on this machine"; !filepath.IsAbs(file) {
			continue // it is in the configuration or in dir
		} else if _, err := os.Stat(file); err == nil {
			continue
		}
		env.Warn(field, "Program not found", fmt.Sprintf("The program %q is not %s. Calls fail until it is installed "+
			"there.", name, where))
	}
}

// Do implements adapters.Action.
func (a *action) Do(ctx context.Context, call *adapters.Call) (out any, err error) {
	if err := ctx.Err(); err != nil {
		return nil, adapters.WithChange(err, adapters.ChangeUnsent)
	}
	p, err := a.plan(call.Frame)
	if err != nil {
		return nil, adapters.WithChange(err, adapters.ChangeUnsent)
	}
	if call.Trace != nil {
		call.Trace(adapters.TraceSent, a.describe(p))
	}
	if call.Span.IsRecorded() {
		span := a.startSpan(call, p)
		defer func() { span.End(adapters.ErrorType(err)) }()
	}
	if a.timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, a.timeout, errTimeout)
		defer cancel()
		ctx = limited
	}
	if a.mocks != nil {
		return a.answer(ctx, call, p)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	j, err := p.start(a.programs)
	if err != nil {
		return nil, p.startFault(err)
	}
	defer j.close()
	j.stop = stop
	exits, stopped := j.wait(ctx)
	p.traceStream(call, adapters.TraceStderr, j.stderr)
	if stopped {
		return nil, a.stoppedError(ctx, p, j)
	}
	r, err := a.result(call, p, j, exits)
	if err == nil {
		a.logErrorOutput(ctx, p, j)
	} else { // the output of a program that succeeded is that of the step
		p.traceStream(call, "stdout", j.stdout)
	}
	return r, err
}

func (p *commandPlan) traceStream(call *adapters.Call, event string, s *stream) {
	if call.Trace != nil && s != nil && len(s.captured.buf) > 0 {
		text, _ := s.captured.text(p.secrets)
		call.Trace(event, adapters.Scrub(text, p.secrets))
	}
}

// logErrorOutput logs the error output of programs that succeeded: the caller may never see it. It
// is a warning if the sandbox may be its reason.
func (a *action) logErrorOutput(ctx context.Context, p *commandPlan, j *job) {
	if j.stderr == nil || len(j.stderr.captured.buf) == 0 {
		return
	}
	text, level := p.tail(j.stderr), slog.LevelDebug
	attrs := []slog.Attr{slog.String("stderr", text)}
	raw, _ := j.stderr.captured.text(p.secrets)
	if hint := p.newHinter(raw, j).find(0); hint != nil && p.sandbox != nil {
		level, attrs = slog.LevelWarn, append(attrs, slog.String("hint", hint.Error()))
	}
	a.log.LogAttrs(ctx, level, "program succeeded with error output", attrs...)
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
func (a *action) result(call *adapters.Call, p *commandPlan, j *job, exits []exitStatus) (any, error) {
	code := 0
	for i, e := range exits {
		if i < len(exits)-1 && e.code == 128+int(syscall.SIGPIPE) { // also as reported by a shell
			continue // nobody reads the output of the program any more
		}
		accepted := a.okCodes
		if p.okCodes != nil {
			accepted = p.okCodes[i]
		}
		if e.err != nil || !slices.Contains(accepted, e.code) {
			return nil, p.exitFault(i, e, j)
		}
		if e.code != 0 {
			code = e.code
		}
	}
	output := map[string]any{"stdout": "", "stderr": "", "code": code, "truncated": false}
	err := a.block.readOutput(j.stdout.captured, p.secrets, call, output)
	if err == nil && j.stderr != nil {
		text, bad := j.stderr.captured.text(p.secrets)
		if output["stderr"] = text; bad != nil && call.Reads("stderr") {
			err = newEncodingError("error output", bad, j.stderr.captured)
		}
	}
	if err != nil {
		return nil, adapters.WithChange(p.outputFault(err, j), adapters.ChangeDone)
	}
	err = a.checkCut(call, output, j.stderr, "stderr")
	if err == nil {
		err = a.checkCut(call, output, j.stdout, "stdout", "lines")
	}
	return output, adapters.WithChange(err, adapters.ChangeDone)
}

// checkCut reports to the call that an output of the programs was cut.
func (a *action) checkCut(call *adapters.Call, output map[string]any, s *stream, members ...string) error {
	if s == nil || s.captured.omitted() == 0 {
		return nil
	}
	output["truncated"] = true
	limit := a.block.MaxOutput
	return call.Truncate(adapters.Cut{
		Members: members, Limit: "max_output = " + limit.String(), Argument: "max_output",
		Seen: "the program wrote " + hcl.Size(s.captured.total).String(), Allowed: a.block.Truncate,
	})
}

// Plan implements adapters.Planner.
func (a *action) Plan(call *adapters.Call) ([]adapters.Effect, error) {
	p, err := a.plan(call.Frame)
	if err != nil {
		return nil, err
	}
	return adapters.PlanEffects("shell", p.dir, a.describe(p)), nil
}

// describe shows the commands in shell syntax, the directory, the environment, what the programs may do, and the
// standard input, without secrets.
func (a *action) describe(p *commandPlan) string {
	var out strings.Builder
	for i, argv := range p.stages {
		if i > 0 {
			out.WriteString(" | ")
		}
		for k, arg := range argv {
			if k > 0 {
				out.WriteByte(' ')
			}
			out.WriteString(quote(arg))
		}
	}
	fmt.Fprintf(&out, "\nin %s\n", quote(p.dir))
	for _, v := range p.variables {
		shown := quote(v.value)
		if v.secret {
			shown = hcl.Hidden
		}
		fmt.Fprintf(&out, "env %s=%s\n", v.name, shown)
	}
	if len(a.inherited) > 0 {
		fmt.Fprintf(&out, "env inherited: %s\n", strings.Join(a.inherited, " "))
	}
	a.describeSandbox(&out, p)
	if p.stdinFile != "" {
		fmt.Fprintf(&out, "stdin %s\n", p.stdinFile)
	} else if p.stdin != nil {
		fmt.Fprintf(&out, "stdin %d bytes:\n%s\n", len(p.stdin), adapters.PlanText(p.stdin, maxShownInput))
	}
	return adapters.Scrub(out.String(), p.secrets)
}

// describeSandbox writes what the programs may do in addition to the default.
func (a *action) describeSandbox(out *strings.Builder, p *commandPlan) {
	if a.rules.Mode == sandbox.ModeNone {
		out.WriteString("not confined\n")
		return
	}
	if a.rules.Network {
		out.WriteString("with network\n")
	}
	if a.rules.Modes {
		out.WriteString("may change modes, groups and times of all files of the server's user\n")
	}
	for _, path := range append(adapters.AbsoluteAll(a.configDir, a.rules.Read), p.resolved...) {
		fmt.Fprintf(out, "may read %s\n", quote(path))
	}
	for _, path := range adapters.AbsoluteAll(a.configDir, a.rules.Write) {
		fmt.Fprintf(out, "may write %s\n", quote(path))
	}
}

// maxShownInput is how many bytes of the standard input a dry run shows.
const maxShownInput = 4 << 10

const unquotedChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"

// quote writes an argument in shell syntax. What people do not see becomes escapes, which bash and zsh read.
func quote(arg string) string {
	if arg != "" && strings.Trim(arg, unquotedChars) == "" {
		return arg
	}
	escaped := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(arg)
	if shown := printable.Replace(escaped, "\n\t", printable.Escape); shown != escaped {
		return "$'" + shown + "'"
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
