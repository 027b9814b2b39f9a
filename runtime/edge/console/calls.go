package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"hatchel/hcl/eventkind"
	"hatchel/internal/digest"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/operator"
	"hatchel/runtime/observe/event"
)

const callsPath = "/console/calls"

// callEvent is what the pages of calls read of an event.
type callEvent struct {
	Time     time.Time       `json:"time"`
	Tool     string          `json:"tool"`
	ID       string          `json:"tool_call_id"`
	Input    json.RawMessage `json:"input"`
	Caller   callerName      `json:"caller"`
	TraceID  string          `json:"trace_id"`
	Step     string          `json:"step"`
	Kind     string          `json:"kind"`
	Target   string          `json:"connection"`
	Duration float64         `json:"ms"`
	Outcome  string          `json:"outcome"`
	Output   json.RawMessage `json:"output"`
	Error    string          `json:"error"`
	Rule     string          `json:"rule"`
	Rows     int             `json:"rows"`
	Attempts int             `json:"attempts"`
	Approval struct {
		ID     string `json:"id"`
		CallID string `json:"tool_call_id"` // of the call that has requested it
	} `json:"approval"`
}

// callerName is who makes a call, for people.
type callerName struct {
	Subject string `json:"subject"`
	Client  string `json:"client"`
}

// callView is one call, as its events tell it.
type callView struct {
	Began, Ended callEvent // zero for what is not known
	Steps        []callEvent
	Approval     string // that the call has requested; empty for none
	Decided      bool   // the Approval
}

// ID returns the ID of the call.
func (v *callView) ID() string { return v.firstEvent().ID }

// Tool returns the name of the tool.
func (v *callView) Tool() string { return v.firstEvent().Tool }

// firstEvent returns the first event of the call that is known.
func (v *callView) firstEvent() callEvent {
	switch {
	case v.Began.ID != "":
		return v.Began
	case len(v.Steps) > 0:
		return v.Steps[0]
	}
	return v.Ended
}

// Waits reports whether the call, or the same call made again, waits for its approval.
func (v *callView) Waits() bool {
	return v.Approval != "" && !v.Decided && (v.Ended.Outcome == "" || v.Ended.Outcome == audit.Asked)
}

// State returns the outcome of the call, or what it does.
func (v *callView) State() condition {
	if v.Waits() {
		return waitsForApproval
	}
	if v.Ended.Outcome == "" {
		return condition{"off", "running"}
	}
	return stateOf(v.Ended.Outcome)
}

// Waited returns how long the call has waited for people, which its duration leaves out; empty for a call that has not.
func (v *callView) Waited() string {
	waited := v.Ended.Time.Sub(v.Began.Time) - milliseconds(v.Ended.Duration)
	if v.Began.ID == "" || v.Ended.ID == "" || waited < 10*time.Millisecond {
		return ""
	}
	return duration(waited.Round(time.Millisecond))
}

// callKinds are the events that calls consist of.
var callKinds = eventkind.Of(eventkind.ToolCall, eventkind.ToolStep, eventkind.ToolResult,
	eventkind.ApprovalRequested, eventkind.ApprovalDecided)

// listen returns the events that a person may follow: all, or where they may not, those of their own calls; then it
// sets query.Own. The error has its reason for people where no events can be followed.
func (c *Console) listen(q *request, query *event.Query) (*event.Listener, error) {
	isOperator := c.Host.Authenticator() == nil || q.isAdmin()
	l, err := c.Host.Operator().ListenInConsole(q.Context(), q.caller, isOperator, *query)
	if errors.As(err, new(*operator.ForbiddenError)) && q.session.Identity != nil {
		query.Own = true
		l, err = c.Host.Operator().ListenInConsole(q.Context(), q.caller, isOperator, *query)
	}
	switch {
	case errors.Is(err, event.ErrTooMany), errors.Is(err, event.ErrTooManyOfCaller):
		const text = "Too many pages follow the calls of this server. Try again later"
		return nil, &Error{http.StatusTooManyRequests, text}
	case errors.Is(err, event.ErrClosed):
		return nil, &Error{http.StatusServiceUnavailable, "The server is shutting down"}
	}
	return l, err
}

