package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"hatchel/hcl/eventkind"
	"hatchel/internal/digest"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/operator"
	"hatchel/runtime/observe/event"
	"hatchel/runtime/observe/recent"
)

const callsPath = "/console/calls"

// callView is one call as the pages of calls show it.
type callView struct {
	*recent.Call
	Waits bool // for its approval, or the same call made again does
}

// State returns the outcome of the call, or what it does.
func (v *callView) State() condition {
	switch {
	case v.Waits:
		return waitsForApproval
	case v.End == nil:
		return condition{"off", "running"}
	}
	return stateOf(v.End.Outcome)
}

// hasFailed reports whether the call has ended without doing all that was asked.
func (v *callView) hasFailed() bool {
	class := v.State().Class
	return !v.Waits && (class == "bad" || class == "warn")
}

// Waited returns how long the call has waited for people, which its duration leaves out; empty for a call that has not.
func (v *callView) Waited() string {
	if v.End == nil || v.End.After-v.End.Took < 10*time.Millisecond {
		return ""
	}
	return duration((v.End.After - v.End.Took).Round(time.Millisecond))
}

// ClientName returns the name of the client of the caller; empty when it is not known.
func (v *callView) ClientName() string {
	var name string
	if json.Unmarshal([]byte(v.Client), &name) != nil {
		return "" // the client has not introduced itself
	}
	return name
}

// followedKinds are the events after which pages may have changed.
var followedKinds = eventkind.Of(eventkind.ToolCall, eventkind.ToolStep, eventkind.ToolResult,
	eventkind.ApprovalRequested, eventkind.ApprovalDecided, eventkind.TaskFinished, eventkind.Reload,
	eventkind.Connection, eventkind.Upstream)

// shareName returns the name by which the tabs of a session share their stream of events.
func shareName(s *session) string { return digest.Of(s.ID).String() }

// placeInStream returns the place that the stream of events of a person has reached; empty where there is no stream for
// them. Events are recorded from now on, so that a stream which begins there in the next minutes misses none.
func (c *Console) placeInStream(q *request) string {
	l, err := c.listen(q, &event.Query{Kinds: followedKinds})
	if err != nil {
		return ""
	}
	defer l.Close()
	return string(l.AppendPlace(nil))
}

// listen returns the events that a person may follow: all, or where they may not, those of their own calls; then it
// sets query.Own. The error has its reason for people where no events can be followed.
func (c *Console) listen(q *request, query *event.Query) (*event.Listener, error) {
	l, err := c.Host.Operator().ListenInConsole(q.Context(), q.caller, c.isOperator(q), *query)
	if errors.As(err, new(*operator.ForbiddenError)) && q.session.Identity != nil {
		query.Own = true
		l, err = c.Host.Operator().ListenInConsole(q.Context(), q.caller, c.isOperator(q), *query)
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

// isOperator reports whether the person who is signed in operates the server: everybody on its machine does where there
// is no authentication.
func (c *Console) isOperator(q *request) bool { return c.Host.Authenticator() == nil || q.isAdmin() }

// recentCalls returns the latest calls that the person may see, the newest first and at most limit of them, and whether
// these are their own only. Wanted selects some of those that the query does; nil for all.
func (c *Console) recentCalls(
	q *request, query operator.CallQuery, limit int, wanted func(*callView) bool,
) (views []*callView, own bool, err error) {
	found, own, err := c.Host.Operator().RecentCalls(q.Context(), q.caller, c.isOperator(q), query)
	if err != nil {
		return nil, false, err
	}
	for _, call := range found {
		if len(views) == limit {
			break
		}
		v := &callView{Call: call}
		v.Waits = call.Approval != "" && (call.End == nil || call.End.Outcome == audit.Asked) &&
			c.Host.Operator().IsPending(q.Context(), call.Approval)
		if wanted == nil || wanted(v) {
			views = append(views, v)
		}
	}
	return views, own, nil
}

// callsData is the data of the list of calls.
type callsData struct {
	Tool, Caller string
	Failed       bool
	Own          bool // the person sees their own calls only
	Rows         []*callView
	Share        string // name of the stream among the tabs of the session
	After        string // the place that the page has reached in the stream
}

const callsPerPage = 100

// calls lists the latest calls. A script adds those that follow: it gets all events that the person may follow, because
// tabs with different filters share one stream.
func (c *Console) calls(q *request) (*answer, error) {
	values := q.URL.Query()
	data := &callsData{
		Tool: values.Get("tool"), Caller: values.Get("caller"), Failed: values.Has("failed"),
		Share: shareName(q.session),
	}
	data.After = c.placeInStream(q) // what is published from now on follows
	var wanted func(*callView) bool
	if data.Failed {
		wanted = (*callView).hasFailed
	}
	var err error
	query := operator.CallQuery{Tool: data.Tool, Caller: data.Caller}
	data.Rows, data.Own, err = c.recentCalls(q, query, callsPerPage, wanted)
	return &answer{template: "calls", title: "Calls", data: data}, err
}

// checkViewer returns why a person may not see the console any more, after another configuration is served.
func (c *Console) checkViewer(q *request) error {
	now := *q
	if now.block = c.Host.Current().Console; now.block != nil {
		c.setSession(&now, q.session)
	}
	if now.block == nil || permitViewer(c, &now) != "" {
		return &operator.ForbiddenError{Why: "This person may not look at the console any more"}
	}
	return nil
}

// callEvents streams the events of calls to the list.
func (c *Console) callEvents(q *request) (*answer, error) {
	l, err := c.listen(q, &event.Query{
		Kinds: followedKinds, Follow: true, After: cmp.Or(q.Header.Get("Last-Event-ID"), q.URL.Query().Get("after")),
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
