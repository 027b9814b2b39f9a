// Package client knows the programs that ask people for access: the clients of an authorization server. There are
// built-in ones, those that a configuration declares, those that a document at their id describes (the draft
// client-id-metadata-document of OAuth), and those that have registered themselves (RFC 7591).
//
// Nothing of a client is stored but the documents of a while, in memory. An id alone gives no right:
// a person consents to each sign-in.
package client

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"hatchel/hcl"
	"hatchel/internal/cut"
	"hatchel/internal/printable"
	"hatchel/internal/redirect"
	"hatchel/runtime/edge/auth/issuer"
)

// Kind is how a client is known.
type Kind int

// The kinds, in the order in which an id is looked up.
const (
	BuiltIn    Kind = iota // belongs to this program
	Declared               // in the configuration
	Document               // by the document at its id
	Registered             // by itself
)

// The ids of the built-in clients.
const (
	Command = "hatchel" // the command line of this program
	Console = "console" // the console, whose people are asked for no consent
)

// Client is a program that may ask people for access. It is immutable.
type Client struct {
	ID   string
	Name string // what it calls itself, fit to be shown; may be empty
	Kind Kind
	Host string // of the document; empty for other kinds

	Redirects []string // the addresses to which it may ask to come back; Clients.Resume returns one alone

	// Keys is the JWK set that authenticates a client with a document; nil for other clients. A grant keeps it, so that
	// the client of the grant stays who it was when the document changes.
	Keys json.RawMessage

	anyHost bool     // documents of every host are admitted
	grants  []string // grant types of the document; nil for all
	method  string   // an element of AuthMethods; "" for none
	secret  hcl.SecretText
	keys    keyFinder // of private_key_jwt
}

// AcceptsRedirect reports whether the client may ask to come back to an address: it is one of its own or, on this
// computer, differs from one in the port alone.
func (c *Client) AcceptsRedirect(uri string) bool {
	return slices.ContainsFunc(c.Redirects, func(own string) bool { return redirect.Matches(own, uri) })
}

// MayUse reports whether the client may use a grant type, such as "authorization_code".
func (c *Client) MayUse(grantType string) bool {
	return c.grants == nil || slices.Contains(c.grants, grantType)
}

// IsConfidential reports whether the client must authenticate to the token endpoint.
func (c *Client) IsConfidential() bool { return c.method != "" }

// Refusal is why a client is not known. Its Text is a sentence without a full stop for a person, and says nothing that
// only this server knows.
type Refusal struct {
	Status int
	Text   string
}

func (r *Refusal) Error() string { return r.Text }

func refuse(format string, args ...any) *Refusal {
	return &Refusal{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// Sealer seals the registrations of clients. All processes with the same state store open what one has sealed.
type Sealer interface {
	Seal(plain []byte) string
	Open(text string) (plain []byte, ok bool)
}

// Options are the inputs of New besides the declaration. All are required.
type Options struct {
	Documents *Documents      // shared by all generations
	Issuers   *issuer.Issuers // shared by all generations, for the keys of declared clients
	Sealer    Sealer          // of registrations
	Log       *slog.Logger
	Now       func() time.Time
	Defer     func(func() error) // its argument is called when the clients are used no more
}

// Clients are the clients that one configuration admits. Its methods may be called concurrently.
type Clients struct {
	decl     *hcl.SignIn
	o        Options
	known    map[string]*Client // built-in and declared ones
	audience []string           // of assertions of clients
}

// New returns the clients of a sign_in block. It makes no requests; later ones have the values of ctx.
func New(ctx context.Context, s *hcl.SignIn, o Options) *Clients {
	c := &Clients{
		// The Python package writes issuers with a slash at the end.
		decl: s, o: o, audience: []string{s.URL, s.URL + "/", s.URL + "/oauth/token"}, known: map[string]*Client{},
	}
	for _, d := range s.Clients {
		c.known[d.Name] = c.declared(ctx, d)
	}
	c.known[Command] = &Client{
		ID: Command, Kind: BuiltIn, Name: "Hatchel",
		Redirects: []string{"http://127.0.0.1/callback", "http://[::1]/callback"},
	}
	c.known[Console] = &Client{ID: Console, Kind: BuiltIn, Name: "Console"}
	return c
}

// declared returns the client of a client block.
func (c *Clients) declared(ctx context.Context, d *hcl.SignInClient) *Client {
	declared := &Client{ID: d.Name, Kind: Declared, Name: d.Name, Redirects: d.Redirects, secret: d.Secret}
	switch {
	case d.KeysURL != "":
		at := issuer.Declaration{URL: d.Name, Keys: d.KeysURL}
		keys, release := c.o.Issuers.Acquire(ctx, at, issuer.Options{Log: c.o.Log, Now: c.o.Now})
		c.o.Defer(release)
		declared.method, declared.keys = methodKey, keys
	case d.Keys != "":
		declared.method, declared.keys = methodKey, fixedKeys(d.Keys)
	case d.Confidential:
		declared.method = methodSecret
	}
	return declared
}

// Find returns the client with an id, for a request from a network. The error is a *Refusal, or that of ctx.
func (c *Clients) Find(ctx context.Context, id, network string) (*Client, error) {
	if known := c.known[id]; known != nil {
		return known, nil
	}
	if isDocument(id) {
		return c.findDocument(ctx, id, network)
	}
	return c.findRegistered(id)
}

// Kept is what a grant keeps of its client.
type Kept struct {
	ID         string
	IsDeclared bool // by a client block
	Redirect   string
	Keys       json.RawMessage // Client.Keys
}

// Resume returns the client of a grant, with the redirect address and the keys that the grant has kept. It asks nobody.
// It refuses a client that the configuration admits no more.
func (c *Clients) Resume(k Kept) (*Client, error) {
	known := c.known[k.ID]
	switch {
	case known != nil && (k.Redirect == "" || known.AcceptsRedirect(k.Redirect)):
		return known, nil
	case known != nil:
		return nil, errNoRedirect
	case k.IsDeclared: // with its block went its credential, and a document or a registration is another client
		return nil, errRemoved
	case isDocument(k.ID):
		host, err := c.checkDocumentID(k.ID)
		switch {
		case err != nil:
			return nil, err
		case !c.allowsDocument(k.Redirect):
			return nil, errNoRedirect
		}
		return (&document{host: host, redirects: []string{k.Redirect}, keys: k.Keys}).client(k.ID), nil
	case c.decl.Register == nil || !c.allowsRegistered(k.Redirect):
		return nil, errNoRedirect
	}
	return &Client{ID: k.ID, Kind: Registered, Redirects: []string{k.Redirect}}, nil
}

var errRemoved = refuse("This server does not admit this program any more")

var errNoRedirect = refuse("This server does not admit the address of this program any more")

const (
	maxName  = 80 // characters of the name of a client that are shown
	maxMarks = 4  // marks above and below one character; more would cover the lines around the name
)

// displayName returns the name of a client as people are shown it: on one line, with the code points of what they would
// not see.
func displayName(name string) string {
	marks := 0
	name = strings.Map(func(r rune) rune {
		if !unicode.In(r, unicode.Mn, unicode.Me) {
			marks = 0
		} else if marks++; marks > maxMarks {
			return -1
		}
		return r
	}, strings.TrimSpace(name))
	return cut.Runes(printable.Reveal(name, ""), maxName)
}
