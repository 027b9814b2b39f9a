// Package process runs programs that speak MCP over their standard input and output. A program starts in the sandbox of
// its connection with an environment of its own, and nothing of it runs any more when its session is closed.
package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/mcp/client"
	"hatchel/adapters/program"
	"hatchel/adapters/sandbox"
	"hatchel/internal/backoff"
	"hatchel/internal/ctxtime"
)

// Config is the program of a connection.
type Config struct {
	Command      []string         // the program and its arguments
	Dir          string           // the working directory, absolute
	TempVars     []string         // names of variables that hold the directory of the process
	Sandbox      *sandbox.Sandbox // nil: programs have all rights of the server
	StartTimeout time.Duration    // until a session has begun
	Log          *slog.Logger

	// Env returns the environment of a program that is being started, with PATH, and the secrets in it, which are never
	// logged.
	Env func(ctx context.Context) (env program.Environment, secrets []string, err error)

	// Changed is called when what State returns has changed, by any goroutine. It must not block.
	Changed func()
}

// Launcher starts the programs of a connection. It is safe for concurrent use.
type Launcher struct {
	config Config
	lookup program.Lookup

	mu       sync.Mutex
	failures int               // starts in a row that did not lead to a session; guarded by mu
	due      time.Time         // no program starts before, for failures; guarded by mu
	crashes  map[string]*crash // by the owners of programs that have ended by themselves; guarded by mu
	restarts int               // guarded by mu
	failure  string            // of the last start, without secrets; empty if it succeeded; guarded by mu
}

// crash is what is known of the programs of an owner that have ended by themselves.
type crash struct {
	count     int       // in a row, of programs that did not run for long
	due       time.Time // no program of the owner starts before
	restarted bool      // a program was started since
}

const (
	maxFailures   = 5           // starts in a row, after which a connection has failed
	failedPause   = time.Minute // between the starts of one that has failed
	steadyAfter   = time.Minute // a program that ran for so long does not delay the next one
	maxStartDelay = time.Second // that a call waits for; it fails if the next start is later
	maxCrashes    = 1024        // owners of which is known when their next program may start
)

var pauses = backoff.Policy{First: 500 * time.Millisecond, Max: time.Minute}

// maxStarting is how many programs are being started at the same time, of all connections: programs that are started at
// once take so much CPU time from each other that none is ready in time.
const maxStarting = 4

// maxStartingTime is after which time a program that is being started makes room for the next one.
const maxStartingTime = 5 * time.Second

// Starts in progress. Those of the load of a configuration take a place of both, so that calls wait for few of them.
var (
	starting        = make(chan struct{}, maxStarting)
	startingForLoad = make(chan struct{}, maxStarting)
)

// NewLauncher returns a Launcher, which has started nothing.
func NewLauncher(c Config) *Launcher {
	return &Launcher{config: c, crashes: map[string]*crash{}}
}

// State is what is known of the programs of a connection.
type State struct {
	Restarts int    // of programs that ended by themselves
	Failure  string // why the last start did not lead to a session; empty if it did
	Failed   bool   // several starts in a row did not
}

// State returns what is known of the programs.
func (l *Launcher) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return State{Restarts: l.restarts, Failure: l.failure, Failed: l.failures >= maxFailures}
}

// Open begins the session with a program that was started, and returns promptly when its context ends. If its error
// wraps client.ErrDiscoverEnded, the program is started once more.
type Open func(ctx context.Context, t client.Transport) (*client.Session, error)

// Start starts a program for an owner and begins its session. It fails at once while the next start is not due soon.
// The error is a *adapters.Fault: nothing was sent.
func (l *Launcher) Start(ctx context.Context, owner string, open Open) (*Process, error) {
	if delay := l.untilDue(owner); delay > maxStartDelay {
		return nil, notRunning(delay, nil)
	} else if err := ctxtime.Sleep(ctx, delay); err != nil {
		return nil, notRunning(0, err)
	}
	done, err := enter(ctx, starting)
	if err != nil {
		return nil, notRunning(0, err)
	}
	defer done()
	defer time.AfterFunc(maxStartingTime, done).Stop()
	l.countRestart(owner)
	p, err := l.start(ctx, owner, open)
	if errors.Is(err, client.ErrDiscoverEnded) {
		p, err = l.start(ctx, owner, open)
	}
	if err != nil {
		if ctx.Err() == nil {
			l.recordFailure(err)
		}
		return nil, notRunning(l.untilDue(owner), err)
	}
	l.recordSession()
	return p, nil
}

