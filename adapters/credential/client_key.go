package credential

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"

	"hatchel/hcl"
	"hatchel/internal/lazyregexp"
)

// ClientKey is a private key with which an OAuth client signs assertions about itself (RFC 7523, section 2.2). It is
// immutable and may be used concurrently.
type ClientKey struct {
	key        crypto.Signer
	method     jwt.SigningMethod
	id         string // the header kid; empty for none
	thumbprint string // the header x5t#S256; empty for none
}

const (
	minRSABits    = 2048
	assertionLife = 60 * time.Second
)

// algEd25519 is the name of EdDSA that says the curve (RFC 9864). JWKs of 2025 and later have it.
const algEd25519 = "Ed25519"

// ed25519Method is EdDSA by that name.
type ed25519Method struct{ *jwt.SigningMethodEd25519 }

// Alg implements jwt.SigningMethod.
func (ed25519Method) Alg() string { return algEd25519 }

// findMethod returns the method of an algorithm; nil if there is none.
func findMethod(algorithm string) jwt.SigningMethod {
	if algorithm == algEd25519 {
		return ed25519Method{jwt.SigningMethodEdDSA}
	}
	return jwt.GetSigningMethod(algorithm)
}

// ParseClientKey returns the key of a text: PEM (PKCS #1, PKCS #8 or SEC 1) or a JWK. Its error completes a sentence
// whose subject is the key, and has nothing of the text.
func ParseClientKey(text string) (*ClientKey, error) {
	raw := bytes.TrimSpace([]byte(strings.TrimPrefix(text, "\ufeff"))) // editors of Windows write the mark
	var k *ClientKey
	var err error
	switch {
	case len(raw) == 0:
		err = errors.New("is empty")
	case bytes.HasPrefix(raw, []byte("{")):
		k, err = parseJWK(raw)
	case bytes.Contains(raw, []byte("-----BEGIN ")):
		k, err = parsePEM(raw)
	default:
		err = errors.New("is neither PEM, which begins with -----BEGIN, nor a JWK, which is a JSON object")
	}
	if err != nil {
		return nil, err
	}
	if err := checkStrength(k.key); err != nil {
		return nil, err
	}
	if k, err = k.WithAlgorithm(""); err != nil {
		return nil, err
	}
	if !k.isWhole() {
		return nil, errors.New("has a public part that is not that of its private part")
	}
	return k, nil
}

// isWhole reports whether both parts of the key belong together, which the libraries do not check for each form.
func (k *ClientKey) isWhole() bool {
	const text = "text"
	signature, err := k.method.Sign(text, k.key)
	return err == nil && k.method.Verify(text, signature, k.key.Public()) == nil
}

// otherPEM says what the blocks of PEM are that hold no key which can be used.
var otherPEM = map[string]string{
	"CERTIFICATE":           "is a certificate; the key is in a file of its own, and certificate names this one",
	"CERTIFICATE REQUEST":   "is a certificate request",
	"PUBLIC KEY":            "is a public key; the private one signs",
	"RSA PUBLIC KEY":        "is a public key; the private one signs",
	"ENCRYPTED PRIVATE KEY": "is encrypted with a passphrase; `openssl pkey -in FILE` decrypts it",
	"OPENSSH PRIVATE KEY":   "is a key of OpenSSH; `ssh-keygen -p -m PKCS8 -f FILE` converts it",
	"DSA PRIVATE KEY":       "is a DSA key, which no token server accepts; use RSA, EC or Ed25519",
}

// indentedPEM matches a line of PEM after spaces, as in a text of YAML or HCL that is indented.
var indentedPEM = lazyregexp.New(`(?m)^[ \t]+-----`)

// parsePEM returns the first private key of a text.
func parsePEM(raw []byte) (*ClientKey, error) {
	other := ""
	for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
		if strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return nil, errors.New(otherPEM["ENCRYPTED PRIVATE KEY"])
		}
		var key any
		var err error
		switch block.Type {
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		default:
			if text := otherPEM[block.Type]; other == "" {
				other = text
			}
			continue
		}
		if err != nil {
			return nil, describeKeyError(block.Type, err)
		}
		signer, ok := key.(crypto.Signer)
		if !ok {
			return nil, errors.New("is for key agreement and cannot sign; use RSA, EC or Ed25519")
		}
		return &ClientKey{key: signer}, nil
	}
	switch {
	case other != "":
		return nil, errors.New(other)
	case bytes.Contains(raw, []byte(`\n`)):
		return nil, errors.New(`is PEM whose line breaks are written as \n; write them as line breaks`)
	case indentedPEM.Match(raw):
		return nil, errors.New("is PEM whose lines begin with spaces; write it as the file has it")
	case !bytes.Contains(raw, []byte("\n")):
		return nil, errors.New("is PEM without line breaks; write it as the file has it")
	}
	return nil, errors.New("is PEM that has no private key, or is not complete")
}

// describeKeyError returns the error for a block of PEM that is no key. The errors of crypto/x509 have no part of it.
func describeKeyError(form string, err error) error {
	switch text := err.Error(); {
	case strings.Contains(text, "insecure"):
		return fmt.Errorf("is an RSA key that is too short; it must have %d bits or more", minRSABits)
	case strings.Contains(text, "unknown elliptic curve"):
		return errors.New("is an EC key of a curve that is not supported; use P-256, P-384 or P-521")
	case strings.Contains(text, "unknown algorithm"):
		return errors.New("is a key of an algorithm that is not supported; use RSA, EC or Ed25519")
	}
	return fmt.Errorf("is PEM whose block %s has no valid key", form)
}

