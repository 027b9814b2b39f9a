package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"hatchel/hcl"
	"hatchel/runtime/durable/grant"
)

const (
	signInsPath    = "/console/sign-ins"
	signInsPerPage = 100
)

// signInsData is the data of the list of sign-ins.
type signInsData struct {
	grant.Filter
	Everybody bool // the list has those of everybody
	Rows      []*grant.SignIn
	Own       string // the sign-in of this session of the console; empty for none
	Next      string // address of the next page; empty for none
}

// permitSignIns permits everybody with an identity, who sees their own sign-ins, where people can sign in.
func permitSignIns(c *Console, q *request) string {
	switch {
	case q.session.Identity == nil:
		return noCredentials
	case c.signInBlock() == nil:
		return "People do not sign in to this server: its configuration has no sign_in block"
	}
	return ""
}

// signInBlock returns the declaration of how people sign in at a provider; nil for none.
func (c *Console) signInBlock() *hcl.SignIn {
	if s := c.Host.Current().SignIn; s != nil {
		return s.Decl
	}
	return nil
}

// revokePath returns where the end of a sign-in is asked for.
func revokePath(id string) string { return signInsPath + "/" + url.PathEscape(id) + "/revoke" }

// signIns lists sign-ins, the latest first: those of the person, or for an admin those of everybody.
func (c *Console) signIns(q *request) (*answer, error) {
	signIns, err := c.Host.Operator().SignIns(q.Context(), q.caller)
	if err != nil {
		return nil, err
	}
	defer signIns.Close()
	values := q.URL.Query()
	data := &signInsData{
		Filter: grant.Filter{
			Subject: strings.TrimSpace(values.Get("subject")), Client: strings.TrimSpace(values.Get("client")),
		},
		Everybody: signIns.IsAdmin(), Own: q.session.SignIn,
	}
	query := grant.Query{Filter: data.Filter, After: values.Get("after"), Limit: signInsPerPage}
	found, next, err := signIns.List(q.Context(), query)
	switch {
	case errors.Is(err, grant.ErrCursor):
		return &answer{location: signInsPath}, nil
	case err != nil:
		return nil, err
	}
	if data.Rows = found; next != "" {
		data.Next = q.addressWith("after", next)
	}
	return &answer{template: "sign-ins", title: "Sign-ins", data: data}, nil
}

var errNoSignIn = notFound("There is no such sign-in. It may have ended")

// signInEndData is the data of the question whether a sign-in is to be ended.
type signInEndData struct {
	*grant.SignIn
	IsOwn bool // it is that of this session of the console
}

// confirmRevoke asks whether a sign-in is to be ended.
func (c *Console) confirmRevoke(q *request) (*answer, error) {
	signIns, err := c.Host.Operator().SignIns(q.Context(), q.caller)
	if err != nil {
		return nil, err
	}
	defer signIns.Close()
	found, err := signIns.Find(q.Context(), q.PathValue("id"))
	switch {
	case errors.Is(err, grant.ErrNotFound):
		return nil, errNoSignIn
	case err != nil:
		return nil, err
	}
	data := &signInEndData{found, found.ID == q.session.SignIn}
	return &answer{template: "sign-in-end", title: "End a sign-in", data: data}, nil
}

// revoke ends a sign-in.
func (c *Console) revoke(q *request) (*answer, error) {
	signIns, err := c.Host.Operator().SignIns(q.Context(), q.caller)
	if err != nil {
		return nil, err
	}
	defer signIns.Close()
	ended, err := signIns.End(q.Context(), q.PathValue("id"))
	switch {
	case errors.Is(err, grant.ErrNotFound):
		return nil, errNoSignIn
	case err != nil:
		return nil, err
	case ended.ID == q.session.SignIn: // the person has ended this session, too
		http.SetCookie(q.writer, newCookie(q.Request, "", signedOutLife))
		return &answer{location: signInPath}, nil
	}
	return &answer{location: signInsPath}, nil
}