// readCalls returns the calls that the kept events tell of, the oldest first, and the place after these events. Wanted
// selects calls by their ID; empty for all. Without authentication they are those of the console.
func (c *Console) readCalls(
	q *request, query *event.Query, wanted string,
) (calls []*callView, place string, err error) {
	query.Kinds = callKinds
	l, err := c.listen(q, query)
	if err != nil {
		return nil, "", err
	}
	defer l.Close()
	byID := map[string]*callView{}
	for {
		events, err := l.Next(q.Context())
		if errors.Is(err, io.EOF) {
			if q.session.Identity == nil {
				calls = slices.DeleteFunc(calls, func(v *callView) bool { return v.Began.Caller.Client != clientName })
			}
			return calls, string(l.AppendPlace(nil)), nil
		}
		if err != nil {
			return nil, "", err
		}
		for i := range events {
			var e callEvent
			if events[i].Kind == eventkind.Gap || json.Unmarshal(events[i].Data, &e) != nil {
				continue
			}
			e.ID = cmp.Or(e.ID, e.Approval.CallID)
			if wanted != "" && e.ID != wanted {
				continue
			}
			v := byID[e.ID]
			if e.Approval.ID != "" {
				if v != nil {
					v.Approval, v.Decided = e.Approval.ID, events[i].Kind == eventkind.ApprovalDecided
				}
				continue
			}
			if v == nil {
				v = new(callView)
				byID[e.ID], calls = v, append(calls, v)
			}
			switch events[i].Kind {
			case eventkind.ToolCall:
				v.Began = e
			case eventkind.ToolStep:
				v.Steps = append(v.Steps, e)
			case eventkind.ToolResult:
				v.Ended = e
			}
		}
	}
}

// callsData is the data of the list of calls.
type callsData struct {
	Tool, Caller string
	Failed       bool
	Own          bool // the person sees their own calls only
	Rows         []*callView
	Share        string // name of the stream among the tabs of the session; empty without authentication
	After        string // the place that the page has reached in the stream
}

const callsPerPage = 100

// calls lists the latest calls. A script adds those that follow: it gets all events that the person may follow, because
// tabs with different filters share one stream.
func (c *Console) calls(q *request) (*answer, error) {
	values := q.URL.Query()
	data := &callsData{Tool: values.Get("tool"), Caller: values.Get("caller"), Failed: values.Has("failed")}
	if q.session.Identity != nil {
		data.Share = digest.Of(q.session.ID).String()
	}
	query := event.Query{Tool: data.Tool, Caller: data.Caller}
	found, place, err := c.readCalls(q, &query, "")
	if err != nil {
		return nil, err
	}
	data.After, data.Own = place, query.Own
	for _, v := range slices.Backward(found) {
		if len(data.Rows) == callsPerPage {
			break
		}
		if !data.Failed || !v.Waits() && (v.State().Class == "bad" || v.State().Class == "warn") {
			data.Rows = append(data.Rows, v)
		}
	}
	return &answer{template: "calls", title: "Calls", data: data}, nil
}

// checkViewer returns why a person may not see the console any more, after another configuration is served.
func (c *Console) checkViewer(q *request) error {
	now := *q
	if now.block = c.Host.Current().Console; now.block != nil {
		c.setSession(&now, q.session)
	}
	if now.block == nil || permitIdentifiedViewer(c, &now) != "" {
		return &operator.ForbiddenError{Why: "This person may not look at the console any more"}
	}
	return nil
}

// callEvents streams the events of calls to the list.
func (c *Console) callEvents(q *request) (*answer, error) {
	l, err := c.listen(q, &event.Query{
		Kinds: callKinds, Follow: true, After: cmp.Or(q.Header.Get("Last-Event-ID"), q.URL.Query().Get("after")),
		Check: func() error { return c.checkViewer(q) },
	})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	// The stream ends with the session, which other requests prolong or end, and when the provider is to be asked.
	ctx, cancel := context.WithTimeoutCause(q.Context(), time.Until(q.session.streamEnds()), mcp.Unauthorized())
	defer cancel()
	c.streams.Store(q, cancel)
	defer c.streams.Delete(q)
	event.NewStream(q.writer, q.Request).Serve(ctx, l) // whatever has ended it, the browser asks again
	return nil, nil
}

// endStreams ends the streams of a session in this process.
func (c *Console) endStreams(session string) {
	c.streams.Range(func(q, cancel any) bool {
		if q.(*request).session.ID == session {
			cancel.(context.CancelFunc)()
		}
		return true
	})
}
