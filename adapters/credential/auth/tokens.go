package auth

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/credential"
	"hatchel/hcl"
)

// tokens holds the token of a connection or, with exchange, of each caller.
type tokens struct {
	config  *oauth2
	client  *credential.OAuthClient
	service Service
	dir     string
	callers *credential.Callers[string]
	hidden  *hidden
}

func newTokens(
	config *oauth2, s Service, h *hidden, fetches *credential.Fetches, env adapters.Env,
) (*tokens, error) {
	client, err := credential.OpenClient(&config.Client, env)
	if err != nil {
		return nil, err
	}
	callers := credential.NewCallers[string](fetches)
	return &tokens{config: config, client: client, service: s, dir: env.Dir, callers: callers, hidden: h}, nil
}

// authorize implements bearer.
func (t *tokens) authorize(ctx context.Context, r Request) error {
	switch {
	case r.Call() == nil && t.config.Exchange:
		r.SetHeader("Authorization", "(bearer token by exchange)")
		return nil
	case r.Call() == nil:
		r.SetHeader("Authorization", "Bearer "+hcl.Hidden)
		return nil
	}
	s, err := t.config.subjectOf(ctx, r.Call())
	if err != nil {
		return err
	}
	fetch := func(ctx context.Context) (string, credential.Life, error) { return t.fetch(ctx, s) }
	text, err := t.callers.Get(ctx, s.Caller, fetch)
	if err != nil {
		return err
	}
	setAuthorization(r, "Bearer ", text)
	r.Hide(text, s.Token)
	r.HideFetched(t.hidden.scrubberOf(text))
	return nil
}

// invalidate implements bearer.
func (t *tokens) invalidate(ctx context.Context, r Request) {
	s, err := t.config.subjectOf(ctx, r.Call())
	if err != nil {
		return
	}
	refused := r.Header("Authorization")
	t.callers.Invalidate(s.Caller, func(text string) bool { return refused == "Bearer "+text })
}

// check implements bearer. A token server is asked by calls only.
func (t *tokens) check(context.Context) error { return nil }

// credential implements bearer. It returns nil for a client without an assertion, and with exchange. The id of the
// client may be a secret.
func (t *tokens) credential() *adapters.CredentialState {
	u, err := url.Parse(t.config.TokenURL)
	if err != nil || t.config.Exchange || !t.config.Client.HasAssertion() {
		return nil
	}
	status, by := t.callers.Status(), "its key"
	if file := t.config.Client.AssertionFile; file != "" {
		by = file
	}
	identity := ""
	if status.Valid {
		identity = fmt.Sprintf("a client of %s by %s", u.Host, by)
	}
	return status.State(identity)
}

func (t *tokens) fetch(ctx context.Context, of subject) (text string, life credential.Life, err error) {
	r, err := t.config.newRequest(ctx, t.client, t.dir, of)
	if err != nil {
		return "", life, err
	}
	requested := time.Now()
	resp, fault := t.service.RequestToken(ctx, r)
	if fault != nil {
		return "", life, signInFault(fault.Message, fault.Cause)
	}
	return t.config.parseResponse(resp, r.Secrets, requested, of)
}
