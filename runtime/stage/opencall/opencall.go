// Package opencall keeps the calls of backends open whose clients answer a question with another request. A backend
// that holds a call open is asked in a goroutine of its own. While the client answers, nobody waits for that goroutine;
// the request with the answers, which may arrive in another process, finds it by a [Ref].
package opencall

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/stage/failure"
)

// Bounds of the calls that are open while their clients answer.
const (
	maxPerConnection = 64
	maxPerCaller     = 8
	maxWait          = 5 * time.Minute
)

// Ref names an open call. The zero Ref names none.
type Ref struct {
	Process string `json:"process"`
	Name    string `json:"name"`
}

// Registry has the open calls of a process. It outlives generations, and its methods may be called concurrently.
type Registry struct {
	process *state.Process
	local   string // name of this process for others, where the store has no courier

	mu        sync.Mutex
	waiting   map[string]*call     // whose clients answer, by name; guarded by mu
	count     map[string]int       // of these, by caller and by connection; guarded by mu
	exchanges map[string]*exchange // with other processes, by id; guarded by mu
}

// NewRegistry returns a Registry without calls.
func NewRegistry(process *state.Process) *Registry {
	return &Registry{
		process: process, local: rand.Text(), waiting: map[string]*call{}, count: map[string]int{},
		exchanges: map[string]*exchange{},
	}
}

// Options are what a Registry needs of a call.
type Options struct {
	Owner      string // of the call; empty for an anonymous one
	Connection string // that the backend is asked over
	// Capable reports whether the client can answer questions that take a capability.
	Capable func(capability string) bool
	Stop    context.Context // ends the call
	// Reloaded is closed when IsValid may have changed, which reports whether the call would still be made as it is.
	Reloaded func() <-chan struct{}
	IsValid  func() bool
}

// Question is what a backend asks the client of a call that is open, or that resumes.
type Question struct {
	Questions []adapters.Question
	Resume    []byte // what the backend continues with; nil for an open call
	Open      Ref    // of an open call
}

// Outcome is what an open call comes to: a question, or the end of its backend.
type Outcome struct {
	Question *Question // nil at the end
	Output   any
	Err      error
	Report   Report
}

// Report is what a backend has written into its call.
type Report struct {
	Upstreams []adapters.UpstreamCall `json:"upstreams,omitempty"`
	Attempts  int                     `json:"attempts,omitempty"`
	Pages     int                     `json:"pages,omitempty"`
	Replaced  int                     `json:"replaced,omitempty"`
	Cut       *adapters.Cut           `json:"cut,omitempty"`
	Received  adapters.Received       `json:"received"`
}

// Backend runs a backend, which asks with an Asker and reports to a client. The report is read when it has returned.
type Backend func(context.Context, adapters.Asker, adapters.Client, *Report) (output any, err error)

// call is one call of a backend in a goroutine of its own.
type call struct {
	registry *Registry
	options  Options
	ref      Ref             // of the latest question
	ctx      context.Context // of the backend
	cancel   context.CancelCauseFunc
	asked    chan *Question         // is sent to what attends the call
	answered chan []adapters.Answer // is sent to the backend
	done     chan struct{}

	// These are set before done is closed.
	outcome Outcome
	paused  *Question // that the backend continues with in another call; nil for none

	withdrawn bool // the backend goes on without the answers of its client; guarded by registry.mu

	mu     sync.Mutex
	client adapters.Client // that attends the call; guarded by mu
}

// errPaused is what a backend gets that continues with another request.
var errPaused = errors.New("the call waits for the answers of its client")

var (
	errLeft      = errors.New("the client did not answer in time")
	errReleased  = errors.New("the call was not continued")
	errOutdated  = errors.New("the configuration was changed while the client was asked")
	errForeign   = errors.New("the process that continues the call has ended")
	errNoAnswers = errors.New("a call that is open was continued without answers")
)

// Start runs a backend whose client may have to answer with another request, and attends it: it waits until the backend
// has ended, or asks a question that the client answers with another request. It calls ended when the backend has
// ended. The backend reports to the client while it is attended. Its context has the values of ctx, and ends with ctx
// while it is attended, or when the call is not continued.
func (r *Registry) Start(
	ctx context.Context, client adapters.Client, o Options, do Backend, ended func(),
) Outcome {
	c := &call{
		registry: r, options: o, asked: make(chan *Question, 1), answered: make(chan []adapters.Answer, 1),
		done: make(chan struct{}), client: client,
	}
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(o.Stop, func() { c.cancel(context.Cause(o.Stop)) })
	go func() {
		defer ended()
		defer c.cancel(nil)
		defer unhook()
		out := &c.outcome
		out.Err = failure.Try(func() (err error) {
			out.Output, err = do(c.ctx, (*asker)(c), (*relayedClient)(c), &out.Report)
			return err
		})
		close(c.done)
	}()
	return c.attend(ctx)
}

