package runtime

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
)

// taskRegistry are the tasks of a server: those that this process works on, and what the store remembers of all. A task that waits for its client has no goroutine.
type taskRegistry struct {
	state *State
	owner string // this process, in the store

	mu       sync.Mutex
	onChange func(id string, members []byte) // is told what a task is now; guarded by mu
	running  map[*taskRun]struct{}           // guarded by mu
	closed   bool                            // no task begins any more; guarded by mu
	idle     chan struct{}                   // closed while nothing runs; guarded by mu

	claims atomic.Int64 // that calls of this process carry out

	saveMu sync.Mutex // held while a task is saved and told of, so that nobody is told of an older state last

	background    sync.WaitGroup
	heartbeatCtx  context.Context    // of the heartbeat; guarded by mu
	stopHeartbeat context.CancelFunc // ends the heartbeat; nil before it began; guarded by mu
	lastHeartbeat time.Time          // when this process last said that it is there; guarded by mu
}

// Why the context of a task ends.
var (
	errTaskCancelled = errors.New("the task was cancelled")
	errTaskLost      = errors.New("the task is not this process's any more")
	errTaskExpired   = errors.New("the time for which the task is kept has passed")
)

// A process that works on tasks says so again and again. One that has not for a while, and does not when it is given another chance, is taken for dead, and what it worked
// on for interrupted.
const (
	heartbeatInterval = 2 * time.Second
	leaseTTL          = 3 * heartbeatInterval
)

func newTaskRegistry(s *State) *taskRegistry {
	idle := make(chan struct{})
	close(idle)
	return &taskRegistry{state: s, owner: rand.Text(), running: map[*taskRun]struct{}{}, idle: idle}
}

// setOnChange says who is told what a task is now.
func (ts *taskRegistry) setOnChange(told func(id string, members []byte)) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.onChange = told
}

