package mcp

import (
	"errors"
	"fmt"

	"hatchel/hcl/jsonscan"
)

// Question is a request to the client for input that a call requires.
type Question struct {
	Key    string // unique among the questions of a call
	Method string // elicitation/create, sampling/createMessage or roots/list
	Params []byte // an object as encoded JSON; nil means an empty one
}

// Append appends the question, as a JSON-RPC request if it has an id.
func (q *Question) Append(dst []byte, id string) []byte {
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
		dst = q.Ask[i].Append(append(jsonscan.AppendString(dst, q.Ask[i].Key), ':'), "")
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
