package shell

import (
	"context"
	"slices"

	"hatchel/adapters"
)

// answer has the programs of a call answered by mocks. Each program of a pipe reads what the one before has written.
func (a *action) answer(ctx context.Context, call *adapters.Call, p *commandPlan) (any, error) {
	j := &job{stdout: newMockedStream(p.maxOutput)}
	if !p.mergeStderr {
		j.stderr = newMockedStream(p.maxOutput)
	}
	defer j.close()
	exits := make([]exitStatus, len(p.stages))
	stdin := p.stdin
	for i, argv := range p.stages {
		exit, err := a.mocks.Run(ctx, a.mockedProgram(p, argv, stdin))
		if err != nil && ctx.Err() != nil {
			return nil, a.stoppedError(ctx, p, j)
		}
		if err != nil {
			return nil, err
		}
		exits[i].code, stdin = exit.Code, exit.Stdout
		if i == len(p.stages)-1 {
			j.stdout.captured.write(exit.Stdout)
		}
		if j.stderr != nil {
			j.stderr.captured.write(exit.Stderr)
		} else {
			j.stdout.captured.write(exit.Stderr)
		}
	}
	p.traceStream(call, adapters.TraceStderr, j.stderr)
	return a.result(call, p, j, exits)
}

func (a *action) mockedProgram(p *commandPlan, argv []string, stdin []byte) *adapters.Program {
	program := &adapters.Program{
		Connection: a.connection, Argv: slices.Clone(argv), Dir: p.shownDir, Stdin: stdin, Secrets: p.secrets,
		WritesJSON: a.block.Parse == parseJSON,
		Start:      func(ctx context.Context) (*adapters.Exit, error) { return a.runStage(ctx, p, argv, stdin) },
	}
	for _, v := range p.variables {
		program.Env = append(program.Env, adapters.EnvVar{Name: v.name, Value: v.value})
	}
	switch {
	case a.block.Script != nil:
		program.Script = a.block.Script.Text()
	case p.isScript:
		program.ScriptFile = a.block.ScriptFile
	}
	return program
}

// runStage runs one program of a plan.
func (a *action) runStage(ctx context.Context, p *commandPlan, argv []string, stdin []byte) (*adapters.Exit, error) {
	stage := *p
	stage.stages, stage.stdin = [][]string{argv}, stdin
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	j, err := stage.start(a.programs)
	if err != nil {
		return nil, stage.startFault(err)
	}
	defer j.close()
	j.stop = stop
	exits, stopped := j.wait(ctx)
	switch {
	case stopped:
		return nil, a.stoppedError(ctx, &stage, j)
	case exits[0].err != nil:
		return nil, stage.exitFault(0, exits[0], j)
	}
	exit := &adapters.Exit{Code: exits[0].code}
	for _, output := range []struct {
		of   *stream
		into *[]byte
	}{{j.stdout, &exit.Stdout}, {j.stderr, &exit.Stderr}} {
		if output.of == nil {
			continue
		}
		if output.of.captured.omitted() > 0 {
			return nil, &adapters.Fault{Message: "the program wrote more than max_output, which a test does not cut"}
		}
		*output.into = slices.Clone(output.of.captured.buf)
	}
	return exit, nil
}

// newMockedStream returns a stream that no program writes to.
func newMockedStream(limit int) *stream { return &stream{captured: newCapture(limit)} }

// write adds the output of a mock.
func (c *capture) write(output []byte) {
	for len(output) > 0 {
		n := copy(c.nextBuffer(), output)
		c.add(n)
		output = output[n:]
	}
}