// resume gives the backend the answers, and attends it for another request.
func (c *call) resume(ctx context.Context, answers []adapters.Answer, client adapters.Client) Outcome {
	c.setClient(client)
	c.answered <- answers
	return c.attend(ctx)
}

// attend waits until the backend has ended, or asks a question that the client answers with another request. The client
// is set already, because the backend may report at once. The call ends when ctx does.
func (c *call) attend(ctx context.Context) Outcome {
	defer c.setClient(adapters.NopClient{})
	stop := context.AfterFunc(ctx, func() { c.cancel(context.Cause(ctx)) })
	defer stop()
	select {
	case q := <-c.asked:
		return Outcome{Question: q}
	case <-c.done:
	}
	if c.paused != nil && errors.Is(c.outcome.Err, errPaused) {
		return Outcome{Question: c.paused, Report: c.outcome.Report}
	}
	return c.outcome
}

func (c *call) setClient(client adapters.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.client = client
}

// relayedClient is the client that attends a call.
type relayedClient call

// WantsProgress implements adapters.Client. The client that will attend the call is not known.
func (c *relayedClient) WantsProgress() bool { return true }

// Progress implements adapters.Client.
func (c *relayedClient) Progress(done, total float64, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.client.Progress(done, total, message)
}

// Log implements adapters.Client.
func (c *relayedClient) Log(level, logger string, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.client.Log(level, logger, data)
}

// asker asks for a backend.
type asker call

// CanAsk implements adapters.Asker.
func (a *asker) CanAsk(capability string) bool { return a.options.Capable(capability) }

// Ask implements adapters.Asker.
func (a *asker) Ask(
	ctx context.Context, questions []adapters.Question, resume []byte,
) (answers []adapters.Answer, err error) {
	c := (*call)(a)
	answers, left := make([]adapters.Answer, len(questions)), questions[:0:0]
	for i, q := range questions {
		if answers[i].Action = adapters.AnswerCancel; a.CanAsk(q.Capability()) && !c.isWithdrawn() {
			answers[i].Action, left = "", append(left, q)
		}
	}
	if len(left) == 0 {
		return answers, nil
	}
	if resume != nil {
		c.paused = &Question{Questions: questions, Resume: resume}
		return nil, errPaused
	}
	given, err := c.await(ctx, left)
	if err == nil && len(given) != len(left) {
		err = errNoAnswers
	}
	if err != nil {
		return nil, err
	}
	for i := range answers {
		if answers[i].Action == "" {
			answers[i], given = given[0], given[1:]
		}
	}
	return answers, nil
}

// await asks questions of the client, and waits for the request with the answers.
func (c *call) await(ctx context.Context, questions []adapters.Question) ([]adapters.Answer, error) {
	r, wait := c.registry, time.Duration(0)
	for _, q := range questions {
		wait = max(wait, q.Timeout)
	}
	process, err := r.processName(ctx)
	if err != nil {
		return nil, failure.StateError(err)
	}
	c.ref = Ref{process, rand.Text()} // so that an answer is never taken for one to another question
	if err := r.add(c); err != nil {
		return nil, err
	}
	wait = min(wait, maxWait)
	until, timer := time.Now().Add(wait), time.NewTimer(wait)
	defer timer.Stop()
	c.asked <- &Question{Questions: questions, Open: c.ref}
	for {
		reloaded := c.options.Reloaded()
		if !c.options.IsValid() && r.take(c.ref.Name) != nil {
			return nil, ended(errOutdated)
		}
		select {
		case answers := <-c.answered:
			return answers, nil
		case <-reloaded:
		case <-timer.C:
			if r.take(c.ref.Name) != nil {
				return nil, ended(errLeft)
			}
		case <-ctx.Done():
			if c.ctx.Err() == nil && r.withdraw(c, time.Until(until)) {
				return nil, context.Cause(ctx)
			}
			select {
			case answers := <-c.answered: // of a client that was faster
				return answers, nil
			case <-c.ctx.Done():
				r.take(c.ref.Name)
				return nil, ended(context.Cause(c.ctx))
			}
		}
	}
}

// isWithdrawn reports whether nobody attends the call any more, because its backend has withdrawn a question.
func (c *call) isWithdrawn() bool {
	c.registry.mu.Lock()
	defer c.registry.mu.Unlock()
	return c.withdrawn
}

