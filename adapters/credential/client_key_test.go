package credential_test

import (
	"bytes"
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"hatchel/adapters/credential"
	"hatchel/hcl"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func toPEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func toPKCS8(key any) string { return toPEM("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key))) }

func toSEC1(key *ecdsa.PrivateKey) string {
	return toPEM("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(key)))
}

func toJWK(key any, id, alg, use string) string {
	return string(must(json.Marshal(jose.JSONWebKey{Key: key, KeyID: id, Algorithm: alg, Use: use})))
}

var rsaKey = must(rsa.GenerateKey(rand.Reader, 2048))

// testKeys are keys of each kind, with the algorithms that each can sign with. The first one is the default.
func testKeys() map[string]struct {
	key        crypto.Signer
	algorithms []string
} {
	_, ed, _ := ed25519.GenerateKey(rand.Reader)
	ec := func(c elliptic.Curve) *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(c, rand.Reader)) }
	return map[string]struct {
		key        crypto.Signer
		algorithms []string
	}{
		"RSA":     {rsaKey, []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}},
		"P-256":   {ec(elliptic.P256()), []string{"ES256"}},
		"P-384":   {ec(elliptic.P384()), []string{"ES384"}},
		"P-521":   {ec(elliptic.P521()), []string{"ES512"}},
		"Ed25519": {ed, []string{"EdDSA", "Ed25519"}},
	}
}

// readAssertion verifies an assertion with a library that has not made it, and returns its header and its claims.
func readAssertion(t *testing.T, text string, public any) (header jose.Header, claims map[string]any) {
	t.Helper()
	all := []jose.SignatureAlgorithm{}
	for _, a := range hcl.AssertionAlgorithms {
		all = append(all, jose.SignatureAlgorithm(a))
	}
	signed, err := jose.ParseSignedCompact(text, all)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	payload, err := signed.Verify(public)
	if signed.Signatures[0].Header.Algorithm == "Ed25519" { // which the library does not know
		content, _ := base64.RawURLEncoding.DecodeString(strings.Split(text, ".")[1])
		if payload, err = content, errors.New("another key"); ed25519.Verify(public.(ed25519.PublicKey), []byte(text[:strings.LastIndex(text, ".")]), signed.Signatures[0].Signature) {
			err = nil
		}
	}
	if err != nil {
		t.Fatalf("the signature is not valid: %v", err)
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		t.Fatal(err)
	}
	return signed.Signatures[0].Header, claims
}

// Each kind of key signs in each form that programs write it in, with each algorithm that it can sign with.
func TestEachKeySignsInEachForm(t *testing.T) {
	now := time.Now()
	for kind, k := range testKeys() {
		forms := map[string]string{
			"PKCS #8":             toPKCS8(k.key),
			"CRLF":                strings.ReplaceAll(toPKCS8(k.key), "\n", "\r\n"),
			"a byte order mark":   "\ufeff" + toPKCS8(k.key),
			"spaces around":       "\n\n " + toPKCS8(k.key) + " \n",
			"text before":         "Bag Attributes\n    localKeyID: 01\nKey Attributes: <No Attributes>\n" + toPKCS8(k.key),
			"a certificate first": toPEM("CERTIFICATE", []byte("any")) + toPKCS8(k.key),
			"JWK":                 toJWK(k.key, "key-1", "", ""),
			"JWK of use and alg":  toJWK(k.key, "key-1", k.algorithms[len(k.algorithms)-1], "sig"),
		}
		switch key := k.key.(type) {
		case *rsa.PrivateKey:
			forms["PKCS #1"] = toPEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))
		case *ecdsa.PrivateKey:
			forms["SEC 1"] = toSEC1(key)
			forms["SEC 1 after its parameters"] = toPEM("EC PARAMETERS", []byte{6, 1, 1}) + toSEC1(key)
		}
		for form, text := range forms {
			t.Run(kind+" "+form, func(t *testing.T) {
				parsed, err := credential.ParseClientKey(text)
				if err != nil {
					t.Fatalf("The key %v.", err)
				}
				header, claims := readAssertion(t, must(parsed.Assertion("tools", "https://login.example/token", now)), k.key.Public())
				want := k.algorithms[0]
				if strings.HasSuffix(form, "alg") {
					want = k.algorithms[len(k.algorithms)-1]
				}
				if header.Algorithm != want || (header.KeyID == "key-1") != strings.HasPrefix(form, "JWK") {
					t.Errorf("%+v", header)
				}
				jti, _ := claims["jti"].(string)
				if claims["iss"] != "tools" || claims["sub"] != "tools" || claims["aud"] != "https://login.example/token" ||
					claims["iat"] != float64(now.Unix()) || claims["exp"] != float64(now.Unix()+60) || len(jti) < 20 || len(claims) != 6 {
					t.Errorf("%v", claims)
				}
			})
		}
		for _, algorithm := range hcl.AssertionAlgorithms {
			parsed, err := must(credential.ParseClientKey(toPKCS8(k.key))).WithAlgorithm(algorithm)
			if can := slices.Contains(k.algorithms, algorithm); can != (err == nil) {
				t.Errorf("%s with %s: %v", kind, algorithm, err)
			} else if can {
				header, _ := readAssertion(t, must(parsed.Assertion("a", "b", now)), k.key.Public())
				if header.Algorithm != algorithm {
					t.Errorf("%s in place of %s", header.Algorithm, algorithm)
				}
			}
		}
	}
}

