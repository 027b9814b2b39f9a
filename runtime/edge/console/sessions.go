package console

import (
	"log/slog"
	"net/url"
	"slices"

	"hatchel/runtime/edge/mcp"
)

const (
	sessionsPath    = "/console/sessions"
	sessionsPerPage = 100
)

// sessionsData is the data of the list of sessions of clients.
type sessionsData struct {
	Total int // on all pages
	Rows  []*mcp.SessionInfo
	Next  string // address of the next page; empty for none
}

// endPath returns where the end of a session is asked for.
func endPath(name string) string { return sessionsPath + "/" + url.PathEscape(name) + "/end" }

// sessions lists the sessions of clients that this process serves, the oldest first.
func (c *Console) sessions(q *request) (*answer, error) {
	all := c.Server.Sessions()
	data, begin := &sessionsData{Total: len(all)}, 0
	if after := q.URL.Query().Get("after"); after != "" {
		at := slices.IndexFunc(all, func(s *mcp.SessionInfo) bool { return s.Name == after })
		if at < 0 {
			return &answer{location: sessionsPath}, nil // its place in the list is gone
		}
		begin = at + 1
	}
	end := min(begin+sessionsPerPage, len(all))
	data.Rows = all[begin:end]
	if end < len(all) {
		data.Next = q.addressWith("after", all[end-1].Name)
	}
	return &answer{template: "sessions", title: "Sessions", data: data}, nil
}

// findSession returns a session that this process serves.
func (c *Console) findSession(name string) (*mcp.SessionInfo, error) {
	for _, info := range c.Server.Sessions() {
		if info.Name == name {
			return info, nil
		}
	}
	return nil, errNoSession
}

var errNoSession = notFound("This process serves no such session. It may have ended")

// confirmEnd asks whether a session is to be ended.
func (c *Console) confirmEnd(q *request) (*answer, error) {
	info, err := c.findSession(q.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return &answer{template: "session-end", title: "End a session", data: info}, nil
}

// endSession ends a session.
func (c *Console) endSession(q *request) (*answer, error) {
	info, err := c.findSession(q.PathValue("name"))
	if err != nil {
		return nil, err
	}
	if !c.Server.EndSession(q.Context(), info.Name) {
		return nil, errNoSession
	}
	c.Host.Operator().RecordSessionEnd(q.Context(), info, q.caller)
	c.Log.InfoContext(q.Context(), "session ended by an operator", slog.String("mcp.session.id", info.Name),
		slog.String("subject", q.session.displayName()))
	return &answer{location: sessionsPath}, nil
}
