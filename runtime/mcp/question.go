package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"hatchel/hcl/jsonscan"
)

// Question is a request to the client for input that a call requires.
type Question struct {
	Key    string // unique among the questions of a call
	Method string // elicitation/create, sampling/createMessage or roots/list
	Params []byte // an object as encoded JSON; nil means an empty one
}

// append appends the question, as a JSON-RPC request if it has an id.
func (q *Question) append(dst []byte, id string) []byte {
	if id != "" {
		dst = append(jsonscan.AppendString(append(dst, `{"jsonrpc":"2.0","id":`...), id), ',')
	} else {
		dst = append(dst, '{')
	}
	dst = append(jsonscan.AppendString(append(dst, `"method":`...), q.Method), `,"params":`...)
	if q.Params == nil { // some clients require params
		return append(dst, "{}}"...)
	}
	return append(append(dst, q.Params...), '}')
}

// Questions is the result that asks a modern client for input. The client repeats the call with its
// answers and the state. Ask, State or both are set.
type Questions struct {
	Ask   []Question
	State string // opaque to the client
}

// appendResult appends the result that asks the questions.
func (q *Questions) appendResult(dst []byte, server *Info) []byte {
	dst = append(dst, `{"resultType":"input_required"`...)
	for i := range q.Ask {
		if i == 0 {
			dst = append(dst, `,"inputRequests":{`...)
		} else {
			dst = append(dst, ',')
		}
		dst = q.Ask[i].append(append(jsonscan.AppendString(dst, q.Ask[i].Key), ':'), "")
	}
	if len(q.Ask) > 0 {
		dst = append(dst, '}')
	}
	return server.endResult(AppendMember(dst, "requestState", q.State), Revision20260728)
}

// ErrUnreachable reports that the client cannot be asked: it does not accept events, it is modern,
// so that questions are results, or it has disconnected.
var ErrUnreachable = errors.New("the client cannot be asked while it waits for the reply")

// ClientError is an error with which the client answered a question.
type ClientError struct {
	Code    int
	Message string
}

func (e *ClientError) Error() string {
	return fmt.Sprintf("the client answered: %s (%d)", e.Message, e.Code)
}

// disconnectCheckInterval is how often Ask checks whether the client is still connected.
const disconnectCheckInterval = time.Second

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
	if r.wire == nil || r.Caller.Revision.Modern() {
		return nil, ErrUnreachable
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	requests := r.wire.clientRequests()
	if requests == nil {
		return nil, ErrUnreachable
	}
	record := r.waiting()
	if record != nil && r.Suspends() {
		return nil, ErrSuspended
	}
	id, response, err := r.ask(requests, q)
	if err != nil {
		return nil, err
	}
	var suspending <-chan struct{}
	if record != nil {
		suspending = r.wire.suspending()
		if err := record.ask(ctx, q.Key, id); err != nil {
			if requests.remove(id) {
				r.send(appendCancelled(nil, id))
			}
			return nil, err
		}
	}
	check := time.NewTicker(disconnectCheckInterval)
	defer check.Stop()
	for {
		select {
		case resp := <-response:
			if record != nil {
				if err := record.answer(ctx, id, resp); err != nil {
					return nil, err
				}
			}
			return resp.result, resp.err
		case <-suspending:
			r.leaveAsked(askedQuestion{key: q.Key, id: id, response: response})
			return nil, ErrSuspended
		case <-ctx.Done():
			if isClosed(suspending) {
				continue
			}
			if !requests.remove(id) {
				resp := <-response
				return resp.result, resp.err
			}
			cause := context.Cause(ctx)
			if !errors.Is(cause, errSessionEnded) { // the end of the session cancels its questions
				r.send(appendCancelled(nil, id))
			}
			return nil, cause
		case <-check.C:
			if r.wire.disconnected() && requests.remove(id) {
				return nil, ErrUnreachable
			}
		}
	}
}