func parseJWK(raw []byte) (*ClientKey, error) {
	var head struct {
		Keys json.RawMessage `json:"keys"`
		Kty  string          `json:"kty"`
		Use  string          `json:"use"`
		D    string          `json:"d"`
		P    string          `json:"p"`
	}
	const noJWK = "is a JSON object that is no JWK of a private key"
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, errors.New(noJWK)
	}
	switch {
	case head.Keys != nil:
		return nil, errors.New("is a set of keys; write the one JWK that signs")
	case head.Kty == "oct":
		return nil, errors.New("is a shared key; a shared secret is client_secret")
	case head.Kty != "" && head.D == "":
		return nil, errors.New("is a public key; the private one signs, and has the member d")
	case head.Kty == "RSA" && head.P == "":
		return nil, errors.New("has no primes; write it with its members p, q, dp, dq and qi")
	case head.Use != "" && head.Use != "sig":
		return nil, errors.New(`is not for signatures: its member use is not "sig"`)
	}
	var k jose.JSONWebKey
	if err := k.UnmarshalJSON(raw); err != nil {
		return nil, errors.New(noJWK)
	}
	signer, ok := k.Key.(crypto.Signer)
	if !ok {
		return nil, errors.New(noJWK)
	}
	parsed := &ClientKey{key: signer, id: k.KeyID}
	if k.Algorithm != "" {
		if parsed.method = findMethod(k.Algorithm); parsed.method == nil {
			return nil, errors.New("has a member alg that names no algorithm of signatures")
		}
	}
	return parsed, nil
}

// checkStrength refuses keys that token servers do not accept.
func checkStrength(key crypto.Signer) error {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if n := k.N.BitLen(); n < minRSABits {
			return fmt.Errorf("is an RSA key of %d bits; it must have %d or more", n, minRSABits)
		}
	case *ecdsa.PrivateKey:
		if curveAlgorithms[k.Curve] == "" {
			return fmt.Errorf("is an EC key of the curve %s; use P-256, P-384 or P-521", k.Curve.Params().Name)
		}
	case ed25519.PrivateKey:
	default:
		return errors.New("is a key of a kind that is not supported; use RSA, EC or Ed25519")
	}
	return nil
}

var curveAlgorithms = map[elliptic.Curve]string{
	elliptic.P256(): "ES256", elliptic.P384(): "ES384", elliptic.P521(): "ES512",
}

// canSign reports whether a key can sign with an algorithm of AssertionAlgorithms.
func (k *ClientKey) canSign(algorithm string) bool {
	switch key := k.key.(type) {
	case *rsa.PrivateKey:
		return strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PrivateKey:
		return algorithm == curveAlgorithms[key.Curve]
	}
	return algorithm == "EdDSA" || algorithm == algEd25519
}

// WithAlgorithm returns the key with an algorithm of AssertionAlgorithms; the empty one keeps that of the key. Its
// error completes a sentence whose subject is the key.
func (k ClientKey) WithAlgorithm(algorithm string) (*ClientKey, error) {
	var possible []string
	for _, a := range hcl.AssertionAlgorithms {
		if k.canSign(a) {
			possible = append(possible, a)
		}
	}
	switch {
	case algorithm == "" && k.method == nil:
		algorithm = possible[0]
	case algorithm == "":
		algorithm = k.method.Alg()
	}
	if !k.canSign(algorithm) {
		return nil, fmt.Errorf("cannot sign with %s, but with %s", algorithm, strings.Join(possible, ", "))
	}
	k.method = findMethod(algorithm)
	return &k, nil
}

// WithID returns the key with a key id, which its assertions name in the header kid; the empty one keeps that of the
// JWK.
func (k ClientKey) WithID(id string) *ClientKey {
	if id != "" {
		k.id = id
	}
	return &k
}

// WithCertificate returns the key with its certificate, of which assertions name the thumbprint in the header x5t#S256.
// The text is PEM. The error completes a sentence whose subject is the certificate.
func (k ClientKey) WithCertificate(text []byte) (*ClientKey, error) {
	c, err := parseCertificate(text)
	if err != nil {
		return nil, err
	}
	if public, ok := k.key.Public().(interface{ Equal(crypto.PublicKey) bool }); !ok || !public.Equal(c.PublicKey) {
		return nil, errors.New("is that of another key")
	}
	sum := sha256.Sum256(c.Raw)
	k.thumbprint = base64.RawURLEncoding.EncodeToString(sum[:])
	return &k, nil
}

// parseCertificate returns the first certificate of a PEM text, which is that of the key; others are of its issuers.
func parseCertificate(text []byte) (*x509.Certificate, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, errors.New("has a PEM block CERTIFICATE that is no valid one")
		}
		return c, nil
	}
	return nil, errors.New("has no PEM certificate, which begins with -----BEGIN CERTIFICATE-----")
}

// Assertion returns a new assertion that the client with an id makes about itself, for an audience. It ends a minute
// after now. The error has nothing of the key.
func (k *ClientKey) Assertion(clientID, audience string, now time.Time) (string, error) {
	claims := jwt.MapClaims{
		"iss": clientID, "sub": clientID, "aud": audience, "jti": rand.Text(),
		"iat": now.Unix(), "exp": now.Add(assertionLife).Unix(),
	}
	t := jwt.NewWithClaims(k.method, claims)
	if k.id != "" {
		t.Header["kid"] = k.id
	}
	if k.thumbprint != "" {
		t.Header["x5t#S256"] = k.thumbprint
	}
	text, err := t.SignedString(k.key)
	if err != nil {
		return "", errors.New("the assertion of the client could not be signed")
	}
	return text, nil
}
