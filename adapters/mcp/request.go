package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/scrub"
	"hatchel/hcl"
	"hatchel/hcl/functions"
	"hatchel/hcl/value"
)

// request is one attempt of a call of a tool, with all values.
type request struct {
	arguments []byte // an object
	meta      []byte // an object
	call      *adapters.Call

	conversation *conversation // with the server, about the call

	traceparent string // of the attempt; empty for none
	outlives    bool   // it is that of a session, whose credentials are renewed

	mu   sync.Mutex
	last *headers // that were sent last; nil before the first; guarded by mu
}

// headers are those of one HTTP request.
type headers struct {
	call    *adapters.Call
	header  nethttp.Header
	secrets []string        // that they have
	fetched *scrub.Scrubber // of a token that is not part of the configuration; nil for none
}

// compile returns the request of a call.
func (a *action) compile(call *adapters.Call) (*request, error) {
	arguments, err := a.evalArguments(call)
	if err == nil {
		err = a.checkArguments(call, arguments)
	}
	var encoded []byte
	if err == nil {
		encoded, err = encodeArguments(arguments)
	}
	if err != nil {
		return nil, &adapters.Fault{Message: err.Error(), NotSent: true, SaysNotSent: true}
	}
	return &request{arguments: encoded, call: call}, nil
}

// checkArguments checks arguments by the pinned definition. Its error is for the model.
func (a *action) checkArguments(call *adapters.Call, arguments map[string]any) error {
	resolved, err := value.ResolveAll(arguments)
	if err != nil {
		return err
	}
	hidden := a.Arguments != nil && a.Arguments.Typed.Sensitive
	violations, err := a.pinned.Input.Check(resolved, &functions.Context{Call: call.Frame.Context}, hidden)
	if err != nil {
		return errors.New("checking the arguments of " + a.Call + " took too long")
	}
	if len(violations) == 0 {
		return nil
	}
	var list []string
	for _, violation := range violations[:min(len(violations), maxViolations)] {
		list = append(list, violation.String())
	}
	return fmt.Errorf("the server of this tool does not accept these arguments: %s", strings.Join(list, "; "))
}

// evalArguments returns the arguments of a call, with the idempotency key if the block names an argument for it.
func (a *action) evalArguments(call *adapters.Call) (map[string]any, error) {
	arguments := map[string]any{}
	if a.Arguments != nil {
		v, err := a.Arguments.Eval(call.Frame)
		if err == nil {
			v, err = value.Resolve(v)
		}
		if err != nil {
			return nil, err
		}
		var ok bool
		if arguments, ok = v.(map[string]any); !ok && v != nil {
			return nil, fmt.Errorf("the arguments must be an object, not a %s", value.Kind(v))
		}
	}
	if a.IdempotencyArgument != "" && call.Key != "" {
		arguments = maps.Clone(arguments)
		if arguments == nil {
			arguments = map[string]any{}
		}
		arguments[a.IdempotencyArgument] = call.Key
	}
	if arguments == nil {
		arguments = map[string]any{}
	}
	return arguments, nil
}

// encodeArguments returns arguments as JSON.
func encodeArguments(arguments map[string]any) ([]byte, error) {
	out, err := value.AppendJSON(make([]byte, 0, 256), arguments)
	if err != nil {
		return nil, fmt.Errorf("the arguments cannot be sent as JSON: %w", err)
	}
	return out, nil
}

// setMeta sets what the server is told of the call: its trace, of which the span is the last part, and how many servers
// of this kind it has passed.
func (r *request) setMeta(span adapters.Span) {
	if r.traceparent = r.call.Traceparent; r.traceparent != "" {
		r.traceparent = cmp.Or(span.Traceparent(), r.traceparent)
	}
	meta := append([]byte(`{"`), adapters.HopsMember...)
	meta = strconv.AppendInt(append(meta, `":`...), int64(r.call.Hops+1), 10)
	if r.traceparent != "" {
		meta = value.AppendString(append(meta, `,"traceparent":`...), r.traceparent)
		if r.call.Tracestate != "" {
			meta = value.AppendString(append(meta, `,"tracestate":`...), r.call.Tracestate)
		}
	}
	r.meta = append(meta, '}')
}

// requestKey is the key of the *request in the context of a call, and of what a session does outside of calls.
type requestKey struct{}

// again returns the request of another attempt.
func (r *request) again() *request {
	return &request{arguments: r.arguments, call: r.call, conversation: r.conversation}
}

// sentBefore returns a failure, which no longer says that nothing was sent if the server has asked something: it got
// the call before the answers, and what it did then is not known.
func (r *request) sentBefore(f *failure) *failure {
	if r.conversation.state.Asked > 0 && f.NotSent {
		f.NotSent, f.SaysNotSent, f.Change = false, false, adapters.ChangeUnknown
	}
	return f
}

// detach returns the request for what a session does outside of calls, such as listing its tools: it outlives the call,
// of which it keeps the identity of the caller if the headers depend on it. All calls share it if they do not, unless a
// person traces the call.
func (s *server) detach(call *adapters.Call) (*request, error) {
	if !s.perCaller && call.Trace == nil {
		return s.outside, nil
	}
	frame := &hcl.Frame{}
	detached := &adapters.Call{Frame: frame, Trace: call.Trace}
	if s.perCaller && call.Frame.Caller != nil {
		text, err := value.AppendJSON(nil, call.Frame.ReadCaller())
		if err != nil {
			return nil, err
		}
		members, err := value.Decode(text)
		if err != nil {
			return nil, err
		}
		caller, _ := members.(map[string]any)
		frame.Caller, detached.Owner, detached.Token = hcl.CallerMembers(caller), strings.Clone(call.Owner), call.Token
	}
	return &request{call: detached, outlives: true}, nil
}

