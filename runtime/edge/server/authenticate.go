package server

import (
	"net/http"
	"time"

	"hatchel/runtime/edge/auth"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/operator"
)

// authenticate returns the request with the identity of its caller, or nil when it has written the
// response: a refusal, or the public metadata. Without an auth block it returns the request itself.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request) *http.Request {
	authenticator := s.Host.Authenticator()
	if authenticator == nil {
		if s.RequireAuth {
			s.refuse(w, r, forbidden("This server accepts connections from other machines, but its configuration "+
				"declares "+
				"no authentication, so every request is refused. Declare an auth block"))
			return nil
		}
		return r
	}
	if document, ok := authenticator.Metadata(r); ok {
		writeMetadata(w, r, document)
		return nil
	}
	if !hasCredential(r) && (r.URL.Path == "/readyz" || isHome(r) || s.isScrape(r) && s.whyNoScrape(r) == "") {
		return r // of /readyz only the status is answered, and the page at / has no number of tools
	}
	return s.identify(w, r)
}

// identify is authenticate for a request that needs a credential.
func (s *Server) identify(w http.ResponseWriter, r *http.Request) *http.Request {
	authenticator := s.Host.Authenticator()
	identity, refusal := authenticator.Authenticate(r)
	if refusal != nil {
		authenticator.Challenge(w.Header(), r, refusal)
		s.refuse(w, r, refusal)
		return nil
	}
	// Handlers never see the credential.
	delete(r.Header, "Authorization")
	delete(r.Header, "X-Api-Key")
	return r.WithContext(mcp.WithIdentity(r.Context(), identity))
}

func hasCredential(r *http.Request) bool {
	return r.Header["Authorization"] != nil || r.Header["X-Api-Key"] != nil || r.TLS != nil &&
		len(r.TLS.VerifiedChains) > 0
}

// bodyTimeout is the time that a client has to send the rest of a body that will not be read, or of
// a small one.
const bodyTimeout = 5 * time.Second

func forbidden(reason string) *auth.Refusal {
	return &auth.Refusal{Status: http.StatusForbidden, Reason: reason}
}

// refuse answers a request that is not authorized, closes the connection when a body is left, and
// writes an audit record.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, refusal *auth.Refusal) {
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	closeIfUnread(w, r)
	s.audit(r, refusal.Status, refusal.Reason)
	if isUnder(r, "/approvals") || isUnder(r, "/sign-ins") || r.URL.Path == "/events" {
		writeJSON(w, refusal.Status, &Error{Message: refusal.Reason})
		return
	}
	http.Error(w, refusal.Reason, refusal.Status)
}

func (s *Server) audit(r *http.Request, status int, reason string) {
	s.Host.Operator().RecordRefusal(r.Context(), operator.Refusal{Status: status, Reason: reason, Path: r.URL.Path,
		Caller: s.callerOf(r)})
}

func closeIfUnread(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
}

// callerOf returns what is known of the caller of a request.
func (s *Server) callerOf(r *http.Request) *mcp.Caller {
	c := &mcp.Caller{Remote: s.clientAddress(r), Header: r.Header}
	c.SetIdentity(mcp.IdentityOf(r.Context()))
	return c
}

// writeMetadata writes the metadata of the protected resource, from which clients learn their
// authorization server (RFC 9728, section 3).
func writeMetadata(w http.ResponseWriter, r *http.Request, document []byte) {
	if err := checkMethod(w, r, http.MethodGet, http.MethodHead); err != nil {
		http.Error(w, err.Error(), http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "max-age=300")
	w.Header().Set("Access-Control-Allow-Origin", "*") // for clients in browsers
	w.Write(document)
}