func TestEachAssertionIsAnotherOne(t *testing.T) {
	key, now, seen := must(credential.ParseClientKey(toPKCS8(rsaKey))), time.Now(), map[any]bool{}
	for range 20 {
		_, claims := readAssertion(t, must(key.Assertion("a", "b", now)), rsaKey.Public())
		seen[claims["jti"]] = true
	}
	if len(seen) != 20 {
		t.Errorf("%d ids", len(seen))
	}
}

// Token servers accept none of these. Nothing of the key is in the error, which names its form.
func TestKeysThatCannotSignAreRefused(t *testing.T) {
	mixed := func(private, public crypto.Signer) string {
		var parts, other map[string]any
		if json.Unmarshal([]byte(toJWK(private, "", "", "")), &parts) != nil || json.Unmarshal([]byte(toJWK(public, "", "", "")), &other) != nil {
			t.Fatal("no JWK")
		}
		other["d"] = parts["d"]
		return string(must(json.Marshal(other)))
	}
	keys, others := testKeys(), testKeys()
	rsa1024 := must(rsa.GenerateKey(rand.Reader, 1024))
	p224 := must(ecdsa.GenerateKey(elliptic.P224(), rand.Reader))
	x25519 := must(ecdh.X25519().GenerateKey(rand.Reader))
	public := must(x509.MarshalPKIXPublicKey(rsaKey.Public()))
	whole := toPKCS8(rsaKey)
	oneLine := strings.ReplaceAll(whole, "\n", " ")
	encrypted := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: []byte("x"),
		Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"}}))
	for name, x := range map[string]struct{ text, want string }{
		"nothing":            {"", "is empty"},
		"a word":             {"s3cret-k3y", "is neither PEM"},
		"base64":             {base64.StdEncoding.EncodeToString(must(x509.MarshalPKCS8PrivateKey(rsaKey))), "is neither PEM"},
		"a certificate":      {toPEM("CERTIFICATE", []byte("abc")), "is a certificate"},
		"a request":          {toPEM("CERTIFICATE REQUEST", []byte("abc")), "is a certificate request"},
		"a public key":       {toPEM("PUBLIC KEY", public), "is a public key"},
		"an encrypted key":   {toPEM("ENCRYPTED PRIVATE KEY", []byte("abc")), "is encrypted with a passphrase"},
		"an old encryption":  {encrypted, "is encrypted with a passphrase"},
		"OpenSSH":            {toPEM("OPENSSH PRIVATE KEY", []byte("abc")), "is a key of OpenSSH"},
		"DSA":                {toPEM("DSA PRIVATE KEY", []byte("abc")), "is a DSA key"},
		"other PEM":          {toPEM("EC PARAMETERS", []byte("abc")), "has no private key"},
		"written escapes":    {strings.ReplaceAll(whole, "\n", `\n`), `written as \n`},
		"a text of YAML":     {"\n  " + strings.ReplaceAll(whole, "\n", "\n  "), "whose lines begin with spaces"},
		"one line":           {oneLine, "without line breaks"},
		"the first half":     {whole[:len(whole)/2], "is not complete"},
		"broken DER":         {toPEM("PRIVATE KEY", []byte("abc")), "has no valid key"},
		"RSA of 1024 bits":   {toPKCS8(rsa1024), "is an RSA key of 1024 bits"},
		"JWK of 1024 bits":   {toJWK(rsa1024, "", "", ""), "is an RSA key of 1024 bits"},
		"P-224":              {toPKCS8(p224), "P-224"},
		"key agreement":      {toPKCS8(x25519), "is for key agreement"},
		"a public JWK":       {toJWK(rsaKey.Public(), "", "", ""), "is a public key"},
		"a shared JWK":       {`{"kty": "oct", "k": "c2VjcmV0LXNlY3JldA"}`, "is a shared key"},
		"a set":              {`{"keys": [` + toJWK(rsaKey, "", "", "") + `]}`, "is a set of keys"},
		"JWK for encryption": {toJWK(rsaKey, "", "", "enc"), "is not for signatures"},
		"JWK of another alg": {toJWK(rsaKey, "", "RSA-OAEP-256", ""), "names no algorithm"},
		"JWK of another key": {toJWK(rsaKey, "", "ES256", ""), "cannot sign with ES256"},
		"JWK of HS256":       {toJWK(rsaKey, "", "HS256", ""), "cannot sign with HS256"},
		"JWK of none":        {toJWK(rsaKey, "", "none", ""), "cannot sign with none"},
		"other JSON":         {`{"type": "service_account", "private_key": "x"}`, "is no JWK"},
		"broken JSON":        {`{"kty": "RSA", "d": "s3cret-k3y"`, "is no JWK"},
		"a broken JWK":       {`{"kty": "RSA", "n": "AQAB", "e": "AQAB", "d": "s3cretk3y", "p": "AQAB"}`, "is no JWK"},
		"JWK without primes": {`{"kty": "RSA", "n": "AQAB", "e": "AQAB", "d": "s3cretk3y"}`, "has no primes"},
		"two EC keys":        {mixed(keys["P-256"].key, others["P-256"].key), "has a public part"},
		"two Ed25519 keys":   {mixed(keys["Ed25519"].key, others["Ed25519"].key), "is no JWK"},
		"secp256k1":          {`{"kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA", "d": "s3cretk3y"}`, "is no JWK"},
	} {
		_, err := credential.ParseClientKey(x.text)
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %s", name, err, x.want)
			continue
		}
		for i := 0; i+12 <= len(x.text); i++ {
			if part := x.text[i : i+12]; strings.Contains(err.Error(), part) && !strings.HasPrefix(part, "-----") && !strings.Contains("-----BEGIN PRIVATE KEY-----", part) {
				t.Errorf("%s: %q of the key is in %v", name, part, err)
				break
			}
		}
	}
}

