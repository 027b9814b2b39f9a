package oauthclient

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
)

// Metadata is what a server and its authorization server say of the tokens that the server accepts (RFC 9728, RFC
// 8414).
type Metadata struct {
	Resource string // empty for a server of the revision 2025-03-26
	TokenURL string
	Scopes   []string // that the server asks for, or else those that it knows
}

// Metadata asks the server what tokens it accepts. It returns nil for a server that does not say. Nobody signs in.
func (c *Client) Metadata(ctx context.Context) (*Metadata, error) {
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.options.Endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, failf("%s is no address", c.options.Endpoint)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("User-Agent", c.options.Agent)
	res, err := c.http.Do(r)
	if err != nil {
		return nil, unreachable(r, err)
	}
	defer res.Body.Close()
	ask, ok := challengeOf(res)
	if !ok {
		return nil, nil
	}
	of, err := c.findResource(ctx, ask)
	if errors.Is(err, errNoSignIn) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	at, err := c.readIssuer(ctx, of)
	switch {
	case errors.Is(err, errNoSignIn):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if _, err := c.checkAddress("token_endpoint", at.TokenEndpoint); err != nil {
		return nil, err
	}
	scopes := ask.scopes
	if len(scopes) == 0 {
		scopes = of.Scopes
	}
	return &Metadata{of.Resource, at.TokenEndpoint, slices.Clone(scopes)}, nil
}
