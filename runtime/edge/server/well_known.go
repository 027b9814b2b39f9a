package server

import (
	"io"
	"net/http"
	"strings"
)

const wellKnownPath = "/.well-known/"

// serveWellKnown answers a request for a text of well_known, which everybody may read. It reports false for another
// request.
func (s *Server) serveWellKnown(w http.ResponseWriter, r *http.Request) bool {
	name, below := strings.CutPrefix(r.URL.Path, wellKnownPath)
	text, ok := s.Host.Current().Config.Server.WellKnown[name]
	if !below || !ok {
		return false
	}
	h := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "Method not allowed", http.StatusMethodNotAllowed)
		return true
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	io.WriteString(w, text)
	return true
}