// newHeader returns the headers of one HTTP request: those of the connection and its credentials, built anew. What
// follows the request of a call, such as its cancellation, has the same headers, because the call may be over then.
func (s *server) newHeader(ctx context.Context) (nethttp.Header, error) {
	sent, ok := ctx.Value(requestKey{}).(*request)
	if !ok {
		if s.perCaller {
			return nil, errNoCaller
		}
		sent = s.outside
	}
	last := sent.lastHeaders()
	if last == nil || sent.outlives {
		var err error
		if last, err = s.compileHeaders(ctx, sent); err != nil {
			return nil, err
		}
		sent.keepHeaders(last)
	}
	return maps.Clone(last.header), nil // whose values are not changed
}

// compileHeaders computes the headers of a request.
func (s *server) compileHeaders(ctx context.Context, sent *request) (*headers, error) {
	call := sent.call
	if sent.outlives { // each computation has the locals and the memory of a call
		copied := *call
		copied.Frame = hcl.NewFrame(ctx, s.dir, time.Now)
		copied.Frame.Caller = call.Frame.Caller
		call = &copied
	}
	r := &headers{call: call, header: nethttp.Header{"User-Agent": {s.userAgent}}}
	if err := r.AddHeaders(r.call.Frame, s.Headers); err != nil {
		return nil, err
	}
	if missing := r.missing(s.Headers.Names()); missing != "" {
		const text = "the connection %q sends the header %s, which has no value in this call"
		return nil, &adapters.Fault{Message: fmt.Sprintf(text, s.name, missing), NotSent: true}
	}
	if s.authorizer != nil {
		if err := s.authorizer.Authorize(ctx, r.call.Frame, r); err != nil {
			return nil, err
		}
	}
	if sent.traceparent != "" && r.header["Traceparent"] == nil {
		r.header["Traceparent"] = []string{sent.traceparent}
		if state := r.call.Tracestate; state != "" {
			r.header["Tracestate"] = []string{state}
		}
	}
	return r, nil
}

// errNoCaller is why nothing is sent to a server that gets the credentials of callers, outside of their calls.
var errNoCaller = errors.New("the requests of this connection have credentials of callers, and no caller is known")

// callerSpecific reports whether requests depend on the caller.
func (c *connection) callerSpecific() bool {
	return c.OnBehalf() != nil || slices.ContainsFunc(c.Headers.Entries(), func(e hcl.Entry) bool {
		return e.Value.Typed.CallerSpecific
	})
}

// scrub returns a text of the server without the credentials that were sent last, and without other tokens of the
// connection: a session may have been opened with another one.
func (s *server) scrub(r *request, text string) string {
	if last := r.lastHeaders(); last != nil {
		text = last.fetched.Text(adapters.Scrub(text, last.secrets))
	}
	return s.authorizer.Scrub(text)
}

func (r *request) keepHeaders(sent *headers) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = sent
}

// lastHeaders returns the headers that were sent last; nil before the first.
func (r *request) lastHeaders() *headers {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// renew replaces a fetched credential that the server has refused. It reports whether there is another one.
func (s *server) renew(ctx context.Context, r *request) bool {
	last := r.lastHeaders()
	return s.authorizer != nil && last != nil && s.authorizer.Renew(ctx, last)
}

// missing returns the first of these headers that has no value; empty for none.
func (r *headers) missing(names []string) string {
	i := slices.IndexFunc(names, func(name string) bool { return len(r.header[nethttp.CanonicalHeaderKey(name)]) == 0 })
	if i < 0 {
		return ""
	}
	return names[i]
}

// Call implements auth.Request.
func (r *headers) Call() *adapters.Call { return r.call }

// AddHeaders implements auth.Request.
func (r *headers) AddHeaders(f *hcl.Frame, entries *hcl.KeyValues) error {
	set := func(name string, texts []string, secret bool) error {
		for _, text := range texts {
			if !adapters.IsHeaderValue(text) {
				message := fmt.Sprintf("the header %s must not contain a line break or another control character", name)
				return &adapters.Fault{Message: message, NotSent: true}
			}
			if secret {
				r.secrets = append(r.secrets, text, strings.TrimSpace(strings.TrimPrefix(text, "Bearer ")))
			}
		}
		r.header[nethttp.CanonicalHeaderKey(name)] = texts
		return nil
	}
	return adapters.EachEntry(f, entries, "header ", adapters.Texts, set)
}

// SetParameters implements auth.Request. The connection refuses auth that has parameters.
func (r *headers) SetParameters(*hcl.Frame, *hcl.KeyValues) error {
	return &adapters.Fault{Message: "credentials of this connection are headers", NotSent: true}
}

// SetHeader implements auth.Request.
func (r *headers) SetHeader(name, text string) { r.header[name] = []string{text} }

// Header implements auth.Request.
func (r *headers) Header(name string) string { return r.header.Get(name) }

// Hide implements auth.Request.
func (r *headers) Hide(secrets ...string) { r.secrets = append(r.secrets, secrets...) }

// HideFetched implements auth.Request.
func (r *headers) HideFetched(s *scrub.Scrubber) { r.fetched = s }