// ask sends a question, unless the client was asked before the call was suspended. A question of a process that
// has died is asked again, because the answer may have died with it; the first answer counts.
func (r *CallRequest) ask(requests *clientRequests, q Question) (id string, _ <-chan clientResponse, err error) {
	asked, known := r.takeAsked(q.Key)
	if known && !asked.again {
		return asked.id, asked.response, nil
	}
	if r.peer != nil && r.peer.session != nil {
		id = r.peer.session.newQuestionID()
	}
	response := asked.response
	if known {
		before := requests.alias(id, asked.id)
		if before == nil { // answered meanwhile
			return asked.id, response, nil
		}
		for _, id := range before {
			r.send(appendCancelled(nil, id))
		}
	} else {
		id, response, err = requests.add(id)
	}
	if err == nil && !r.send(q.append(nil, id)) {
		requests.remove(id)
		err = ErrUnreachable
	}
	return id, response, err
}

func appendCancelled(dst []byte, id string) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`...)
	return append(jsonscan.AppendString(dst, id), "}}"...)
}

// clientRequests are the requests to one legacy client that it has not answered yet.
type clientRequests struct {
	mu      sync.Mutex
	last    uint64                     // the number of the last request without an id; guarded by mu
	pending map[string]*pendingRequest // by id; guarded by mu
	closed  error                      // why nothing can be asked any more; guarded by mu
}

// pendingRequest is a request that may have been sent several times, with different ids, the last one last.
type pendingRequest struct {
	ids      []string
	response chan clientResponse // buffered for the only response
}

type clientResponse struct {
	result []byte
	err    error
}

// add registers a request and returns its id, which is a number if it is not given. If its sender
// stops waiting for the response, it must call remove.
func (c *clientRequests) add(given string) (id string, response <-chan clientResponse, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.addLocked(given)
}

func (c *clientRequests) addLocked(given string) (id string, response <-chan clientResponse, err error) {
	if c.closed != nil {
		return "", nil, c.closed
	}
	if id = given; id == "" {
		c.last++
		id = questionPrefix + strconv.FormatUint(c.last, 10)
	}
	if c.pending == nil {
		c.pending = make(map[string]*pendingRequest)
	}
	p := &pendingRequest{[]string{id}, make(chan clientResponse, 1)}
	c.pending[id] = p
	return id, p.response, nil
}

// alias gives a pending request one more id, and returns those before; nil if the request is not pending.
func (c *clientRequests) alias(id, of string) (before []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[of]
	if p == nil {
		return nil
	}
	before = slices.Clone(p.ids)
	p.ids = append(p.ids, id)
	c.pending[id] = p
	return before
}

// takeLocked removes a request with all its ids, and returns it; nil if it is not pending.
func (c *clientRequests) takeLocked(id string) *pendingRequest {
	p := c.pending[id]
	if p != nil {
		for _, id := range p.ids {
			delete(c.pending, id)
		}
	}
	return p
}

// remove reports whether the request was still pending. If not, there is a response.
func (c *clientRequests) remove(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.takeLocked(id) != nil
}

// adopt registers a request that another process has sent. It reports false if it is registered.
func (c *clientRequests) adopt(id string) (response <-chan clientResponse, adopted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending[id] != nil {
		return nil, false
	}
	_, response, err := c.addLocked(id)
	return response, err == nil
}

// resolve delivers the response of the client to the request with an id. It reports false for a request
// that is not pending. A client may answer with an error to a request that was cancelled and sent again: that is
// no response.
func (c *clientRequests) resolve(id string, r clientResponse) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[id]
	switch {
	case p == nil:
		return false
	case r.err != nil && id != p.ids[len(p.ids)-1]:
		return true
	}
	c.takeLocked(id).response <- r
	return true
}

// newClientResponse returns the response of the client with this result or failure, as encoded JSON.
func newClientResponse(result, failure []byte) clientResponse {
	if failure != nil {
		return clientResponse{err: parseClientError(failure)}
	}
	return clientResponse{result: bytes.Clone(result)}
}

// close fails all pending and future requests with cause.
func (c *clientRequests) close(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return
	}
	c.closed = cause
	for id := range c.pending {
		if p := c.takeLocked(id); p != nil {
			p.response <- clientResponse{err: cause}
		}
	}
}

// parseClientError reads the error member of a response, as far as it is well-formed.
func parseClientError(failure []byte) *ClientError {
	e := &ClientError{Code: CodeInternalError}
	json.Unmarshal(failure, e)
	return e
}
