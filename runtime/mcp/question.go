package mcp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"hatchel/hcl/jsonscan"
)

// Question is a request to the client: what a call must know before it can go on.
type Question struct {
	Key    string // unique among the questions of a call
	Method string // elicitation/create, sampling/createMessage or roots/list
	Params []byte // an object as encoded JSON; nil is an empty one
}

// append appends the question as the client reads it: a request of JSON-RPC if it has an id.
func (q *Question) append(dst []byte, id string) []byte {
	if id != "" {
		dst = append(jsonscan.AppendString(append(dst, `{"jsonrpc":"2.0","id":`...), id), ',')
	} else {
		dst = append(dst, '{')
	}
	dst = append(jsonscan.AppendString(append(dst, `"method":`...), q.Method), `,"params":`...)
	if q.Params == nil { // there are clients that cannot read a question without
		return append(dst, "{}}"...)
	}
	return append(append(dst, q.Params...), '}')
}

// Questions are asked of a modern client in the place of a result. It answers by calling again, with its answers and the state. At least one of Ask
// and State is not empty.
type Questions struct {
	Ask   []Question
	State string // opaque to the client; empty for none
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
	return server.end(appendMember(dst, "requestState", q.State))
}

// answers reads what a modern caller says to the questions of before.
func (m *message) answers(req *CallRequest) *Error {
	if m.inputResponses != nil && m.inputResponses[0] != '{' {
		return errorf(CodeInvalidParams, "params.inputResponses must be an object")
	}
	req.Answers = m.inputResponses
	if m.requestState != nil {
		var ok bool
		if req.State, ok = jsonscan.Text(m.requestState); !ok {
			return errorf(CodeInvalidParams, "params.requestState must be a string")
		}
		if req.State == "" { // to take it for none would begin the call anew, and do again what was done
			return InvalidState()
		}
	}
	return nil
}

// ErrUnreachable is why a question cannot be put to a client: it takes no events, it belongs to the modern era, in which questions are results, or it
// has gone.
var ErrUnreachable = errors.New("the client cannot be asked while it waits for the reply")

// ClientError is the error that a client answered a question with.
type ClientError struct {
	Code    int
	Message string
}

func (e *ClientError) Error() string {
	return fmt.Sprintf("the client answered: %s (%d)", e.Message, e.Code)
}

// clientError reads the error of a response.
func clientError(failure []byte) *ClientError {
	e := &ClientError{Code: CodeInternalError}
	if code, ok := jsonscan.Lookup(failure, "code"); ok {
		if n, err := strconv.Atoi(string(code)); err == nil {
			e.Code = n
		}
	}
	if said, ok := jsonscan.Lookup(failure, "message"); ok {
		e.Message, _ = jsonscan.Text(said)
	}
	return e
}

// Ask puts a question to a client of the legacy era, on the stream of the call, and waits for the answer: the result as encoded JSON, of
// whatever shape, which is the caller's to keep. Several questions of one call may be asked at once. The context is the one that CallTool was given, or
// comes from it: when it ends first, the client is told that no answer is wanted any more, unless its session has ended, and the error is the cause. An error that the client
// answers with is a [*ClientError]; [ErrUnreachable] is what there is to say of a client that cannot be asked, or that has gone
// and does not come back.
func (r *CallRequest) Ask(ctx context.Context, q Question) (answer []byte, err error) {
	if r.wire == nil || r.Caller.Revision.Modern() {
		return nil, ErrUnreachable
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	asked := r.wire.asked()
	if asked == nil {
		return nil, ErrUnreachable
	}
	i, err := asked.begin()
	if err != nil {
		return nil, err
	}
	if !r.say(q.append(nil, i.id)) {
		asked.forget(i)
		return nil, ErrUnreachable
	}
	look := time.NewTicker(oftenEnough)
	defer look.Stop()
	for {
		select {
		case said := <-i.answered:
			return said.result, said.err
		case <-ctx.Done():
			if !asked.forget(i) {
				said := <-i.answered
				return said.result, said.err
			}
			cause := context.Cause(ctx)
			if !errors.Is(cause, errEnded) { // with its session a client is rid of all questions
				r.say(append(jsonscan.AppendString([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`), i.id), "}}"...))
			}
			return nil, cause
		case <-look.C:
			if r.wire.away() && asked.forget(i) {
				return nil, ErrUnreachable
			}
		}
	}
}

// oftenEnough is how often who waits for an answer looks whether there is still somebody to give it.
const oftenEnough = time.Second
