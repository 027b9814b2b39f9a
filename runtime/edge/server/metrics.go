package server

import (
	"net/http"
)

// isScrape reports whether a request to the address of the server is for metrics that are served there.
func (s *Server) isScrape(r *http.Request) bool {
	if r.URL.Path != "/metrics" {
		return false
	}
	_, decl := s.Host.Telemetry().Metrics()
	return decl != nil && decl.Listen == ""
}

// serveScrapes serves the listener that metrics have of their own.
func (s *Server) serveScrapes(w http.ResponseWriter, r *http.Request) {
	if !s.checkHost(w, r) {
		return
	}
	if r.URL.Path != "/metrics" {
		http.Error(w, "Not found. The metrics are at /metrics", http.StatusNotFound)
		return
	}
	if s.Host.Authenticator() != nil && (hasCredential(r) || s.whyNoScrape(r) != "") {
		if r = s.identify(w, r); r == nil {
			return
		}
	}
	s.serveMetrics(w, r)
}

// serveMetrics answers a scrape of a caller who may read the metrics.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if reason := s.whyNoScrape(r); reason != "" {
		s.refuse(w, r, forbidden(reason))
		return
	}
	if err := checkMethod(w, r, http.MethodGet, http.MethodHead); err != nil {
		http.Error(w, err.Error(), http.StatusMethodNotAllowed)
		return
	}
	measured, _ := s.Host.Telemetry().Metrics()
	if measured == nil {
		http.Error(w, "Not found. The configuration has no metrics block", http.StatusNotFound)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	measured.ServeHTTP(w, r)
}

// whyNoScrape returns the reason why the caller of a request may not read the metrics, or an empty string.
func (s *Server) whyNoScrape(r *http.Request) string {
	_, decl := s.Host.Telemetry().Metrics()
	reason := s.mcp.CheckSource(r)
	switch {
	case reason != "" || decl == nil:
	case decl.Allow != nil && !s.Host.Operator().MayScrape(r.Context(), s.callerOf(r)):
		reason = "The rule allow of the metrics block does not allow this caller to read the metrics"
	case decl.Allow == nil && decl.Listen == "": // a listener without a rule is one that only this machine reaches
		reason = s.whyNotOperator(r)
	}
	return reason
}
