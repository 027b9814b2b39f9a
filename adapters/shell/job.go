package shell

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	grace      = time.Second            // between asking a program to end and killing it
	drain      = 250 * time.Millisecond // for what was started in the background and still holds the output
	unkillable = time.Second            // for a killed program that the system does not let go of
)

// A job is the running programs of one call: one, or the stages of a pipe. Every program leads a session of its own, so that it has no terminal to ask
// anything at and everything below it can be ended together.
type job struct {
	programs []*os.Process
	out, err *stream // err is nil when it is merged into out
	stdin    *os.File
	writing  sync.WaitGroup
	confined *confinement
	cell     *cell // of a confined job
	began    time.Time

	exceeded atomic.Bool // set when the programs have used more than they may

	exited chan struct{} // closed when every program has ended; none is reaped before
	done   chan struct{} // closed when nothing of the job is waited for any more
	halted chan struct{} // closed when halt returns
	stuck  chan struct{} // closed when the system does not let go of a killed program
	stop   context.CancelCauseFunc
}

// wait follows the job to its end and reaps it. When ctx ends first the programs are stopped, and it reports true.
func (j *job) wait(ctx context.Context) (exits []exit, stopped bool) {
	j.exited, j.done, j.halted, j.stuck = make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	undo := context.AfterFunc(ctx, j.halt)
	go j.watch()
	var aside, meter sync.WaitGroup
	if j.confined != nil {
		meter.Go(j.meter)
	}
	if j.err != nil {
		aside.Go(j.err.collect)
	}
	j.out.collect()
	aside.Wait()
	select {
	case <-j.exited:
	case <-j.stuck:
	}
	close(j.done)
	if stopped = !undo(); stopped {
		<-j.halted
	}
	meter.Wait()
	j.sweep()
	j.unfeed()
	return j.reap(), stopped
}

// watch waits until every program has ended. What they left in the background may write for a little longer.
func (j *job) watch() {
	j.cell.awaitExits(j.programs)
	soon := time.Now().Add(drain)
	j.out.endBy(soon)
	j.err.endBy(soon)
	close(j.exited)
}

// halt ends the job: it asks, and after the grace it kills.
func (j *job) halt() {
	defer close(j.halted)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	if !j.exceeded.Load() {
		j.signal(syscall.SIGTERM)
		select {
		case <-j.done:
		case <-timer.C:
		}
	}
	j.signal(syscall.SIGKILL)
	soon := time.Now().Add(drain)
	j.out.endBy(soon)
	j.err.endBy(soon)
	timer.Reset(unkillable)
	select {
	case <-j.exited:
	case <-timer.C:
		close(j.stuck)
	}
}

// signal reaches every process of every program that did not leave its group. No program may be reaped yet.
func (j *job) signal(sig syscall.Signal) {
	for _, p := range j.programs {
		if syscall.Kill(-p.Pid, sig) != nil {
			_ = syscall.Kill(p.Pid, sig)
		}
	}
}

// reap collects how the programs ended. One that the system does not let go of is reaped whenever it does.
func (j *job) reap() []exit {
	select {
	case <-j.exited:
	default:
		go func() {
			<-j.exited
			j.reap()
		}()
		return nil
	}
	exits := make([]exit, len(j.programs))
	for i, p := range j.programs {
		state, err := p.Wait()
		exits[i] = newExit(state, err)
	}
	return exits
}

// feed gives the first program its standard input.
func (j *job) feed(data []byte) {
	j.writing.Go(func() {
		_, _ = j.stdin.Write(data) // a program that does not read all of it is free to
		j.stdin.Close()
	})
}

func (j *job) unfeed() {
	if j.stdin != nil {
		j.stdin.Close()
		j.writing.Wait()
	}
}

// kill ends a job that never came to run whole.
func (j *job) kill() {
	j.signal(syscall.SIGKILL)
	j.sweep()
	for _, p := range j.programs {
		_, _ = p.Wait()
	}
}

// close gives back what the job held. The texts made of its streams stay valid.
func (j *job) close() {
	j.unfeed()
	j.out.close()
	j.err.close()
	if j.confined != nil {
		j.confined.give(j.cell)
	}
}
