package shell

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"hatchel/adapters/guard"
	"hatchel/adapters/program"
	"hatchel/adapters/sandbox"
)

const (
	gracePeriod     = time.Second            // between SIGTERM and SIGKILL
	drainTimeout    = 250 * time.Millisecond // for background processes that still hold the output
	unkillableAfter = time.Second            // for the kernel to end a killed program
)

// job is the running programs of one call: one, or the stages of a pipe.
type job struct {
	programs       []program.Program
	stdout, stderr *stream // stderr is nil if it is merged into stdout
	stdin          *os.File
	writing        sync.WaitGroup
	workspace      *sandbox.Workspace // nil: the programs are not confined

	limitExceeded atomic.Bool

	exited  chan struct{} // closed when every program has exited; none is reaped before
	done    chan struct{} // closed when the job waits for nothing any more
	stopped chan struct{} // closed when end returns
	stuck   chan struct{} // closed when the kernel does not end a killed program
	stop    context.CancelCauseFunc
}

// signal sends a signal to the process groups of the programs, none of which may be reaped yet.
func (j *job) signal(sig syscall.Signal) {
	for _, p := range j.programs {
		guard.Signal(p.Pid(), sig)
	}
}

// wait waits until the job has ended, and reaps its programs. If ctx ends first, the programs are stopped and it
// returns true.
func (j *job) wait(ctx context.Context) (exits []exitStatus, stopped bool) {
	j.exited, j.done = make(chan struct{}), make(chan struct{})
	j.stopped, j.stuck = make(chan struct{}), make(chan struct{})
	undo := context.AfterFunc(ctx, j.end)
	go j.watchExits()
	if j.workspace != nil {
		j.workspace.EnforceLimits(func(err *sandbox.LimitError) {
			j.limitExceeded.Store(true)
			j.stop(err)
		})
	}
	var reading sync.WaitGroup
	if j.stderr != nil {
		reading.Go(j.stderr.collect)
	}
	j.stdout.collect()
	reading.Wait()
	select {
	case <-j.exited:
	case <-j.stuck:
	}
	close(j.done)
	if stopped = !undo(); stopped {
		<-j.stopped
	}
	if j.workspace != nil {
		j.workspace.KillRemaining()
	}
	j.closeInput()
	return j.reap(), stopped
}

// watchExits waits until every program has exited. Background processes may write for a little longer.
func (j *job) watchExits() {
	if j.workspace != nil {
		j.workspace.WaitExits()
	} else {
		for _, p := range j.programs {
			p.WaitExit()
		}
	}
	j.limitReading()
	close(j.exited)
}

// limitReading ends the reading of the output after the drain timeout.
func (j *job) limitReading() {
	deadline := time.Now().Add(drainTimeout)
	j.stdout.setDeadline(deadline)
	j.stderr.setDeadline(deadline)
}

// end ends the programs: with SIGTERM, and with SIGKILL after the grace period.
func (j *job) end() {
	defer close(j.stopped)
	timer := time.NewTimer(gracePeriod)
	defer timer.Stop()
	if !j.limitExceeded.Load() {
		j.signal(syscall.SIGTERM)
		select {
		case <-j.done:
		case <-timer.C:
		}
	}
	j.signal(syscall.SIGKILL)
	j.limitReading()
	timer.Reset(unkillableAfter)
	select {
	case <-j.exited:
	case <-timer.C:
		close(j.stuck)
	}
}

// reap returns how the programs have exited. A program that the kernel does not end is reaped when it does.
func (j *job) reap() []exitStatus {
	select {
	case <-j.exited:
	default:
		go func() {
			<-j.exited
			j.reap()
		}()
		return nil
	}
	exits := make([]exitStatus, len(j.programs))
	for i, p := range j.programs {
		exits[i] = newExitStatus(p.Wait())
	}
	return exits
}

func (j *job) closeInput() {
	if j.stdin != nil {
		j.stdin.Close()
		j.writing.Wait()
	}
}

// abort ends a job of which not all programs could be started.
func (j *job) abort() {
	j.signal(syscall.SIGKILL)
	if j.workspace != nil {
		j.workspace.KillRemaining()
	}
	for _, p := range j.programs {
		_, _ = p.Wait()
	}
}

// close releases what the job holds. Texts that were made of its streams stay valid.
func (j *job) close() {
	j.closeInput()
	j.stdout.close()
	j.stderr.close()
	j.workspace.Release()
}

// exitStatus describes how a program has exited.
type exitStatus struct {
	code   int            // 128 plus the signal's number if a signal ended the program
	signal syscall.Signal // 0 for none
	err    error          // the system does not know how
}

func newExitStatus(status syscall.WaitStatus, err error) exitStatus {
	if err != nil {
		return exitStatus{code: -1, err: err}
	}
	if status.Signaled() {
		return exitStatus{code: 128 + int(status.Signal()), signal: status.Signal()}
	}
	return exitStatus{code: status.ExitStatus()}
}