// startHeartbeat starts the heartbeat, unless it has been started.
func (ts *taskRegistry) startHeartbeat(ctx context.Context) error {
	store, _, err := ts.state.open(ctx)
	if err != nil {
		return err
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.stopHeartbeat != nil || ts.closed {
		return nil
	}
	ctx, ts.stopHeartbeat = context.WithCancel(context.WithoutCancel(ctx))
	ts.heartbeatCtx = ctx
	ts.background.Go(func() { ts.runHeartbeat(ctx, store) })
	ts.background.Go(func() {
		store.Watch(ctx, func(kind, name string) {
			if kind == "" || kind == kindTask {
				ts.onRemoteChange(ctx, store, name)
			}
			if kind != kindTask {
				ts.state.onRemoteChange(ctx, kind, name)
			}
		})
	})
	return nil
}

// runHeartbeat is the heartbeat: it says that this process is there while it works, and ends what others have left behind. What fails is tried again at the next one.
func (ts *taskRegistry) runHeartbeat(ctx context.Context, store state.Store) {
	tick := time.NewTicker(heartbeatInterval)
	defer tick.Stop()
	missed := map[string]int{} // orphans at the last beat, and their versions
	for {
		orphans, _ := store.List(ctx, state.Query{Kind: kindTask, Orphaned: true, Limit: maxRunningTasks})
		before := missed
		missed = map[string]int{}
		for _, row := range orphans {
			if before[row.Name] == row.Version {
				ts.failInterrupted(ctx, row)
			} else {
				missed[row.Name] = row.Version
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if ts.count() > 0 || ts.claims.Load() > 0 {
			ts.heartbeat(ctx, store)
		}
	}
}

// maxRunningTasks is how many tasks a process works on at once.
const maxRunningTasks = 1024

// count is how many tasks this process works on.
func (ts *taskRegistry) count() int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return len(ts.running)
}

// heartbeat says that this process is there, unless it just has.
func (ts *taskRegistry) heartbeat(ctx context.Context, store state.Store) error {
	ts.mu.Lock()
	recent := time.Since(ts.lastHeartbeat) < heartbeatInterval/2
	ts.mu.Unlock()
	if recent {
		return nil
	}
	now := time.Now()
	if err := store.Present(ctx, ts.owner, now.Add(leaseTTL)); err != nil {
		return err
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.lastHeartbeat = now
	return nil
}

// failInterrupted ends a task whose process has died.
func (ts *taskRegistry) failInterrupted(ctx context.Context, row *state.Record) error {
	t, err := readTask(row)
	if err != nil {
		return err
	}
	said := "The task was interrupted by a restart of the server."
	if t.Step != "" {
		said = "The task was interrupted by a restart of the server; whether the step \"" + t.Step + "\" took effect is unknown."
	}
	t.fail(&mcp.Error{Code: mcp.CodeInternalError, Message: said})
	_, err = ts.save(ctx, t)
	return err
}

// create remembers a new task, and makes this process the one that works on it.
func (ts *taskRegistry) create(ctx context.Context, t *task) error {
	store, _, err := ts.state.open(ctx)
	if err != nil {
		return err
	}
	var id [16]byte
	rand.Read(id[:])
	if ts.count() >= maxRunningTasks {
		return errTasksFull
	}
	now := time.Now()
	t.row = state.Record{Kind: kindTask, Name: hex.EncodeToString(id[:]), Owner: ts.owner, Expires: now.Add(time.Duration(t.TTL) * time.Millisecond), Quiet: true}
	t.Status, t.Created, t.Updated = taskWorking, now.UnixMilli(), now.UnixMilli()
	if err := t.encode(); err != nil {
		return err
	}
	if err := ts.heartbeat(ctx, store); err != nil {
		return publicError(err)
	}
	_, err = store.Add(ctx, &t.row)
	t.row.Quiet = false // who follows it is told of what becomes of it
	if errors.Is(err, state.ErrFull) {
		return errTasksFull
	}
	return publicError(err)
}

// errTasksFull is why a call cannot become a task: too many are worked on, or too much of them is remembered.
var errTasksFull = &mcp.Error{Code: mcp.CodeBusy, Message: "Too many tasks at once. Try again when some of them are done"}

// take makes this process the one that works on a task, and reports whether no other did in the meantime.
func (ts *taskRegistry) take(ctx context.Context, t *task) (bool, error) {
	store, _, err := ts.state.open(ctx)
	if err != nil {
		return false, err
	}
	if err := ts.heartbeat(ctx, store); err != nil {
		return false, err
	}
	waiting := t.row
	t.Status, t.Asked, t.row.Owner = taskWorking, nil, ts.owner
	won, err := ts.save(ctx, t)
	if errors.Is(err, state.ErrAway) {
		ts.retryReturn(store, waiting)
	}
	return won, err
}

// save is write, and tells who follows the task, and the webhooks of one that is over.
func (ts *taskRegistry) save(ctx context.Context, t *task) (bool, error) {
	ts.saveMu.Lock()
	defer ts.saveMu.Unlock()
	if err := ts.enqueueEvents(ctx, t); err != nil {
		return false, err
	}
	won, err := ts.write(ctx, t)
	if err != nil || !won {
		return false, err
	}
	ts.releaseEvents(t)
	ts.mu.Lock()
	told := ts.onChange
	ts.mu.Unlock()
	if told != nil {
		told(t.row.Name, t.appendMembers(nil, true))
	}
	return true, nil
}

// write remembers what became of a task, and reports whether nobody else did in the meantime.
func (ts *taskRegistry) write(ctx context.Context, t *task) (bool, error) {
	store, _, err := ts.state.open(ctx)
	if err != nil {
		return false, err
	}
	t.Updated = max(t.Updated, time.Now().UnixMilli())
	if err := t.encode(); err != nil {
		return false, err
	}
	return store.Replace(ctx, &t.row)
}

// find returns a task of a caller.
func (ts *taskRegistry) find(ctx context.Context, id string, c *mcp.Caller) (*task, error) {
	store := ts.state.current()
	if store == nil {
		return nil, mcp.UnknownTask(id)
	}
	row, err := store.Record(ctx, kindTask, id)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, mcp.UnknownTask(id)
	}
	t, err := readTask(row)
	if err != nil {
		return nil, err
	}
	if !t.belongs(c) {
		return nil, mcp.UnknownTask(id)
	}
	return t, nil
}

// start has a segment run on a goroutine of its own, for as long as the task is kept. It reports false when the server is being stopped.
func (ts *taskRegistry) start(s *taskRun) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.closed {
		return false
	}
	var end context.CancelFunc
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(s.ctx))
	s.ctx, end = context.WithDeadlineCause(s.ctx, s.task.row.Expires, errTaskExpired)
	if len(ts.running) == 0 {
		ts.idle = make(chan struct{})
	}
	ts.running[s] = struct{}{}
	go func() {
		defer ts.remove(s)
		defer s.cancel(nil)
		defer end()
		s.run()
	}()
	return true
}

func (ts *taskRegistry) remove(s *taskRun) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.running, s)
	if len(ts.running) == 0 {
		close(ts.idle)
	}
}

// stop ends the work on a task, if it is this process that works on it.
func (ts *taskRegistry) stop(id string, cause error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for s := range ts.running {
		if s.task.row.Name == id {
			s.cancel(cause)
		}
	}
}

// drain waits until nothing runs, or ctx ends.
func (ts *taskRegistry) drain(ctx context.Context) error {
	ts.mu.Lock()
	idle := ts.idle
	ts.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// close lets no task begin any more, ends those that run, and says that this process is gone.
func (ts *taskRegistry) close() {
	ts.mu.Lock()
	ts.closed = true
	for s := range ts.running {
		s.cancel(errStopped)
	}
	idle, beat := ts.idle, ts.stopHeartbeat
	ts.stopHeartbeat = nil
	ts.mu.Unlock()
	waitUntil(idle, forceStopAfter, nil)
	if beat != nil {
		beat()
		ts.background.Wait()
	}
}
