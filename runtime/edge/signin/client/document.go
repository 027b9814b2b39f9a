package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"hatchel/internal/hostname"
	"hatchel/internal/redirect"
)

// maxDocumentID is the largest id of a client with a document, in bytes.
const maxDocumentID = 1 << 10

// isDocument reports whether an id is, or was meant to be, the address of a document.
func isDocument(id string) bool {
	return strings.HasPrefix(strings.ToLower(id), "https:") || strings.HasPrefix(strings.ToLower(id), "http:")
}

// checkDocumentID returns the host of the address of a document that may be requested. Nothing is looked up before.
func (c *Clients) checkDocumentID(id string) (host string, err error) {
	host, problem := parseDocumentURL(id)
	switch {
	case len(id) > maxDocumentID:
		return "", refuse("The address of the description of this program has more than %d bytes", maxDocumentID)
	case problem != "":
		return "", refuse("The address of the description of this program is not accepted: %s", problem)
	case !c.admits(host):
		return "", refuse("This server does not admit programs of %s. Its operator can admit them: "+
			"documents = [\"%s\"] in sign_in", host, host)
	}
	return host, nil
}

// admits reports whether documents of a host are accepted. Subdomains are other hosts.
func (c *Clients) admits(host string) bool {
	return slices.Contains(c.decl.Documents, host) || slices.Equal(c.decl.Documents, []string{"*"})
}

// parseDocumentURL returns the host of the address of a document or of its keys: https at port 443 of a name, with a
// path. The problem of another one is a clause.
func parseDocumentURL(text string) (host, problem string) {
	a, problem := redirect.Parse(text)
	path, _, _ := strings.Cut(a.Rest, "?")
	switch {
	case !strings.HasPrefix(text, "https://"):
		return "", "it does not begin with https://"
	case problem != "":
		return "", problem
	case a.Port != "" && a.Port != "443":
		return "", "its port is not 443"
	case hostname.IsAddress(a.Host):
		return "", "its host is an address in place of a name"
	case path == "" || path == "/":
		return "", "it has no path"
	}
	return a.Host, ""
}

// document is what the document of a client says.
type document struct {
	host      string
	name      string
	redirects []string
	grants    []string        // nil for all
	keys      json.RawMessage // nil for a client that does not authenticate
	keysHost  string          // from where keys were requested; empty for nowhere
}

// client returns the client whose id is the address of the document.
func (d *document) client(id string) *Client {
	c := &Client{
		ID: id, Kind: Document, Name: d.name, Host: d.host, Redirects: d.redirects, Keys: d.keys, grants: d.grants,
	}
	if d.keys != nil {
		c.method, c.keys = methodKey, fixedKeys(d.keys)
	}
	return c
}

// findDocument returns the client whose id is the address of its document.
func (c *Clients) findDocument(ctx context.Context, id, network string) (*Client, error) {
	host, err := c.checkDocumentID(id)
	if err != nil {
		return nil, err
	}
	d, err := c.o.Documents.find(ctx, id, network, c.admits)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errBusy):
		return nil, &Refusal{http.StatusTooManyRequests, "Too many programs were looked up within a minute. Try " +
			"again in a minute"}
	case err != nil || d.keysHost != "" && !c.admits(d.keysHost):
		return nil, refuse("This server cannot use the description of the program at %s. Try again in a minute", host)
	}
	found := d.client(id)
	found.anyHost = !slices.Contains(c.decl.Documents, host)
	found.Redirects = slices.DeleteFunc(slices.Clone(d.redirects), func(uri string) bool {
		return !c.allowsDocument(uri)
	})
	return found, nil
}

// allowsDocument reports whether a client with a document may have a redirect address. That of another program on the
// computer of the person has to be declared, because other programs can take a scheme.
func (c *Clients) allowsDocument(uri string) bool {
	a, problem := redirect.Parse(uri)
	return problem == "" && (!a.IsPrivate() || c.decl.Register != nil && c.allowsRegistered(uri))
}

// parseDocument reads the document at an address. Its keys may be somewhere else.
func parseDocument(id string, body []byte) (d *document, keysURL string, err error) {
	m, err := readMetadata(body)
	if err != nil {
		return nil, "", err
	}
	d = &document{name: displayName(m.Name), grants: m.GrantTypes, redirects: m.Redirects}
	d.host, _ = parseDocumentURL(id)
	switch {
	case m.ID != id:
		return nil, "", fmt.Errorf("its client_id is %q and not its address", displayName(m.ID))
	case m.HasSecret:
		return nil, "", errors.New("it has a client_secret, which everybody can read")
	case m.GrantTypes != nil && !slices.ContainsFunc(m.GrantTypes, isServedGrant):
		return nil, "", errors.New("its grant_types has none that this server serves")
	}
	switch m.Method {
	case "", methodNone:
		return d, "", nil
	case methodKey:
	default:
		return nil, "", fmt.Errorf("its token_endpoint_auth_method is %q; a document may have %s or %s",
			displayName(m.Method), methodNone, methodKey)
	}
	switch {
	case m.Keys != nil && m.KeysURL != "":
		return nil, "", errors.New("it has jwks and jwks_uri")
	case m.Keys == nil && m.KeysURL == "":
		return nil, "", errors.New("it has neither jwks nor jwks_uri, which private_key_jwt needs")
	case m.Keys != nil:
		d.keys, err = keepKeys(m.Keys)
		return d, "", err
	}
	return d, m.KeysURL, nil
}

func isServedGrant(name string) bool {
	return name == "authorization_code" || name == "urn:ietf:params:oauth:grant-type:jwt-bearer"
}
