package issuertest

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"
	"time"
)

// Bad returns tokens that a server must refuse which accepts the tokens of i for the audience, by what
// is wrong with them.
func Bad(t testing.TB, i *Issuer, audience string) map[string]string {
	t.Helper()
	now := time.Now()
	with := func(claim string, v any) string { return i.Token(audience, map[string]any{claim: v}) }
	valid := i.Token(audience, nil)
	stranger := Open(t)
	other := NewKey(t, i.Key().ID, "RS256")
	unknown := i.Key()
	unknown.ID = "unknown"
	head, rest, _ := strings.Cut(valid, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	forged := base64.RawURLEncoding.EncodeToString(
		[]byte(`{"iss":"` + i.URL + `","sub":"root","aud":"` + audience + `","exp":9999999999}`))
	expired := map[string]any{"iat": now.Add(-2 * time.Hour).Unix(), "exp": now.Add(-time.Hour).Unix()}
	return map[string]string{
		"expired":                  i.Token(audience, expired),
		"without expiration":       with("exp", nil),
		"not valid yet":            with("nbf", now.Add(time.Hour).Unix()),
		"issued in the future":     with("iat", now.Add(time.Hour).Unix()),
		"for another audience":     i.Token("https://elsewhere.example/mcp", nil),
		"without audience":         with("aud", nil),
		"without subject":          with("sub", nil),
		"with an invalid subject":  with("sub", "a\x00b"),
		"of another issuer":        stranger.Token(audience, nil),
		"signed by another issuer": Sign(t, stranger.Key(), i.Claims(audience, nil)),
		"without issuer":           with("iss", nil),
		"signed by another key":    Sign(t, other, i.Claims(audience, nil)),
		"with an unknown key ID":   Sign(t, unknown, i.Claims(audience, nil)),
		"unsigned":                 Unsigned(t, i.Claims(audience, nil)),
		"signed by HMAC":           Confused(t, i.Key(), i.Claims(audience, nil)),
		"with a forged payload":    head + "." + forged + "." + signature,
		"that is an assertion":     SignAs(t, "oauth-id-jag+jwt", i.Key(), i.Claims(audience, nil)),
		"that ends a session":      SignAs(t, "application/logout+jwt", i.Key(), i.Claims(audience, nil)),
		"truncated":                valid[:len(valid)-10],
		"without signature":        head + "." + payload + ".",
		"not a token":              "abc.def.ghi",
		"too long":                 valid + strings.Repeat("x", 20<<10),
	}
}

// publicPEM returns the public key of k in PEM format.
func publicPEM(t testing.TB, k Key) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(k.Private.Public())
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}
