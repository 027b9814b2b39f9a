package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// Legacy serves the clients of the revisions up to 2025-11-25, which initialize a session. It is everything that this
// package knows of them. Its methods are called concurrently.
type Legacy interface {
	// Revisions returns the revisions of these clients, newest first.
	Revisions() []Revision

	// ServePost answers the packet of a POST. The version is that of the header, or "".
	ServePost(resp *Response, p *Packet, version string)

	// ServeGet sends the events of a session.
	ServeGet(w http.ResponseWriter, r *http.Request, toolset string, info *Info)

	// ServeDelete ends a session.
	ServeDelete(w http.ResponseWriter, r *http.Request, toolset string, info *Info)

	// NewPeer returns a client on a pair of streams that has not sent initialize.
	NewPeer(toolset string) LegacyPeer

	// Sessions returns the sessions over HTTP in memory, the oldest first.
	Sessions() []*SessionInfo

	// Count returns how many sessions over HTTP are in memory.
	Count() int

	// EndSession ends the session with a name, and reports false if there is none.
	EndSession(ctx context.Context, name string) bool

	// Retain ends the sessions of every identity that is not valid.
	Retain(valid func(*Identity) bool)

	// Receive handles a message of another process. It does not block.
	Receive(ctx context.Context, from string, message []byte)

	// AwaitReceived waits until all messages are handled, or ctx ends.
	AwaitReceived(ctx context.Context)

	// Shutdown waits for what runs in the background, and ends the sessions in this process. It reports false, and
	// ends none, if ctx ends first.
	Shutdown(ctx context.Context) bool
}

// LegacyPeer is a client on a pair of streams.
type LegacyPeer interface {
	// Initialize reads an initialize and appends the reply. Then ready is called whenever the subscription has
	// notifications.
	Initialize(dst []byte, m *Message, i *Info, ready func(*Subscription)) ([]byte, *Error)

	// RepeatInitialize appends the reply to another initialize of the same client.
	RepeatInitialize(dst []byte, m *Message, i *Info) []byte

	// CheckBatch returns the error for a batch if the client may not send one.
	CheckBatch() *Error

	// Resolve delivers a response of the client.
	Resolve(m *Message)

	// HandleNotification acts on a notification of the client, and reports false if it is about a request that is
	// not in progress.
	HandleNotification(m *Message) bool

	// Requests are those in progress.
	Requests() *InflightRequests

	// Client returns the client for one request, and the caller as the Handler sees it.
	Client(m *Message) (LegacyClient, *Caller)

	// Close ends the questions and the subscription of the client.
	Close()
}

// LegacyClient is the client of one request.
type LegacyClient interface {
	// Serve appends the result of a method that only legacy clients have. It reports false for any other.
	Serve(ctx context.Context, dst []byte, m *Message) (_ []byte, failed *Error, served bool)

	// Begin is called before the Handler gets a request, with the context of the request.
	Begin(ctx context.Context, req *CallRequest)

	// Explain returns the error that the client receives for one of the Handler.
	Explain(failed *Error) *Error

	// Suspend has another process continue a call that the Handler has suspended, and returns the error that ends the
	// request here.
	Suspend(ctx context.Context) *Error

	// SessionName returns the name of the session, or "".
	SessionName() string

	// LogLevel returns the index in LogLevels of the least severe level that the client is sent.
	LogLevel() int

	SuspendableClient

	// Ask is that of CallRequest.
	Ask(ctx context.Context, q Question) ([]byte, error)

	// Continues is that of CallRequest.
	Continues() bool
}

// SuspendableClient is the client of a call that may leave while the call waits for people, and return for its result
// to this process or another one.
type SuspendableClient interface {
	// Suspends reports whether the call is to be suspended instead of waiting for people.
	Suspends() bool
	// Wait runs a function in which the call waits for people; see [CallRequest.Wait].
	Wait(ctx context.Context, state func() (string, error), wait func() error) error
	// Proceed must be called before a call that has waited in another process has a new effect; see
	// [CallRequest.Proceed].
	Proceed(ctx context.Context) error
	// Detach closes the connection and asks the client to return after retry. It reports whether it has.
	Detach(retry time.Duration) bool
}

var _ SuspendableClient = (*CallRequest)(nil)

