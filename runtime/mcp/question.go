package mcp

import (
	"context"
	"errors"
	"fmt"
)

// Question is a request to the client: what a call must know before it can go on.
type Question struct {
	Key    string // unique among the questions of a call
	Method string // elicitation/create, sampling/createMessage or roots/list
	Params []byte // an object as encoded JSON
}

// Questions are asked of a modern client in the place of a result. It answers by calling again, with its answers and the state.
type Questions struct {
	Ask   []Question
	State string // opaque to the client; empty for none
}

// Ask puts a question to a client of the legacy era, on the stream of the call, and waits for the answer: the result as encoded JSON, which is the
// caller's to keep. Several questions of one call may be asked at once. What the client refuses is a [*ClientError]; when ctx ends first, the client
// is told that the answer is not wanted any more and the error is why ctx ended.
func (r *CallRequest) Ask(ctx context.Context, q Question) (answer []byte, err error) {
	return nil, errNobody
}

// errNobody is why a question cannot be asked of who cannot be reached while a call is under way.
var errNobody = errors.New("the client cannot be asked while the call is under way")

// ClientError is the error that a client answered a question with.
type ClientError struct {
	Code    int
	Message string
}

func (e *ClientError) Error() string { return fmt.Sprintf("the client answered: %s (%d)", e.Message, e.Code) }