// enter waits for a place, and returns what gives it back once.
func enter(ctx context.Context, places chan struct{}) (leave func(), err error) {
	select {
	case places <- struct{}{}:
		return sync.OnceFunc(func() { <-places }), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// notRunning returns the failure of a call whose program does not run.
func notRunning(delay time.Duration, cause error) error {
	f := &adapters.Fault{
		Message: "The server of this tool is not running.", Cause: cause,
		NotSent: true, SaysNotSent: true, Unavailable: true,
	}
	seconds := int((delay + time.Second - 1) / time.Second)
	switch {
	case seconds > 1:
		f.Advice = fmt.Sprintf("Try again in %d seconds.", seconds)
	default:
		f.Advice = "Try again in a second."
	}
	f.RetryAfter = time.Duration(max(seconds, 1)) * time.Second
	return f
}

// untilDue returns how long a program of an owner may not be started yet.
func (l *Launcher) untilDue(owner string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	due := l.due
	if c := l.crashes[owner]; c != nil && c.due.After(due) {
		due = c.due
	}
	return max(time.Until(due), 0)
}

// recordFailure counts a start that did not lead to a session.
func (l *Launcher) recordFailure(err error) {
	l.mu.Lock()
	l.failures++
	pause := pauses.Pause(l.failures)
	if l.failures >= maxFailures {
		pause = failedPause
	}
	l.due, l.failure = time.Now().Add(pause), err.Error()
	failures, failure := l.failures, l.failure
	l.mu.Unlock()

	attrs := []any{"error", failure, "next_start", pause}
	if started := new(StartError); errors.As(err, &started) {
		attrs = appendText(attrs, "stderr", started.stderr)
		attrs = appendText(attrs, "hint", started.hint)
	}
	if failures >= maxFailures {
		l.config.Log.Error("start of the program failed repeatedly", append(attrs, "starts", failures)...)
	} else {
		l.config.Log.Warn("start of the program failed", attrs...)
	}
	l.config.Changed()
}

// recordSession notes that a start led to a session.
func (l *Launcher) recordSession() {
	l.mu.Lock()
	l.failures, l.due, l.failure = 0, time.Time{}, ""
	l.mu.Unlock()
	l.config.Changed()
}

// countRestart notes that a program is started in place of one that has ended by itself.
func (l *Launcher) countRestart(owner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.crashes[owner]
	if l.failures > 0 || c != nil && !c.restarted {
		l.restarts++
	}
	if c != nil {
		c.restarted = true
	}
}

// recordCrash notes that a program that had a session has ended by itself, and returns the pause before the next start.
func (l *Launcher) recordCrash(owner string, uptime time.Duration) (pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.crashes[owner]
	if c == nil {
		c = new(crash)
		l.crashes[owner] = c
	}
	c.restarted = false
	if uptime >= steadyAfter {
		c.count = 0
	}
	c.count++
	pause = pauses.Pause(c.count)
	c.due = time.Now().Add(pause)
	l.forgetCrashes()
	return pause
}

// logExit logs how a program that had a session has ended by itself.
func (l *Launcher) logExit(p *Process, uptime, pause time.Duration) {
	attrs := []any{"exit", p.exit, "uptime", uptime.Round(time.Millisecond), "next_start", pause}
	if p.reason != nil {
		attrs = append(attrs, "reason", p.reason)
	}
	attrs = appendText(attrs, "stderr", p.stderr.tail(maxShownStderr, p.secrets))
	l.config.Log.Warn("program ended", appendText(attrs, "hint", p.hint)...)
	l.config.Changed()
}

// logSilence logs that a program runs and does not answer.
func (l *Launcher) logSilence(p *Process, uptime, pause time.Duration) {
	attrs := []any{"uptime", uptime.Round(time.Millisecond), "next_start", pause}
	attrs = appendText(attrs, "stderr", p.stderr.tail(maxShownStderr, p.secrets))
	l.config.Log.Warn("program does not answer and is replaced", attrs...)
	l.config.Changed()
}

// appendText adds an attribute of a line of the log unless it is empty.
func appendText(attrs []any, name, text string) []any {
	if text == "" {
		return attrs
	}
	return append(attrs, name, text)
}

// forgetCrashes bounds what is known of owners: programs that would have run for long delay no other one. The caller
// holds mu.
func (l *Launcher) forgetCrashes() {
	if len(l.crashes) <= maxCrashes {
		return
	}
	oldest := ""
	for owner, c := range l.crashes {
		if time.Since(c.due) > steadyAfter {
			delete(l.crashes, owner)
		} else if oldest == "" || c.due.Before(l.crashes[oldest].due) {
			oldest = owner
		}
	}
	if len(l.crashes) > maxCrashes {
		delete(l.crashes, oldest)
	}
}

// KeepRunning starts a program before the first call, as soon as one may start, until ctx ends. Warm starts it, and
// waits until it has a session. If restart is set, the program is started again whenever its session ends; otherwise
// KeepRunning returns when there was a session.
func (l *Launcher) KeepRunning(ctx context.Context, restart bool, warm func(context.Context) (<-chan struct{}, error)) {
	for ctxtime.Sleep(ctx, l.untilDue("")) == nil {
		done, err := enter(ctx, startingForLoad)
		if err != nil {
			return
		}
		expired := time.AfterFunc(maxStartingTime, done)
		ended, err := warm(ctx)
		expired.Stop()
		done()
		switch {
		case err == nil && !restart:
			return
		case err == nil:
			select {
			case <-ended:
			case <-ctx.Done():
				return
			}
		case l.untilDue("") == 0 && ctxtime.Sleep(ctx, failedPause) != nil: // it is not about the program
			return
		}
	}
}
