package signin

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"

	"hatchel/internal/hostname"
	"hatchel/runtime/durable/grant"
)

// BeginConsole answers a request for a sign-in to the console with a page that leads to the provider. Nobody is asked
// for consent: the console is this server itself. Next is passed to FinishConsole in the same browser. Callback is the
// address of the console where the browser comes back, and empty if that is the one of the block.
func (s *Server) BeginConsole(w http.ResponseWriter, r *http.Request, next, callback string) {
	s.servePage(w, r, endpoint{}, func(q *request) error {
		if callback != "" && !q.isOwnAddress(callback) {
			return &pageError{status: http.StatusForbidden, text: "The console is opened at a name that the server " +
				"does not have, or without https. Its operator can add the name to hosts in the server block, or " +
				"open the console on the machine of the server."}
		}
		t := q.newTransaction(cmp.Or(callback, q.decl.URL))
		t.Client, t.ClientKind, t.Next, t.Callback = grant.ConsoleClient, grant.BuiltIn, next, callback
		return q.leadToProvider(t)
	})
}

// ServeConsoleCallback answers a request for the callback of BeginConsole.
func (s *Server) ServeConsoleCallback(w http.ResponseWriter, r *http.Request) {
	s.servePage(w, r, endpoint{hasForm: true, comesBack: true}, func(q *request) error {
		if err := q.checkRepeated("state", "code", "iss"); err != nil {
			return err
		}
		t, err := q.open(q.form.Get("state"), stateUse)
		if err != nil {
			return err
		}
		return q.finish(t)
	})
}

// isOwnAddress reports whether an address has a declared name of the server, or is one of this machine. Answers of the
// provider go to no other one: a program that received them could sign in as another person. The machine is that of the
// server only if the browser is there, too, or if url names it: elsewhere the name leads to other programs.
func (q *request) isOwnAddress(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return false
	}
	host, _, ok := hostname.Split(u.Host)
	if ok && hostname.IsLocal(host) {
		own, err := url.Parse(q.decl.URL)
		return q.server.IsLocal(q.Request) || err == nil && hostname.IsLocal(own.Hostname())
	}
	return ok && slices.Contains(q.g.ServerNames().Hosts, host) && u.Scheme == "https"
}
