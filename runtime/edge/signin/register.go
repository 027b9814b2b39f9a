package signin

import (
	"mime"
	"net/http"
)

// register answers a request for the registration of a client (RFC 7591). It stores nothing: the id is the
// registration.
func (s *Server) register(q *request) error {
	if q.decl.Register == nil {
		http.NotFound(q.writer, q.Request)
		return nil
	}
	if media, _, err := mime.ParseMediaType(q.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return &oauthError{code: "invalid_client_metadata", text: "send an object as application/json"}
	}
	status, response := q.g.SignIn.Clients.Register(q.body)
	if status != http.StatusCreated {
		q.logRequest(string(response))
	}
	h := q.writer.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	q.writer.WriteHeader(status)
	q.writer.Write(response)
	return nil
}