func certificateOf(key crypto.Signer) []byte {
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tools"}, NotAfter: time.Now().Add(time.Hour)}
	return must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))
}

func TestTheThumbprintIsThatOfTheCertificateOfTheKey(t *testing.T) {
	key := must(credential.ParseClientKey(toPKCS8(rsaKey)))
	der, issuer := certificateOf(rsaKey), certificateOf(testKeys()["P-256"].key)
	own, other := toPEM("CERTIFICATE", der), toPEM("CERTIFICATE", issuer)
	with, err := key.WithCertificate([]byte(toPKCS8(rsaKey) + own + other))
	if err != nil {
		t.Fatal(err)
	}
	header, _ := readAssertion(t, must(with.WithID("kid-2").Assertion("a", "b", time.Now())), rsaKey.Public())
	sum := sha256.Sum256(der)
	if got := header.ExtraHeaders["x5t#S256"]; got != base64.RawURLEncoding.EncodeToString(sum[:]) || header.KeyID != "kid-2" {
		t.Errorf("%v, %+v", got, header)
	}
	for text, want := range map[string]string{
		other:                               "is that of another key",
		"abc":                               "has no PEM certificate",
		toPEM("CERTIFICATE", []byte("abc")): "is no valid one",
	} {
		if _, err := key.WithCertificate([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func FuzzParseClientKey(f *testing.F) {
	for _, text := range []string{toPKCS8(rsaKey), toJWK(rsaKey, "a", "PS256", "sig"), `{"kty":"EC","crv":"P-256","d":""}`, "-----BEGIN PRIVATE KEY-----"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		key, err := credential.ParseClientKey(string(text))
		if (key == nil) == (err == nil) {
			t.Error("neither a key nor an error")
		}
		if key == nil {
			return
		}
		if signed, err := key.Assertion("a", "b", time.Now()); err != nil || bytes.Count([]byte(signed), []byte(".")) != 2 {
			t.Errorf("%v, %s", err, signed)
		}
	})
}