// Ask sends a question to a legacy client on the stream of the call and waits for the answer: the
// result as encoded JSON, not validated, which the caller owns. A call may ask several questions
// concurrently.
//
// The context must be that of CallTool or derived from it. If it ends first, Ask cancels the
// question, unless the session has ended, and returns the cause. If the client answers with an
// error, it is a [*ClientError]. If the client cannot be asked, or has disconnected and does not
// return, the error is [ErrUnreachable]. Within [CallRequest.Wait] it is [ErrSuspended] if the server stops
// and the client can return elsewhere. In a call that goes on, a question with the key of one that the client
// was asked before is not asked again.
func (r *CallRequest) Ask(ctx context.Context, q Question) (answer []byte, err error) {
	if r.client == nil {
		return nil, ErrUnreachable
	}
	return r.client.Ask(ctx, q)
}

// ErrSuspended reports that the call continues in another process, or will when the client returns for it.
// The Handler returns [Questions], which are not used.
var ErrSuspended = errors.New("the call continues in another process")

// Suspends reports whether the call is to be suspended instead of waiting for people.
func (r *CallRequest) Suspends() bool { return r.client != nil && r.client.Suspends() }

// Wait runs a function in which the call waits for people, for answers to its questions or something else,
// and returns its error. If the client can return for the call to another process, the call is stored
// meanwhile with the state that it is resumed with, which is empty for a call that is made again; state is
// called once, before wait. The error is [ErrSuspended] also when another process has taken the call, which
// took this one for dead, and [ErrUnavailable] when the call cannot be stored; then nothing may follow.
func (r *CallRequest) Wait(ctx context.Context, state func() (string, error), wait func() error) error {
	if r.client == nil {
		return wait()
	}
	return r.client.Wait(ctx, state, wait)
}

// Continues reports whether the call has waited for people in another process.
func (r *CallRequest) Continues() bool { return r.client != nil && r.client.Continues() }

// Proceed must be called before a call that has waited for people in another process has a new effect; Wait calls it,
// too. Until then a third process takes the call if this one ends. The error is [ErrSuspended] if it has, because it
// took this process for dead, and [ErrUnavailable] when the store does not say so; then nothing may follow.
func (r *CallRequest) Proceed(ctx context.Context) error {
	if r.client == nil {
		return nil
	}
	return r.client.Proceed(ctx)
}

// Detach closes the connection of the call, so that a long wait does not occupy it, and asks the
// client to return for the rest after retry. It reports whether it has: this needs HTTP/1.1 and a
// revision that supports it.
func (r *CallRequest) Detach(retry time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.client != nil && !r.over && r.client.Detach(retry)
}

// SessionName returns what names the session of the request in logs and traces, which is not its id: that is a
// credential. It is empty for a request without one.
func (r *CallRequest) SessionName() string {
	if r.client == nil {
		return ""
	}
	return r.client.SessionName()
}

// AppendSession appends the name of the session that the request belongs to; nothing for none. It is not
// the id, which is a credential.
func (r *CallRequest) AppendSession(dst []byte) []byte { return append(dst, r.SessionName()...) }

// Send sends a message to the caller. It reports false if the Handler has returned already.
func (r *CallRequest) Send(frame []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.wire.Notify(frame)
	}
	return !r.over
}

// Resume makes the request that of a call which has reported a progress already.
func (r *CallRequest) Resume(state string, progress float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.State, r.progress, r.reported = state, progress, progress > 0
}

// LastProgress returns the progress that was reported last.
func (r *CallRequest) LastProgress() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.progress
}

// SessionInfo is what a server knows of the session of a client over HTTP.
type SessionInfo struct {
	Name     string    // identifies the session in logs and traces. It is not the id, which is a credential
	Toolset  string    // empty for the whole server
	Owner    *Identity // without its token; nil for an unauthenticated client
	Client   json.RawMessage
	Revision Revision
	Began    time.Time
	Seen     time.Time // when this process has received the last request
	Streams  int       // connections that read events
}

// Sessions returns the sessions that this process serves, the oldest first. It may be called concurrently.
func (s *Server) Sessions() []*SessionInfo {
	if s.legacy == nil {
		return nil
	}
	return s.legacy.Sessions()
}

// EndSession ends the session with a name, as the DELETE of its client would. It reports false if this process does
// not serve it. It may be called concurrently.
func (s *Server) EndSession(ctx context.Context, name string) bool {
	return s.legacy != nil && s.legacy.EndSession(ctx, name)
}

// Receive is called with the message that another process has sent to this one, or to all. From is empty if messages to
// all may have been missed. The context ends when no more messages are received. Receive does not block.
func (s *Server) Receive(ctx context.Context, from string, message []byte) {
	if s.legacy != nil {
		s.legacy.Receive(ctx, from, message)
	}
}

// AwaitReceived waits until all that Receive has begun has ended, or ctx ends.
func (s *Server) AwaitReceived(ctx context.Context) {
	if s.legacy != nil {
		s.legacy.AwaitReceived(ctx)
	}
}
