package issuertest

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"
	"time"
)

// Bad are tokens that no server takes which takes those of i for the audience, by what is wrong
// with them.
func Bad(t testing.TB, i *Issuer, audience string) map[string]string {
	t.Helper()
	good, now := i.Token(audience, nil), time.Now()
	stranger := Open(t)
	other := NewKey(t, i.Key().ID, "RS256")
	unknown := i.Key()
	unknown.ID = "unknown"
	head, rest, _ := strings.Cut(good, ".")
	_, signature, _ := strings.Cut(rest, ".")
	forged := base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"` + i.URL + `","sub":"root","aud":"` + audience +
		`","exp":9999999999}`))
	return map[string]string{
		"expired": i.Token(audience, map[string]any{"iat": now.Add(-2 * time.Hour).Unix(),
			"exp": now.Add(-time.Hour).Unix()}),
		"without an end":       i.Token(audience, map[string]any{"exp": nil}),
		"not good yet":         i.Token(audience, map[string]any{"nbf": now.Add(time.Hour).Unix()}),
		"issued later":         i.Token(audience, map[string]any{"iat": now.Add(time.Hour).Unix()}),
		"for another audience": i.Token("https://elsewhere.example/mcp", nil),
		"for nobody":           i.Token(audience, map[string]any{"aud": nil}),
		"about nobody":         i.Token(audience, map[string]any{"sub": nil}),
		"about no name":        i.Token(audience, map[string]any{"sub": "a\x00b"}),
		"of another issuer":    stranger.Token(audience, nil),
		"in another's name":    Sign(t, stranger.Key(), i.Claims(audience, nil)),
		"of nobody":            i.Token(audience, map[string]any{"iss": nil}),
		"of another key":       Sign(t, other, i.Claims(audience, nil)),
		"of an unknown key":    Sign(t, unknown, i.Claims(audience, nil)),
		"unsigned":             Unsigned(t, i.Claims(audience, nil)),
		"by HMAC":              Confused(t, i.Key(), i.Claims(audience, nil)),
		"tampered":             head + "." + forged + "." + signature,
		"cut":                  good[:len(good)-10],
		"without signature":    head + "." + strings.Split(rest, ".")[0] + ".",
		"no token":             "abc.def.ghi",
		"longer than any":      good + strings.Repeat("x", 20<<10),
	}
}

// publicPEM is the public key of k as it is handed out.
func publicPEM(t testing.TB, k Key) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(k.Private.Public())
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}
