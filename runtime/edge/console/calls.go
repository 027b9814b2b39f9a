package console

import (
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
	Waits bool   // for its approval, or the same call made again does
	Page  string // address of the page of the tool; empty for none, such as those of a search
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
	return !v.Waits && v.End != nil && isProblem(v.End.Outcome)
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
		if _, ok := c.Host.Current().Program(call.Tool); ok {
			v.Page = toolPath(call.Tool)
		}
		v.Waits = call.Approval != "" && (call.End == nil || call.End.Outcome == audit.Asked) &&
			c.Host.Operator().IsPending(q.Context(), call.Approval)
		if wanted == nil || wanted(v) {
			views = append(views, v)
		}
	}
	return views, own, nil
}

// record returns what a record of the audit log would have of the call, so that the same filter selects both.
func (v *callView) record() *audit.Record {
	r := audit.NewRecord(audit.EventIntent, audit.Common{
		Name: v.Tool, Caller: audit.Caller{Subject: v.Subject, Client: v.ClientName()},
	})
	r.Time = v.Began
	if v.End != nil {
		r.Event, r.Outcome, r.Rule = audit.EventCall, v.End.Outcome, v.End.Rule
	}
	return r
}

// callsData is the data of the list of calls.
type callsData struct {
	Filter  *filterBar
	Problem string // why nothing is shown; empty when calls are
	Own     bool   // the person sees their own calls only
	Rows    []*callView
	Keep    time.Duration // how long the state has calls; 0 for not at all
	None    bool          // no calls are kept
	Dropped uint64        // calls of this process that the state does not have
}

const callsPerPage = 100

// Days returns the calls by the days on which they have begun.
func (d *callsData) Days() []day[*callView] {
	return days(d.Rows, func(v *callView) time.Time { return v.Began })
}

// calls lists the latest calls.
func (c *Console) calls(q *request) (*answer, error) {
	g, err := c.admit(q)
	if err != nil {
		return nil, err
	}
	data, in := &callsData{
		Keep: q.block.Keep, None: q.block.KeepNone, Dropped: c.Host.Operator().DroppedCalls(),
	}, &seen{}
	filter, onlyProblems := recordFilter(q)
	matches, err := filter.Matcher(q.now)
	out := &answer{template: "calls", title: "Calls", data: data}
	if err != nil {
		data.Problem, out.status = err.Error(), http.StatusUnprocessableEntity
		data.Filter = newFilterBar(q, recordFields(g, in)...)
		return out, nil
	}
	data.Rows, data.Own, err = c.recentCalls(q, operator.CallQuery{}, callsPerPage, func(v *callView) bool {
		r := v.record()
		in.add(r.Caller.Subject, r.Rule)
		return matches(nil, r) && (!onlyProblems || v.hasFailed())
	})
	data.Filter = newFilterBar(q, recordFields(g, in)...)
	return out, err
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

// events streams what happens, so that pages which it may have changed are loaded again: all that the person may
// follow, because the tabs of a session share one stream.
func (c *Console) events(q *request) (*answer, error) {
	l, err := c.listen(q, &event.Query{
		Kinds: followedKinds, Follow: true, After: q.Header.Get("Last-Event-ID"),
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