// withdraw has a call go on, for so long, without the answers of its client, which is refused when it brings them. It
// reports false for a call that does not wait for its client.
func (r *Registry) withdraw(c *call, left time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting[c.ref.Name] != c {
		return false
	}
	c.withdrawn = true
	name := c.ref.Name
	time.AfterFunc(left, func() { r.end(name, errLeft) })
	return true
}

// ended returns the failure of a backend whose client does not continue the call.
func ended(cause error) error {
	const text = "the call ended while its client was asked a question of the backend"
	return &adapters.Fault{Message: text, Cause: cause, Change: adapters.ChangeUnknown}
}

// add makes a call one that waits for its client.
func (r *Registry) add(c *call) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.enter(c.options.Owner, c.options.Connection); err != nil {
		return err
	}
	r.waiting[c.ref.Name] = c
	return nil
}

// Enter counts a call that waits for its client without a request that continues it. Leave undoes that.
func (r *Registry) Enter(owner, connection string) (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.leave(owner, connection)
	}, r.enter(owner, connection)
}

// enter counts a call. The caller holds mu.
func (r *Registry) enter(owner, over string) error {
	caller, connection := "caller "+owner, "connection "+over
	switch {
	case r.count[caller] >= maxPerCaller:
		return tooMany("one caller", maxPerCaller)
	case r.count[connection] >= maxPerConnection:
		return tooMany("one connection", maxPerConnection)
	}
	r.count[caller]++
	r.count[connection]++
	return nil
}

// leave undoes enter. The caller holds mu.
func (r *Registry) leave(owner, connection string) {
	for _, key := range []string{"caller " + owner, "connection " + connection} {
		if r.count[key]--; r.count[key] == 0 {
			delete(r.count, key)
		}
	}
}

func tooMany(of string, limit int) error {
	const text = "too many calls of %s wait for answers of their clients (%d), so the question of the backend was " +
		"not asked"
	return &adapters.Fault{Message: fmt.Sprintf(text, of, limit), Change: adapters.ChangeUnknown}
}

// claim returns the call with a name to one of all whose clients have answered. It fails with [ErrGone] and
// errWithdrawn.
func (r *Registry) claim(name string) (*call, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.waiting[name]
	switch {
	case c == nil:
		return nil, ErrGone
	case c.withdrawn:
		return nil, errWithdrawn
	}
	r.remove(name)
	return c, nil
}

// take returns the call with a name that waits for its client, to one of all who ask; nil for none. It does not wait
// any more.
func (r *Registry) take(name string) *call {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.waiting[name]
	if c != nil {
		r.remove(name)
	}
	return c
}

// remove undoes add. The caller holds mu.
func (r *Registry) remove(name string) {
	o := r.waiting[name].options
	delete(r.waiting, name)
	r.leave(o.Owner, o.Connection)
}

// Waiting returns how many calls wait for their clients.
func (r *Registry) Waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.waiting)
}

// Continue gives an open call the answers, and attends it. A call of this process that is gone, or whose process is,
// fails with [ErrGone], and one whose backend has withdrawn the question with errWithdrawn.
func (r *Registry) Continue(
	ctx context.Context, ref Ref, answers []adapters.Answer, client adapters.Client,
) Outcome {
	process, err := r.processName(ctx)
	if err != nil {
		return Outcome{Err: failure.StateError(err)}
	}
	if ref.Process != process {
		return r.continueElsewhere(ctx, ref, answers, client)
	}
	c, err := r.claim(ref.Name)
	if err != nil {
		return Outcome{Err: err}
	}
	return c.resume(ctx, answers, client)
}

// Release ends an open call that is not continued. It does not wait for another process to end it.
func (r *Registry) Release(ctx context.Context, ref Ref) {
	if process, err := r.processName(ctx); err == nil && ref.Process != process {
		r.releaseElsewhere(ctx, ref)
		return
	}
	r.release(ref.Name)
}

func (r *Registry) release(name string) { r.end(name, errReleased) }

// end ends the call with a name that waits for its client.
func (r *Registry) end(name string, cause error) {
	if c := r.take(name); c != nil {
		c.cancel(cause)
	}
}

// ErrGone is the failure of a call that was open in a process that has stopped, or that has ended since.
var ErrGone = &adapters.Fault{
	Message: "the call was open at its backend while its client was asked, and was lost there",
	Change:  adapters.ChangeUnknown,
}

// errWithdrawn is the failure of a call whose backend has withdrawn a question before its client answered.
var errWithdrawn = &adapters.Fault{
	Message: "the backend withdrew its question before the answer came, and went on without it",
	Change:  adapters.ChangeUnknown,
}
