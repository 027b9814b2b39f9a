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
	last    uint64                         // the number of the last request; guarded by mu
	pending map[string]chan clientResponse // buffered for the only response, by id; guarded by mu
	closed  error                          // why nothing can be asked any more; guarded by mu
}

type clientResponse struct {
	result []byte
	err    error
}

// add registers a request and returns its id. If its sender stops waiting for the response, it must
// call remove.
func (c *clientRequests) add() (id string, response <-chan clientResponse, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return "", nil, c.closed
	}
	c.last++
	// The ids of clients are usually numbers, and some clients confuse them with those of the
	// server.
	id = "ask-" + strconv.FormatUint(c.last, 10)
	pending := make(chan clientResponse, 1)
	c.pending[id] = pending
	return id, pending, nil
}

// remove reports whether the request was still pending. If not, there is a response.
func (c *clientRequests) remove(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, pending := c.pending[id]
	delete(c.pending, id)
	return pending
}

// resolve delivers a response of the client. A response to a request that is not pending is
// ignored.
func (c *clientRequests) resolve(m *message) {
	id, _ := jsonscan.Text(m.id)
	c.mu.Lock()
	defer c.mu.Unlock()
	response := c.pending[id]
	switch {
	case response == nil:
		return
	case m.failure != nil:
		response <- clientResponse{err: parseClientError(m.failure)}
	default:
		response <- clientResponse{result: bytes.Clone(m.result)}
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
	for _, response := range c.pending {
		response <- clientResponse{err: cause}
	}
	c.pending = nil
}

// parseClientError reads the error member of a response, as far as it is well-formed.
func parseClientError(failure []byte) *ClientError {
	e := &ClientError{Code: CodeInternalError}
	json.Unmarshal(failure, e)
	return e
}
