package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"hatchel/hcl/jsonscan"
	"hatchel/internal/redirect"
)

// Bounds of a registration.
const (
	maxRegistrationID = 2 << 10 // bytes of the id, which is the sealed registration
	maxRedirects      = 5
)

// registration is what the id of a registered client contains. Nothing of it is stored elsewhere, so that registrations
// cost no memory. It does not expire: it is no right, and a client whose id ends shows people a page that they cannot
// use.
type registration struct {
	Name      string   `json:"n,omitempty"`
	Redirects []string `json:"r"`
}

// registered is the response to a registration (RFC 7591, section 3.2.1).
type registered struct {
	ID         string   `json:"client_id"`
	Issued     int64    `json:"client_id_issued_at"`
	Name       string   `json:"client_name,omitempty"`
	Redirects  []string `json:"redirect_uris"`
	GrantTypes []string `json:"grant_types"`
	Responses  []string `json:"response_types"`
	Method     string   `json:"token_endpoint_auth_method"`
}

// registrationError is the response to a registration that is refused (RFC 7591, section 3.2.2).
type registrationError struct {
	Code string `json:"error"`
	Text string `json:"error_description"`
}

func (e *registrationError) Error() string { return e.Code + ": " + e.Text }

func badMetadata(format string, args ...any) *registrationError {
	return &registrationError{"invalid_client_metadata", fmt.Sprintf(format, args...)}
}

func badRedirect(format string, args ...any) *registrationError {
	return &registrationError{"invalid_redirect_uri", fmt.Sprintf(format, args...)}
}

// Register registers a client by its metadata, and returns the response as JSON. Nothing is stored: the id of the
// client is what it has registered, sealed. A client gets no secret, whatever it asks for: anybody may register.
func (c *Clients) Register(body []byte) (status int, response []byte) {
	out, refused := c.register(body)
	if refused != nil {
		refused.Text = asciiText(refused.Text)
		return http.StatusBadRequest, encodeJSON(refused)
	}
	return http.StatusCreated, encodeJSON(out)
}

func (c *Clients) register(body []byte) (*registered, *registrationError) {
	if c.decl.Register == nil {
		return nil, badMetadata("this server registers no clients")
	}
	m, err := readMetadata(body)
	switch {
	case err != nil:
		return nil, badMetadata("%v", err)
	case m.GrantTypes != nil && !slices.Contains(m.GrantTypes, "authorization_code"):
		return nil, badMetadata("grant_types has no authorization_code")
	case m.ResponseTypes != nil && !slices.Contains(m.ResponseTypes, "code"):
		return nil, badMetadata("response_types has no code")
	case len(m.Redirects) == 0:
		return nil, badRedirect("redirect_uris is missing or empty")
	}
	r := registration{Name: displayName(m.Name)}
	var accepted []string
	for _, uri := range m.Redirects {
		if !c.allowsRegistered(uri) || slices.Contains(accepted, uri) {
			continue
		}
		accepted = append(accepted, uri)
		// Programs send their addresses on this computer with several ports, for servers that compare them.
		if !slices.ContainsFunc(r.Redirects, func(own string) bool { return redirect.Matches(own, uri) }) {
			r.Redirects = append(r.Redirects, uri)
		}
	}
	switch {
	case len(r.Redirects) == 0:
		return nil, badRedirect("%s", c.explainRefused(m.Redirects))
	case len(r.Redirects) > maxRedirects:
		return nil, badRedirect("redirect_uris has more than %d addresses that this server admits", maxRedirects)
	}
	id := c.o.Sealer.Seal(encodeJSON(r))
	if len(id) > maxRegistrationID {
		return nil, badRedirect("redirect_uris and client_name are too long: an id of the client would have more "+
			"than %d bytes", maxRegistrationID)
	}
	return &registered{
		ID: id, Issued: c.o.Now().Truncate(time.Second).Unix(), Name: r.Name, Redirects: accepted,
		GrantTypes: []string{"authorization_code", "refresh_token"}, Responses: []string{"code"}, Method: methodNone,
	}, nil
}

