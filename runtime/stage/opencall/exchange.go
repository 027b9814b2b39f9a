package opencall

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/hcl/value"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/stage/elicit"
)

// message is what one process tells another about an open call.
type message struct {
	OpenCall kind   `json:"open_call"`
	Name     string `json:"name,omitempty"` // of the open call
	ID       string `json:"id,omitempty"`   // of the exchange

	Answers   json.RawMessage `json:"answers,omitempty"`
	Questions json.RawMessage `json:"questions,omitempty"`
	Resume    []byte          `json:"resume,omitempty"`
	Open      *Ref            `json:"open,omitempty"`
	Output    json.RawMessage `json:"output,omitempty"`
	Fault     *fault          `json:"fault,omitempty"`
	Report    *Report         `json:"report,omitempty"`

	Done   float64         `json:"done,omitempty"`
	Total  float64         `json:"total,omitempty"`
	Text   string          `json:"text,omitempty"`
	Level  string          `json:"level,omitempty"`
	Logger string          `json:"logger,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
}

// kind is what a message is about.
type kind string

const (
	kindContinue kind = "continue" // a client has answered in the sending process
	kindRelease  kind = "release"  // the call is not continued
	kindCancel   kind = "cancel"   // the client that attends the call has left
	kindProgress kind = "progress"
	kindLog      kind = "log"
	kindAsked    kind = "asked" // the backend asks a question
	kindDone     kind = "done"  // the backend has ended
	kindGone     kind = "gone"  // the call is not open
	kindProbe    kind = "probe" // ignored; Send reports whether the process exists
)

// messagePrefix is the beginning of every message, which tells it from those about sessions.
var messagePrefix = []byte(`{"open_call":`)

// fault is a failure of a backend.
type fault struct {
	Fault  *adapters.Fault `json:"fault,omitempty"` // without its cause; nil for another error
	Cause  string          `json:"cause,omitempty"` // or the text of the other error
	Change adapters.Change `json:"change"`
}

func newFault(err error) *fault {
	f := &fault{Change: adapters.ChangeOf(err)}
	known, ok := errors.AsType[*adapters.Fault](err)
	if !ok {
		f.Cause = err.Error()
		return f
	}
	without := *known
	if f.Fault, without.Cause = &without, nil; known.Cause != nil {
		f.Cause = known.Cause.Error()
	}
	return f
}

func (f *fault) error() error {
	if f.Fault == nil {
		return adapters.WithChange(errors.New(f.Cause), f.Change)
	}
	if f.Cause != "" {
		f.Fault.Cause = errors.New(f.Cause)
	}
	return adapters.WithChange(f.Fault, f.Change)
}

const (
	// sendTimeout is how long a message waits for the store.
	sendTimeout = 10 * time.Second
	// probeInterval is how often a process that continues a call elsewhere checks whether that process exists.
	probeInterval = 5 * time.Second
	// progressInterval is the time between two progress messages to another process.
	progressInterval = 500 * time.Millisecond
)

// exchange is what this process does with another one for a call.
type exchange struct {
	cancel context.CancelCauseFunc // ends the call that is open here; nil where it is open elsewhere
	client adapters.Client         // of the call that is open elsewhere
	result chan *message           // the last message about it, buffered
	mu     sync.Mutex              // held while client is used
}

// courier returns what carries messages to other processes; nil where there are none.
func (r *Registry) courier(ctx context.Context) (state.Courier, error) {
	store, err := r.process.Store(ctx)
	if err != nil {
		return nil, err
	}
	courier, _ := store.(state.Courier)
	return courier, nil
}

// processName returns the name of this process.
func (r *Registry) processName(ctx context.Context) (string, error) {
	courier, err := r.courier(ctx)
	if courier == nil || err != nil {
		return r.local, err
	}
	return courier.Name(), nil
}

// send sends a message to another process. It returns state.ErrNoReceiver if there is none.
func (r *Registry) send(ctx context.Context, to string, m *message) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
	defer cancel()
	courier, err := r.courier(ctx)
	if err != nil {
		return err
	}
	if courier == nil {
		return state.ErrNoReceiver
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(m); err != nil {
		return err
	}
	return courier.Send(ctx, to, b.Bytes())
}

// begin registers an exchange. End must be called.
func (r *Registry) begin(id string, e *exchange) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exchanges[id] = e
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.exchanges, id)
	}
}

func (r *Registry) exchange(id string) *exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.exchanges[id]
}

// continueElsewhere is Continue for a call that is open in another process.
func (r *Registry) continueElsewhere(
	ctx context.Context, ref Ref, answers []adapters.Answer, client adapters.Client,
) Outcome {
	frozen, err := elicit.FreezeAnswers(answers)
	if err != nil {
		return Outcome{Err: err}
	}
	id, e := rand.Text(), &exchange{client: client, result: make(chan *message, 1)}
	end := r.begin(id, e)
	defer func() {
		end()
		e.mu.Lock() // so that nothing uses the client any more
		e.client = adapters.NopClient{}
		e.mu.Unlock()
	}()
	err = r.send(ctx, ref.Process, &message{OpenCall: kindContinue, Name: ref.Name, ID: id, Answers: frozen})
	if err != nil {
		return Outcome{Err: gone(err)}
	}
	probe := time.NewTicker(probeInterval)
	defer probe.Stop()
	for {
		select {
		case m := <-e.result:
			return m.read()
		case <-probe.C:
			err := r.send(ctx, ref.Process, &message{OpenCall: kindProbe})
			if errors.Is(err, state.ErrNoReceiver) {
				return Outcome{Err: gone(err)}
			}
		case <-ctx.Done():
			err := r.send(ctx, ref.Process, &message{OpenCall: kindCancel, ID: id})
			return Outcome{Err: ended(errors.Join(context.Cause(ctx), err))}
		}
	}
}

// gone is ErrGone with a cause.
func gone(cause error) error {
	f := *ErrGone
	f.Cause = cause
	return &f
}

// read returns what the last message about a call says.
func (m *message) read() (out Outcome) {
	if m.Report != nil {
		out.Report = *m.Report
	}
	switch {
	case m.OpenCall == kindGone:
		out.Err = ErrGone
	case m.OpenCall == kindAsked:
		out.Question = &Question{Resume: m.Resume}
		if m.Open != nil {
			out.Question.Open = *m.Open
		}
		out.Question.Questions, out.Err = elicit.ThawQuestions(m.Questions)
	case m.Fault != nil:
		out.Err = m.Fault.error()
	default:
		out.Output, out.Err = elicit.Thaw(m.Output, func(int64) error { return nil }) // the message was read
	}
	return out
}

func (r *Registry) releaseElsewhere(ctx context.Context, ref Ref) {
	r.process.Go(func(context.Context) {
		_ = r.send(context.WithoutCancel(ctx), ref.Process, &message{OpenCall: kindRelease, Name: ref.Name})
	})
}

// Receive handles a message of another process, and reports whether it is one about an open call. It does not block.
func (r *Registry) Receive(from string, text []byte) bool {
	if !bytes.HasPrefix(text, messagePrefix) {
		return false
	}
	m := new(message)
	if json.Unmarshal(text, m) != nil {
		return true
	}
	switch m.OpenCall {
	case kindContinue:
		r.process.Go(func(ctx context.Context) { r.serve(ctx, from, m) })
	case kindRelease:
		r.release(m.Name)
	case kindCancel:
		if e := r.exchange(m.ID); e != nil && e.cancel != nil {
			e.cancel(errForeign)
		}
	case kindProgress, kindLog:
		if e := r.exchange(m.ID); e != nil && e.client != nil {
			e.report(m)
		}
	case kindAsked, kindDone, kindGone:
		if e := r.exchange(m.ID); e != nil && e.result != nil {
			select {
			case e.result <- m:
			default:
			}
		}
	}
	return true
}

// report tells the client what another process reports.
func (e *exchange) report(m *message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if m.OpenCall == kindLog {
		e.client.Log(m.Level, m.Logger, m.Data)
		return
	}
	e.client.Progress(m.Done, m.Total, m.Text)
}

// serve continues a call that is open here for a client of another process.
func (r *Registry) serve(ctx context.Context, to string, m *message) {
	c, err := r.claim(m.Name)
	if err != nil {
		reply := &message{OpenCall: kindGone, ID: m.ID}
		if errors.Is(err, errWithdrawn) {
			reply.OpenCall, reply.Fault = kindDone, newFault(err)
		}
		_ = r.send(ctx, to, reply)
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer r.begin(m.ID, &exchange{cancel: cancel})()
	answers, err := elicit.ThawAnswers(m.Answers, func(int64) error { return nil })
	if err != nil {
		c.cancel(err)
	}
	out := c.resume(ctx, answers, &remoteClient{registry: r, ctx: ctx, to: to, id: m.ID, gone: cancel})
	q, reply := out.Question, &message{OpenCall: kindDone, ID: m.ID, Report: &out.Report}
	switch {
	case out.Err != nil:
		reply.Fault = newFault(out.Err)
	case q != nil:
		reply.OpenCall, reply.Resume, reply.Open = kindAsked, q.Resume, &q.Open
		reply.Questions, err = elicit.FreezeQuestions(q.Questions)
	default:
		reply.Output, err = elicit.AppendFrozen(nil, out.Output)
		if form, ok := errors.AsType[*value.FormError](err); ok {
			const text = "the call succeeded, but its result has the wrong form: "
			err = &adapters.Fault{Message: text + form.Text, Change: adapters.ChangeDone}
		}
	}
	if err != nil && reply.Fault == nil {
		reply.OpenCall, reply.Fault = kindDone, newFault(err)
	}
	if err := r.send(ctx, to, reply); err != nil && q != nil {
		r.release(q.Open.Name)
	}
}

// remoteClient is a client that waits in another process. Its messages are sent one after the other, and what comes
// before the one before is sent is dropped.
type remoteClient struct {
	registry *Registry
	ctx      context.Context
	to, id   string
	gone     context.CancelCauseFunc

	mu   sync.Mutex
	busy bool      // a message is being sent; guarded by mu
	last time.Time // of the last progress; guarded by mu
}

// WantsProgress implements adapters.Client.
func (c *remoteClient) WantsProgress() bool { return true }

// Progress implements adapters.Client.
func (c *remoteClient) Progress(done, total float64, text string) {
	c.mu.Lock()
	recent := time.Since(c.last) < progressInterval
	if !recent {
		c.last = time.Now()
	}
	c.mu.Unlock()
	if !recent {
		c.send(&message{OpenCall: kindProgress, ID: c.id, Done: done, Total: total, Text: text})
	}
}

// Log implements adapters.Client.
func (c *remoteClient) Log(level, logger string, data []byte) {
	c.send(&message{OpenCall: kindLog, ID: c.id, Level: level, Logger: logger, Data: bytes.Clone(data)})
}

func (c *remoteClient) send(m *message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy {
		return
	}
	c.busy = c.registry.process.Go(func(context.Context) {
		err := c.registry.send(c.ctx, c.to, m)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.busy = false; errors.Is(err, state.ErrNoReceiver) {
			c.gone(errForeign)
		}
	})
}
