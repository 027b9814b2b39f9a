package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/guard"
	"hatchel/adapters/mcp/client"
	"hatchel/adapters/program"
	"hatchel/adapters/sandbox"
	"hatchel/hcl"
)

const (
	inputGrace      = 2 * time.Second        // between the end of the standard input and SIGTERM
	termGrace       = time.Second            // between SIGTERM and SIGKILL
	unkillableAfter = time.Second            // for the kernel to end a killed program
	drainTimeout    = 250 * time.Millisecond // for what a program has written before its end
	maxShownStderr  = 500                    // characters of the error output in a line of the log
)

// Process is a program that runs, and its session. It is safe for concurrent use.
type Process struct {
	*client.Session
	launcher *Launcher
	owner    string
	started  time.Time
	secrets  []string // in its environment

	program   program.Program
	workspace *sandbox.Workspace // nil: the program is not confined
	stdin     *os.File
	stdout    *os.File
	stderr    *stderr

	opened  chan struct{}                      // closed when Session is set
	stop    chan struct{}                      // closed by Close, or when the program could not be used
	exited  chan struct{}                      // closed when the program has exited; it is not reaped before
	done    chan struct{}                      // closed when the session has ended, and a crash is recorded
	ended   chan struct{}                      // closed when nothing of it runs any more
	closing atomic.Bool                        // Close was called
	silent  atomic.Bool                        // RecordSilence was called
	limit   atomic.Pointer[sandbox.LimitError] // that the program has exceeded; nil for none
	reason  error                              // why the session has ended before the program; nil for none

	// Set before ended is closed, if the program has ended by itself.
	exit string // how, for people who operate the server
	hint string // what the author of the configuration can write; empty for nothing
}

// StartError is the failure of a start. Its text does not have the error output of the program.
type StartError struct {
	err    error
	text   string // for people who operate the server, without secrets
	exit   string // how the program has ended by itself; empty if it was not started, or was stopped
	stderr string // the end of the error output, without secrets
	hint   string // what the author of the configuration can write; empty for nothing
}

func (e *StartError) Error() string {
	if e.exit != "" {
		return "the program " + e.exit + " before it had initialized"
	}
	return e.text
}

func (e *StartError) Unwrap() error { return e.err }

// Stderr returns the end of the error output, for people who operate the server. It has no secrets.
func (e *StartError) Stderr() string { return e.stderr }

// errStartTimeout is the cause of a start that takes too long.
var errStartTimeout = errors.New("the program did not initialize within start_timeout")

// start starts a program and begins its session.
func (l *Launcher) start(ctx context.Context, owner string, open Open) (*Process, error) {
	p := &Process{
		launcher: l, owner: owner, opened: make(chan struct{}), stop: make(chan struct{}),
		exited: make(chan struct{}), done: make(chan struct{}), ended: make(chan struct{}),
	}
	if err := p.run(ctx); err != nil {
		return nil, &StartError{err: err, text: adapters.Sanitize(err.Error(), p.secrets)}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.config.StartTimeout, errStartTimeout)
	defer cancel()
	session, err := open(ctx, client.NewStdio(p.stdout, p.stdin))
	if err == nil {
		p.Session = session
		close(p.opened)
		return p, nil
	}
	if errors.Is(context.Cause(ctx), errStartTimeout) {
		err = errStartTimeout
	}
	failed := &StartError{err: err, text: adapters.Sanitize(err.Error(), p.secrets)}
	select { // a program that ends by itself closes its output first
	case <-p.exited:
	case <-time.After(drainTimeout):
	}
	p.Close()
	failed.exit, failed.stderr, failed.hint = p.exit, p.stderr.tail(maxShownStderr, p.secrets), p.hint
	return nil, failed
}

// run starts the program, and the goroutines that wait for its end.
func (p *Process) run(ctx context.Context) (err error) {
	c := &p.launcher.config
	var files []*os.File // of the program
	defer func() {
		for _, f := range files {
			f.Close()
		}
		if err != nil {
			p.release()
		}
	}()
	input, stdin, err := os.Pipe()
	if err != nil {
		return err
	}
	files, p.stdin = append(files, input), stdin
	var output, errors *os.File
	if p.stdout, output, err = os.Pipe(); err != nil {
		return err
	}
	files = append(files, output)
	reader, errors, err := os.Pipe()
	if err != nil {
		return err
	}
	files, p.stderr = append(files, errors), newStderr(reader)
	env, secrets, err := c.Env(ctx)
	if err != nil {
		return err
	}
	p.secrets = secrets
	if c.Sandbox != nil {
		if p.workspace, err = c.Sandbox.Acquire(env.Get("PATH")); err != nil {
			return &sandbox.StartError{Err: err}
		}
		for _, name := range c.TempVars {
			env = env.Set(name, p.workspace.TempDir())
		}
	}
	p.started = time.Now()
	attr := &os.ProcAttr{Dir: c.Dir, Env: env, Files: files}
	if p.program, err = p.launcher.lookup.Start(p.workspace, c.Command, attr); err != nil {
		return fmt.Errorf("the program %q could not be started: %w", c.Command[0], err)
	}
	if p.workspace != nil {
		p.workspace.EnforceLimits(func(err *sandbox.LimitError) { p.limit.Store(err) })
	}
	go p.stderr.collect()
	go func() {
		if p.workspace != nil {
			p.workspace.WaitExits()
		} else {
			p.program.WaitExit()
		}
		close(p.exited)
	}()
	go p.supervise()
	return nil
}

