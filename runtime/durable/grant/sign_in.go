package grant

import (
	"cmp"
	"net/url"
	"slices"
	"time"

	"hatchel/internal/wildcard"
)

// SignIn is what people see of a grant: who has signed in, with which client, and for how long.
type SignIn struct {
	ID        string    `json:"id"`
	Subject   string    `json:"subject"`
	Issuer    string    `json:"issuer"` // of the provider
	Client    Client    `json:"client"`
	Resource  string    `json:"resource"`
	Scopes    []string  `json:"scopes"`
	Began     time.Time `json:"since"`
	Refreshed time.Time `json:"refreshed,omitzero"` // when the client had its last tokens; zero for never
	Ends      time.Time `json:"expires"`
}

// Client is the program that a person has signed in with.
type Client struct {
	Kind     string `json:"kind"` // "declared", "document", "registered" or "built-in"
	ID       string `json:"id,omitempty"`
	Name     string `json:"name,omitempty"` // what the client calls itself, unless it is declared or built in
	Redirect string `json:"redirect,omitempty"`
}

// The built-in clients.
const (
	ConsoleClient = "console"
	CommandClient = "hatchel"
)

// SignIn returns what people see of the grant.
func (g *Grant) SignIn() *SignIn {
	s := &SignIn{
		ID: g.ID, Subject: g.Subject, Issuer: g.Key, Resource: g.Resource, Scopes: g.Scopes,
		Client: Client{Kind: g.ClientKind, ID: g.Client, Name: g.ClientName, Redirect: g.Redirect},
		Began:  g.Began, Refreshed: g.Refreshed, Ends: g.Ends,
	}
	if s.Scopes == nil {
		s.Scopes = []string{}
	}
	if g.Generation <= 1 {
		s.Refreshed = time.Time{} // its tokens are those of the code
	}
	if s.Client.Kind == Registered {
		s.Client.ID = "" // it is the sealed registration
	}
	return s
}

// Recorded names the client in logs and records: by its id, which a registered client does not have.
func (c *Client) Recorded() string {
	if c.Kind == Registered {
		return "registered: " + c.Name
	}
	return c.ID
}

// The kinds of clients.
const (
	Declared   = "declared"
	Document   = "document"
	Registered = "registered"
	BuiltIn    = "built-in"
)

// Host returns the host that vouches for the client: that of its document; empty for another one.
func (c *Client) Host() string {
	u, err := url.Parse(c.ID)
	if c.Kind != Document || err != nil {
		return ""
	}
	return u.Host
}

// Title names the client: by the host of its document, or by its name.
func (c *Client) Title() string {
	switch {
	case c.Kind == Document:
		return c.Host()
	case c.Kind == BuiltIn && c.ID == ConsoleClient:
		return "the console"
	case c.Kind == BuiltIn:
		return "the command " + c.ID
	}
	return cmp.Or(c.Name, c.ID, "a program without a name")
}

// Note says how much is known of the name of the client, in words; empty for a client that the configuration or the
// program has named.
func (c *Client) Note() string {
	switch {
	case c.Kind == Document && c.Name != "":
		return "calls itself " + c.Name
	case c.Kind == Registered:
		return "nobody has checked this name, " + c.place()
	}
	return ""
}

// place says where the client takes people back to.
func (c *Client) place() string {
	u, err := url.Parse(c.Redirect)
	switch {
	case err != nil || u.Host == "" && u.Scheme == "":
		return "at an unknown place"
	case slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname()):
		return "a program on the computer of the person"
	case u.Scheme == "https":
		return "at " + u.Host
	}
	return "at " + u.Scheme + "://" + u.Host
}

// String is Title with Note.
func (c *Client) String() string {
	if note := c.Note(); note != "" {
		return c.Title() + " (" + note + ")"
	}
	return c.Title()
}

// Filter selects sign-ins. What is empty selects all.
type Filter struct {
	Subject string // of the person, which may contain *
	Client  string // its id, name or host, which may contain *
}

// Selects reports whether a sign-in is selected.
func (f Filter) Selects(s *SignIn) bool {
	c := &s.Client
	return (f.Subject == "" || wildcard.MatchAny(f.Subject, s.Subject)) &&
		(f.Client == "" || wildcard.MatchAny(f.Client, c.ID, c.Name, c.Host()))
}

// Query selects a page of sign-ins.
type Query struct {
	Filter
	Owner string // only those of an owner; empty for all
	After string // the cursor of the page before; empty for the first page
	Limit int    // maximum number of sign-ins; at least 1
}
