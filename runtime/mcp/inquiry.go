package mcp

import (
	"bytes"
	"strconv"
	"sync"

	"hatchel/hcl/jsonscan"
)

// inquiries are the questions that one client of the legacy era has yet to answer.
type inquiries struct {
	mu      sync.Mutex
	last    uint64              // the number of the question asked last; guarded by mu
	waiting map[string]*inquiry // by id; guarded by mu
	closed  error               // why nothing can be asked any more; guarded by mu
}

// inquiry is one question that has been asked.
type inquiry struct {
	id       string
	answered chan answer // has room for the only answer
}

// answer is what came of a question: a result or an error.
type answer struct {
	result []byte
	err    error
}

// begin registers a question, which must be forgotten when nobody waits for its answer any more.
func (q *inquiries) begin() (*inquiry, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed != nil {
		return nil, q.closed
	}
	q.last++
	// A text, because the ids that clients give out are numbers as a rule, and some mistake one for the other.
	i := &inquiry{"ask-" + strconv.FormatUint(q.last, 10), make(chan answer, 1)}
	if q.waiting == nil {
		q.waiting = make(map[string]*inquiry)
	}
	q.waiting[i.id] = i
	return i, nil
}

// forget reports whether the question was still to be answered. If it was not, what came of it is in i.answered.
func (q *inquiries) forget(i *inquiry) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, waiting := q.waiting[i.id]
	delete(q.waiting, i.id)
	return waiting
}

// settle takes a response of the client. One to a question that was not asked, or has been answered, is ignored.
func (q *inquiries) settle(m *message) {
	id, _ := jsonscan.Text(m.id)
	q.mu.Lock()
	defer q.mu.Unlock()
	i := q.waiting[id]
	switch {
	case i == nil:
		return
	case m.failure != nil:
		i.answered <- answer{err: clientError(m.failure)}
	default:
		i.answered <- answer{result: bytes.Clone(m.result)}
	}
	delete(q.waiting, id)
}

// close ends every question, and those to come, because the client will not answer.
func (q *inquiries) close(cause error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed != nil {
		return
	}
	q.closed = cause
	for _, i := range q.waiting {
		i.answered <- answer{err: cause}
	}
	q.waiting = nil
}
