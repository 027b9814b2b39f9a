package mcp

import (
	"bytes"
	"encoding/json"
	"strconv"
	"sync"

	"hatchel/hcl/jsonscan"
)

// clientRequests are the requests to one legacy client that it has not answered yet.
type clientRequests struct {
	mu      sync.Mutex
	last    uint64                    // the number of the last request; guarded by mu
	pending map[string]*clientRequest // by id; guarded by mu
	closed  error                     // why nothing can be asked any more; guarded by mu
}

// clientRequest is one request to the client.
type clientRequest struct {
	id       string
	response chan clientResponse // buffered for the only response
}

type clientResponse struct {
	result []byte
	err    error
}

// add registers a request. If its sender stops waiting, it must call remove.
func (c *clientRequests) add() (*clientRequest, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return nil, c.closed
	}
	c.last++
	// The ids of clients are usually numbers, and some clients confuse them with those of the
	// server.
	r := &clientRequest{"ask-" + strconv.FormatUint(c.last, 10), make(chan clientResponse, 1)}
	c.pending[r.id] = r
	return r, nil
}

// remove reports whether the request was still pending. If not, its response is in r.response.
func (c *clientRequests) remove(r *clientRequest) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, pending := c.pending[r.id]
	delete(c.pending, r.id)
	return pending
}

// resolve delivers a response of the client. A response to a request that is not pending is
// ignored.
func (c *clientRequests) resolve(m *message) {
	id, _ := jsonscan.Text(m.id)
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.pending[id]
	switch {
	case r == nil:
		return
	case m.failure != nil:
		r.response <- clientResponse{err: parseClientError(m.failure)}
	default:
		r.response <- clientResponse{result: bytes.Clone(m.result)}
	}
	delete(c.pending, id)
}

// close fails all pending and future requests with cause.
func (c *clientRequests) close(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return
	}
	c.closed = cause
	for _, r := range c.pending {
		r.response <- clientResponse{err: cause}
	}
	c.pending = nil
}

// parseClientError reads the error member of a response, as far as it is well-formed.
func parseClientError(failure []byte) *ClientError {
	e := &ClientError{Code: CodeInternalError}
	json.Unmarshal(failure, e)
	return e
}