// supervise waits until the program or its session ends, and ends what is left of both.
func (p *Process) supervise() {
	defer close(p.ended)
	opened, sessionEnded := p.opened, (<-chan struct{})(nil)
	stopped := false
	for running := true; running; {
		select {
		case <-opened:
			opened, sessionEnded = nil, p.Session.Done()
			continue
		case <-p.exited:
		case <-sessionEnded:
		case <-p.stop:
			stopped = !p.hasExited() && !p.hasEndedSession()
		}
		running = false
	}
	if p.hasEndedSession() && !p.hasExited() && !p.closing.Load() {
		p.reason = p.Session.Err()
	}
	uptime, pause := time.Since(p.started), time.Duration(0)
	if p.hasSession() && !stopped {
		pause = p.launcher.recordCrash(p.owner, uptime)
	}
	close(p.done)
	if stopped && p.hasSession() {
		p.Session.Close() // before the input of the program ends, so that it still gets what is being sent
	}
	p.stopProgram()
	guard.Signal(p.program.Pid(), syscall.SIGKILL) // processes that it has left in its group
	if p.workspace != nil {
		p.workspace.KillRemaining()
	}
	deadline := time.Now().Add(drainTimeout)
	_ = p.stdout.SetReadDeadline(deadline)
	p.stderr.finish(deadline)
	exit := p.reap()
	if !stopped {
		p.exit, p.hint = exit, p.findHint()
	}
	if p.hasSession() {
		p.Session.Close()
	}
	p.release()
	if pause > 0 {
		p.launcher.logExit(p, uptime, pause)
	}
}

func (p *Process) hasExited() bool { return isClosed(p.exited) }

// hasSession reports whether Session is set.
func (p *Process) hasSession() bool { return isClosed(p.opened) }

// hasEndedSession reports whether the session has ended, which it does by itself before Close.
func (p *Process) hasEndedSession() bool { return p.hasSession() && isClosed(p.Session.Done()) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// stopProgram ends the program: by the end of its input, with SIGTERM after a while, and with SIGKILL. It returns when
// the program has exited, or when the kernel does not end it.
func (p *Process) stopProgram() {
	if p.hasExited() {
		return
	}
	p.stdin.Close()
	for _, next := range []struct {
		wait   time.Duration
		signal syscall.Signal
	}{{inputGrace, syscall.SIGTERM}, {termGrace, syscall.SIGKILL}, {unkillableAfter, 0}} {
		timer := time.NewTimer(next.wait)
		select {
		case <-p.exited:
			timer.Stop()
			return
		case <-timer.C:
		}
		if next.signal != 0 {
			guard.Signal(p.program.Pid(), next.signal)
		}
	}
}

// findHint returns what the author of the configuration can write so that the program is not denied what it tried to
// do; empty for nothing.
func (p *Process) findHint() string {
	if p.workspace == nil || p.launcher.config.Sandbox.Network {
		return ""
	}
	if internet, _ := p.workspace.DeniedSockets(); internet {
		return "the sandbox of the program has no network: write sandbox { network = true }"
	}
	return ""
}

// limitText says which limit was exceeded.
func limitText(e *sandbox.LimitError) string {
	switch e.Resource {
	case sandbox.CPUShare:
		return fmt.Sprintf("%v of CPU time in %v", time.Duration(e.Limit), sandbox.CPUSharePeriod)
	case sandbox.Memory:
		return fmt.Sprintf("%v of memory", hcl.Size(e.Limit))
	}
	return fmt.Sprintf("%d %s at the same time", e.Limit, e.Resource)
}

// reap releases the ID of the program, and returns how it has ended. One that the kernel does not end is reaped when it
// does.
func (p *Process) reap() string {
	if !p.hasExited() {
		go func() {
			<-p.exited
			_, _ = p.program.Wait()
		}()
		return "was killed and does not end"
	}
	status, err := p.program.Wait()
	limit := p.limit.Load()
	switch {
	case limit != nil:
		return "was ended because it used more than " + limitText(limit)
	case err != nil:
		return "ended, and the system does not report how"
	case status.Signaled():
		return "was ended by the signal " + guard.SignalName(status.Signal())
	}
	return fmt.Sprintf("ended with exit code %d", status.ExitStatus())
}

// release closes what the process holds.
func (p *Process) release() {
	for _, f := range []*os.File{p.stdin, p.stdout} {
		if f != nil {
			f.Close()
		}
	}
	if p.stderr != nil {
		p.stderr.close()
	}
	p.workspace.Release()
}

// Done returns a channel that is closed when the session has ended, which it does with the program. The Launcher knows
// then when the next program may start.
func (p *Process) Done() <-chan struct{} { return p.done }

// Close ends the session and the program, and returns when nothing of it runs any more.
func (p *Process) Close() {
	if p.closing.CompareAndSwap(false, true) {
		close(p.stop)
	}
	<-p.ended
}

// RecordSilence records that the program runs and does not answer, so that another one replaces it.
func (p *Process) RecordSilence() {
	if isClosed(p.done) || !p.silent.CompareAndSwap(false, true) {
		return
	}
	uptime := time.Since(p.started)
	p.launcher.logSilence(p, uptime, p.launcher.recordCrash(p.owner, uptime))
}

// Stderr returns the end of what the program has written to its error output, without secrets: of at most 64 KiB.
func (p *Process) Stderr() string { return p.stderr.tail(maxStderr, p.secrets) }
