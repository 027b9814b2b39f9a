package mcp

import "net/http"

// Toolset is the part of a Server that one address shows. Sessions and subscriptions belong to the one they were begun at.
type Toolset struct {
	server *Server
	name   string
}

// For returns the part of the server that the Handler calls by this name, which need not exist yet; "" is all of it. It is an [http.Handler], like
// the Server itself.
func (s *Server) For(toolset string) Toolset { return Toolset{s, toolset} }

// view is what one client sees of a server.
type view struct {
	toolset string
	info    *Info // as it was when the request came in
}

// ServeHTTP is [Server.ServeHTTP] of a toolset. One that does not exist is answered with 404.
func (t Toolset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := t.server
	if why := s.options.checkSource(r); why != "" {
		s.turnAway(w, http.StatusForbidden, why)
		return
	}
	v := view{t.name, s.handler.Info(t.name)}
	if v.info == nil {
		s.turnAway(w, http.StatusNotFound, "There is no such toolset")
		return
	}
	switch r.Method {
	case http.MethodPost:
		s.post(w, r, v)
	case http.MethodGet:
		s.get(w, r, v)
	case http.MethodDelete:
		s.delete(w, r, v)
	default:
		w.Header().Set("Allow", "POST, GET, DELETE")
		s.turnAway(w, http.StatusMethodNotAllowed, "Only POST, GET and DELETE are used here")
	}
}
