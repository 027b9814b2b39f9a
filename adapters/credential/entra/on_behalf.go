package entra

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/credential"
)

// OnBehalf has access tokens on behalf of callers: one for each token of a caller. It may be used concurrently.
type OnBehalf struct {
	signer
	scope   string
	callers *credential.Callers[string]
}

// NewOnBehalf returns a source without tokens. It asks nobody before a caller needs one. Its error is for the author.
func NewOnBehalf(
	fetches *credential.Fetches, cloud *credential.Cloud, b *Bearer, env adapters.Env,
) (*OnBehalf, error) {
	by, err := newSigner(cloud, &b.Identity, env)
	if err != nil {
		return nil, err
	}
	return &OnBehalf{signer: by, scope: b.Scope, callers: credential.NewCallers[string](fetches)}, nil
}

// ErrSignInAgain is the error of a caller whose token Entra does not accept any more.
var ErrSignInAgain = errors.New("the caller's token is no longer accepted")

// Token returns an access token on behalf of a caller. The caller's token is sent to Entra, if it is of the tenant, and
// nowhere else.
func (o *OnBehalf) Token(ctx context.Context, of credential.Caller) (string, error) {
	return o.callers.Get(ctx, of, func(ctx context.Context) (text string, life credential.Life, err error) {
		requested := time.Now()
		text, lifetime, err := o.ask(ctx, of.Token)
		return text, credential.NewLife(requested, lifetime), err
	})
}

// Invalidate drops a token that was refused.
func (o *OnBehalf) Invalidate(of credential.Caller, token string) {
	o.callers.Invalidate(of, func(current string) bool { return current == token })
}

// jwtBearer is the grant of RFC 7523, section 2.1.
const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"

func (o *OnBehalf) ask(ctx context.Context, token string) (text string, lifetime time.Duration, err error) {
	cloud, err := o.cloudOf()
	if err != nil {
		return "", 0, err
	}
	app, err := o.application(cloud)
	switch {
	case err != nil:
		return "", 0, err
	case app == nil:
		return "", 0, fmt.Errorf("only an application acts on behalf of callers, and no managed identity: the block "+
			"has no client_secret, key or assertion_file, and %s is not set", tokenFileVariable)
	}
	if issuer := issuerOf(token); !cloud.issues(issuer, app.tenant) {
		return "", 0, fmt.Errorf("the caller's token is of %s, and Entra exchanges those of the tenant %s only; "+
			"nothing was sent", cmp.Or(issuer, "another kind"), app.tenant)
	}
	a, err := app.request(ctx, o.cloud, url.Values{
		"grant_type": {jwtBearer}, "requested_token_use": {"on_behalf_of"}, "assertion": {token}, "scope": {o.scope},
	})
	if err != nil {
		return "", 0, err
	}
	if a.Status == http.StatusOK {
		return parseToken(a)
	}
	r := parseError(a.Body)
	err = a.Failure(r.describe()...)
	if slices.Contains(endedTokens, r.number()) {
		err = fmt.Errorf("%w: %w", ErrSignInAgain, err)
	}
	return "", 0, err
}

// endedTokens are the numbers of errors about a caller's token, or a sign-in of the caller, that was valid once.
var endedTokens = []int{
	50057,  // the account is disabled
	50089,  // the sign-in has ended
	50132,  // the sign-in has ended, such as by a new password
	50133,  // the sign-in has ended by a new password
	50173,  // the sign-in was revoked
	70043,  // the sign-in has ended by a policy
	500133, // the token has expired
	700082, // the sign-in has ended, because it was not used
}
