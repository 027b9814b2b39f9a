package main

import (
	"net/http"
	"strings"
	"time"

	"hatchel/runtime"
	"hatchel/runtime/auth"
	"hatchel/runtime/mcp"
)

// identified is the request with who makes it, or nil when it has been answered: with a refusal, or with what everybody may read. Where nobody is asked who they
// are it is the request itself.
func (e *endpoints) identified(w http.ResponseWriter, r *http.Request) *http.Request {
	callers := e.host.Authenticator()
	if callers == nil {
		if e.reached {
			e.refuse(w, r, &auth.Refusal{Status: http.StatusForbidden, Why: "This server can be reached from other machines, and its configuration does not say whom it knows"})
			return nil
		}
		return r
	}
	if document, ok := callers.Metadata(r); ok {
		metadata(w, r, document)
		return nil
	}
	if r.URL.Path == "/readyz" && !hasCredential(r) {
		return r // the status alone
	}
	identity, refused := callers.Identify(r)
	if refused != nil {
		callers.Challenge(w.Header(), r, refused)
		e.refuse(w, r, refused)
		return nil
	}
	// What the caller proves itself with goes no further.
	delete(r.Header, "Authorization")
	delete(r.Header, "X-Api-Key")
	return r.WithContext(mcp.WithIdentity(r.Context(), identity))
}

func hasCredential(r *http.Request) bool {
	return r.Header["Authorization"] != nil || r.Header["X-Api-Key"] != nil || r.TLS != nil && len(r.TLS.VerifiedChains) > 0
}

// unread is how long a peer that is refused has for what it has begun to send.
const unread = 5 * time.Second

// refuse answers a request that nobody will read any further, and has it written down.
func (e *endpoints) refuse(w http.ResponseWriter, r *http.Request, refused *auth.Refusal) {
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(unread))
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
	e.host.RecordRefusal(r.Context(), runtime.Refusal{Status: refused.Status, Reason: refused.Why, Path: r.URL.Path, Caller: callerOf(r)})
	if isAbout(r, "/approvals") {
		answer(w, refused.Status, &complaint{Text: refused.Why})
		return
	}
	http.Error(w, refused.Why, refused.Status)
}

// callerOf is who makes a request, as far as that is known.
func callerOf(r *http.Request) *mcp.Caller {
	c := &mcp.Caller{Remote: r.RemoteAddr, Header: r.Header, Identity: mcp.IdentityOf(r.Context())}
	if c.Identity != nil {
		c.Subject = c.Identity.Subject
	}
	return c
}

// isAbout reports whether a request is for a path or for one below it.
func isAbout(r *http.Request, path string) bool {
	rest, ok := strings.CutPrefix(r.URL.Path, path)
	return ok && (rest == "" || rest[0] == '/')
}

// metadata answers where clients get their tokens (RFC 9728, section 3).
func metadata(w http.ResponseWriter, r *http.Request, document []byte) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "Use GET", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "max-age=300")
	w.Header().Set("Access-Control-Allow-Origin", "*") // clients in browsers read it, too
	w.Write(document)
}