// findRegistered returns the client whose id is a registration. What the configuration admits now counts.
func (c *Clients) findRegistered(id string) (*Client, error) {
	var r registration
	if c.decl.Register == nil || len(id) > maxRegistrationID {
		return nil, errUnknown
	}
	plain, ok := c.o.Sealer.Open(id)
	if !ok || json.Unmarshal(plain, &r) != nil {
		return nil, errUnknown
	}
	r.Redirects = slices.DeleteFunc(r.Redirects, func(uri string) bool { return !c.allowsRegistered(uri) })
	if len(r.Redirects) == 0 {
		return nil, errNoRedirect
	}
	return &Client{ID: id, Kind: Registered, Name: r.Name, Redirects: r.Redirects}, nil
}

var errUnknown = refuse("This server does not know this program. Remove the server from the program and add it " +
	"again, so that the program registers again")

// allowsRegistered reports whether a registered client may have a redirect address.
func (c *Clients) allowsRegistered(uri string) bool {
	return slices.ContainsFunc(c.decl.Register.Redirects, func(e string) bool { return redirect.Allows(e, uri) })
}

// explainRefused returns why none of the addresses of a registration is accepted.
func (c *Clients) explainRefused(uris []string) string {
	const maxNamed = 3
	var named []string
	for _, uri := range uris[:min(len(uris), maxNamed)] {
		why := "no entry of register.redirects covers it"
		if problem := redirect.Check(uri); problem != "" {
			why = problem
		}
		named = append(named, displayName(uri)+" ("+why+")")
	}
	return "no address of redirect_uris is admitted: " + strings.Join(named, "; ") +
		". The operator of the server declares addresses in register.redirects: now " +
		strings.Join(c.decl.Register.Redirects, ", ")
}

// metadata is what a client says of itself (RFC 7591, section 2).
type metadata struct {
	ID            string
	Name          string
	Redirects     []string
	GrantTypes    []string // nil for none
	ResponseTypes []string // nil for none
	Method        string
	Keys          json.RawMessage
	KeysURL       string
	HasSecret     bool
}

const maxMetadataDepth = 16

// readMetadata reads the metadata of a client. Unknown members are ignored; names are compared exactly, and none may
// appear twice, because programs differ in which one they read.
func readMetadata(body []byte) (*metadata, error) {
	m := new(metadata)
	into := map[string]any{
		"client_id": &m.ID, "client_name": &m.Name, "redirect_uris": &m.Redirects, "grant_types": &m.GrantTypes,
		"response_types": &m.ResponseTypes, "token_endpoint_auth_method": &m.Method, "jwks_uri": &m.KeysURL,
	}
	var failed error
	if !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
		return nil, fmt.Errorf("the metadata is not a JSON object")
	}
	err := jsonscan.Members(body, maxMetadataDepth, func(name, value []byte) bool {
		if string(value) == "null" {
			return true // as if it was missing
		}
		switch key := string(name); {
		case key == "jwks":
			m.Keys = slices.Clone(value)
		case key == "client_secret" || key == "client_secret_expires_at":
			m.HasSecret = true
		case into[key] != nil:
			if json.Unmarshal(value, into[key]) != nil {
				failed = fmt.Errorf("%s has the wrong type", key)
			}
		}
		return failed == nil
	})
	if err != nil {
		return nil, fmt.Errorf("the metadata is not valid JSON: %w", err)
	}
	if len(m.GrantTypes) == 0 { // as if it was missing
		m.GrantTypes = nil
	}
	if len(m.ResponseTypes) == 0 {
		m.ResponseTypes = nil
	}
	return m, failed
}

// asciiText returns a text with the characters that an error_description may have (RFC 6749, section 5.2).
func asciiText(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '"' || c == '\\':
			return '\''
		case c < ' ' || c > '~':
			return '?'
		}
		return c
	}, text)
}

// encodeJSON encodes what has no part that cannot be encoded.
func encodeJSON(v any) []byte {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return []byte(strings.TrimSuffix(out.String(), "\n"))
}
