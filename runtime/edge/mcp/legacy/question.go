package legacy

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"hatchel/hcl/jsonscan"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy/handover"
)

// disconnectCheckInterval is how often Ask checks whether the client is still connected.
const disconnectCheckInterval = time.Second

// Ask implements mcp.LegacyClient.
func (c *peerRequest) Ask(ctx context.Context, q mcp.Question) (answer []byte, err error) {
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case c.resp != nil && (c.resp.session == nil || !c.resp.AcceptsEvents()):
		return nil, mcp.ErrUnreachable
	}
	questions, record := &c.peer.questions, c.waiting()
	if record != nil && c.Suspends() {
		return nil, mcp.ErrSuspended
	}
	id, response, err := c.send(q)
	if err != nil {
		return nil, err
	}
	var suspending <-chan struct{}
	if record != nil {
		suspending = c.peer.server.core.Ending()
		if err := record.Ask(ctx, q.Key, id); err != nil {
			if questions.remove(id) {
				c.req.Send(appendCancelled(nil, id))
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
				if err := record.Answer(ctx, id, resp); err != nil {
					return nil, err
				}
			}
			return resp.Result, resp.Err
		case <-suspending:
			c.keepAsked(askedQuestion{key: q.Key, id: id, response: response})
			return nil, mcp.ErrSuspended
		case <-ctx.Done():
			if record != nil && c.Suspends() {
				continue
			}
			if !questions.remove(id) {
				resp := <-response
				return resp.Result, resp.Err
			}
			cause := context.Cause(ctx)
			if !errors.Is(cause, errSessionEnded) { // the end of the session cancels its questions
				c.req.Send(appendCancelled(nil, id))
			}
			return nil, cause
		case <-check.C:
			if c.resp != nil && c.resp.isDisconnected() && questions.remove(id) {
				return nil, mcp.ErrUnreachable
			}
		}
	}
}

// send sends a question, unless the client was asked before the call was suspended. A question of a process that
// has died is asked again, because the answer may have died with it; the first answer counts.
func (c *peerRequest) send(q mcp.Question) (id string, _ <-chan handover.Response, err error) {
	questions := &c.peer.questions
	asked, known := c.takeAsked(q.Key)
	if known && !asked.again {
		return asked.id, asked.response, nil
	}
	if c.peer.session != nil {
		id = c.peer.session.newQuestionID()
	}
	response := asked.response
	if known {
		before := questions.alias(id, asked.id)
		if before == nil { // answered meanwhile
			return asked.id, response, nil
		}
		for _, id := range before {
			c.req.Send(appendCancelled(nil, id))
		}
	} else {
		id, response, err = questions.add(id)
	}
	if err == nil && !c.req.Send(q.Append(nil, id)) {
		questions.remove(id)
		err = mcp.ErrUnreachable
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
	response chan handover.Response // buffered for the only response
}

// add registers a request and returns its id, which is a number if it is not given. If its sender
// stops waiting for the response, it must call remove.
func (c *clientRequests) add(given string) (id string, response <-chan handover.Response, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.addLocked(given)
}

func (c *clientRequests) addLocked(given string) (id string, response <-chan handover.Response, err error) {
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
	p := &pendingRequest{[]string{id}, make(chan handover.Response, 1)}
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
func (c *clientRequests) adopt(id string) (response <-chan handover.Response, adopted bool) {
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
func (c *clientRequests) resolve(id string, r handover.Response) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[id]
	switch {
	case p == nil:
		return false
	case r.Err != nil && id != p.ids[len(p.ids)-1]:
		return true
	}
	c.takeLocked(id).response <- r
	return true
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
			p.response <- handover.Response{Err: cause}
		}
	}
}
