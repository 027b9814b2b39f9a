package auth

import (
	"context"
	"encoding/base64"
	"time"

	"hatchel/runtime/edge/auth/issuer"
)

// GrantOf returns the ID of the sign-in of an access token and its client, for any resource, and also where the
// declaration has changed since; both are empty for a token that is not valid.
func (o *OwnTokens) GrantOf(ctx context.Context, text string) (id, client string) {
	token, parts, err := issuer.Parse(text)
	if err != nil {
		return "", ""
	}
	key, refused := o.keyOf(ctx, token)
	if refused != nil {
		return "", ""
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err != nil || token.Method.Verify(parts[0]+"."+parts[1], signature, key) != nil {
		return "", ""
	}
	payload, err := base64.RawURLEncoding.Strict().DecodeString(parts[1])
	if err != nil {
		return "", ""
	}
	p, err := personOf(payload)
	own, ok := p.claims()
	if err != nil || !ok || own.Issuer != o.declared.URL || !o.now().Before(time.Unix(own.Expires, 0)) {
		return "", ""
	}
	return own.Grant, own.Client
}
