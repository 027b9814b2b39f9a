package signin

import (
	"errors"
	"net/http"
	"strings"

	"hatchel/runtime/durable/audit"
	"hatchel/runtime/durable/grant"
	"hatchel/runtime/edge/signin/provider"
)

// callback answers the browser that comes back from the provider.
func (s *Server) callback(q *request) error {
	if err := q.checkRepeated("state", "code", "iss"); err != nil {
		return err
	}
	t, err := q.unseal(q.form.Get("state"), stateUse)
	switch {
	case err != nil:
		return err
	case t.Callback != "": // where the browser has the cookie
		q.redirect(t.Callback + "?" + q.form.Encode())
		return nil
	case !q.isBound(t):
		return otherBrowser
	}
	return q.finish(t)
}

// finish ends a sign-in that this browser has begun with the answer of the provider. It creates the grant of the
// person, after that was recorded, and leads to the program with a code.
func (q *request) finish(t *transaction) error {
	q.unbind(t)
	code, err := q.g.SignIn.Provider.Code(q.Context(), q.form)
	if err != nil {
		return q.refuseByProvider(t, err)
	}
	person, upstream, err := q.g.SignIn.Provider.Redeem(q.Context(), code, t.Verifier, t.Nonce)
	if err != nil {
		return q.refuseByProvider(t, err)
	}
	g := q.newGrant(t)
	if err := q.g.SignIn.SetPerson(g, person); err != nil {
		return err
	}
	q.g.SignIn.SetUpstream(g, upstream, q.now)
	switch admitted, err := q.admit(g); {
	case err != nil:
		return err
	case !admitted:
		return &pageError{status: http.StatusForbidden, back: q.denied(t, "this server does not admit the person"),
			text: "You are signed in at the provider, but this server admits other groups. Ask its operator."}
	}
	// The record is there before anything can be done with the grant.
	if err := q.recordFirst(&event{outcome: audit.Consented, grant: g, rule: q.rule()}); err != nil {
		return err
	}
	if t.isConsole() {
		if err := q.grants.Start(q.Context(), g); err != nil {
			return err
		}
		i, err := q.g.Authenticator.Own().IdentityOf(g)
		if err != nil {
			return err
		}
		q.server.FinishConsole(q.writer, q.Request, g, i, t.Next)
		return nil
	}
	answer, err := q.grants.Create(q.Context(), g)
	if err != nil {
		return err
	}
	q.giveBack()
	q.leadBack(q.returnAddress(t.Redirect, t.State, "code", answer))
	return nil
}

// newGrant returns the grant of a sign-in, without a person.
func (q *request) newGrant(t *transaction) *grant.Grant {
	session := q.decl.Session
	if c := q.g.Console; t.isConsole() && c != nil {
		session = min(session, c.Session)
	}
	return &grant.Grant{
		ID: grant.NewID(), Client: t.Client, ClientName: t.ClientName, ClientKind: t.ClientKind,
		ClientKeys: t.ClientKeys, Redirect: t.Redirect, Challenge: t.Challenge, Resource: t.Resource,
		Scopes: t.Scopes, Began: q.now, Ends: q.now.Add(session), Console: t.isConsole(),
	}
}

// leadBack leads the browser to the program with the answer. The window stays where a private scheme opens the program,
// so a page says that the sign-in is complete.
func (q *request) leadBack(address string) {
	if strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://") {
		q.redirect(address)
		return
	}
	q.lead("Signed in", "You are signed in. Your browser opens the program; then you can close this window.",
		"Open the program", address)
}

// redirect leads the browser to an address at once.
func (q *request) redirect(address string) {
	q.writer.Header().Set("Cache-Control", "no-store")
	q.writer.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(q.writer, q.Request, address, http.StatusFound)
}

// denied returns the address at which a program learns that it has no access; empty for the console.
func (q *request) denied(t *transaction, why string) string {
	if t.Redirect == "" {
		return ""
	}
	return q.errorAddress(t.Redirect, t.State, &oauthError{code: "access_denied", text: why})
}

// refuseByProvider returns the page for a failure of the provider, which is logged.
func (q *request) refuseByProvider(t *transaction, err error) error {
	var failed *provider.Error
	if !errors.As(err, &failed) {
		return err
	}
	q.logProvider(err)
	q.record(&event{outcome: audit.Refused, grant: q.newGrant(t), rule: providerRule, text: failed.Log})
	shown := &pageError{status: http.StatusForbidden, text: failed.Page}
	if errors.Is(err, provider.ErrUnavailable) {
		shown.status = http.StatusServiceUnavailable
	}
	if t.Redirect != "" {
		shown.back = q.errorAddress(t.Redirect, t.State,
			&oauthError{code: failed.Code, text: "the provider did not sign the person in"})
	}
	return shown
}
