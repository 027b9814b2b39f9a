package hcl

import (
	"net/url"
	"strings"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
)

// ClientAuth is how an OAuth client authenticates to an endpoint of an authorization server, as its block declares it.
type ClientAuth struct {
	ID     SecretText
	Method string // as it is written; empty for the one that follows from the other fields

	Secret        SecretText
	Key           SecretText
	AssertionFile string

	KeyID        string
	KeyAlgorithm string
	Certificate  string

	AssertionAudience string
	AssertionType     string

	written string             // the one of the arguments client_secret, key and assertion_file that is written
	places  map[any]diag.Range // of the arguments that may be wrong when the client is opened
}

// The arguments of a ClientAuth of which one is written.
const (
	ArgClientSecret  = "client_secret"
	ArgKey           = "key"
	ArgAssertionFile = "assertion_file"
)

// Values of client_auth.
const (
	AuthBasic         = "basic"
	AuthBody          = "body"
	AuthPrivateKeyJWT = "private_key_jwt"
)

// JWTBearer is the usual type of assertions about clients (RFC 7523, section 2.2).
const JWTBearer = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

// AssertionAlgorithms are the algorithms of assertions. The first one that a kind of key can sign with is its default.
var AssertionAlgorithms = []string{
	"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519",
}

// Refuser collects the mistakes in the arguments of a block.
type Refuser interface {
	// Refuse reports a mistake at the argument that was decoded into field if wrong is true.
	Refuse(wrong bool, field any, format string, args ...any)
}

// Spec returns the arguments. Endpoint says which one the client authenticates to, as in "the value of token_url".
func (c *ClientAuth) Spec(endpoint string) Spec {
	return Join(
		Spec{Attr(&c.ID, "client_id", "The id of the client.").Require().Check(checkClientID(&c.ID))},
		ExactlyOneOf("the credential of the client",
			c.mark(&c.Secret, Attr(&c.Secret, ArgClientSecret, "The secret of the client.").
				Check(checkClientSecret(&c.Secret))),
			c.mark(&c.Key, Attr(&c.Key, ArgKey, "The private key of the client, PEM or a JWK: RSA with 2048 bits or "+
				"more, EC (P-256, P-384, P-521) or Ed25519. For each token the client signs a new assertion, which is "+
				"valid for a minute (RFC 7523).").Credentials()),
			c.mark(&c.AssertionFile, Attr(&c.AssertionFile, ArgAssertionFile, "A file with an assertion about the "+
				"client that the platform renews, such as a projected token of Kubernetes or a JWT-SVID, relative to "+
				"the configuration directory. It is read for each token, and a change reloads nothing.")),
		),
		Spec{
			Choice(&c.Method, "client_auth", `How the client authenticates: "basic" uses a header, "body" uses `+
				`fields of the request, "private_key_jwt" sends an assertion and is the only one for key and `+
				"assertion_file.", AuthBasic, AuthBody, AuthPrivateKeyJWT).DefaultDoc(`"basic"`),
			Attr(&c.KeyID, "key_id", "With key: its id at the token server, sent as the header `kid` of "+
				"assertions.").DefaultDoc("the member kid of a JWK"),
			Choice(&c.KeyAlgorithm, "key_algorithm", "With key: the algorithm of the signature.",
				AssertionAlgorithms...).
				DefaultDoc("the member alg of a JWK, or else RS256, ES256, ES384, ES512 or EdDSA, by the kind of key").
				Then(c.place(&c.KeyAlgorithm)),
			Attr(&c.Certificate, "certificate", "With key: a PEM file with its certificate, of which assertions "+
				"have the thumbprint in the header `x5t#S256`, as Entra requires it.").Contents().
				Then(c.place(&c.Certificate)),
			Attr(&c.AssertionAudience, "assertion_audience", "With key: the audience of assertions.").
				DefaultDoc(endpoint),
			Attr(&c.AssertionType, "assertion_type", "With assertion_file: the type of the assertion.").
				DefaultDoc(`"` + JWTBearer + `"`),
		},
	)
}

// checkClientID returns the check of the id of a client.
func checkClientID(id *SecretText) func(*decode.Decoder, diag.Range) {
	return func(d *decode.Decoder, r diag.Range) {
		if text := id.Reveal(); text == "" || strings.TrimSpace(text) != text {
			d.Diags.Errorf(r, "Invalid client", "The id of the client is empty, or has blanks or line breaks around "+
				"it. Write it as the authorization server shows it.")
		}
	}
}

// checkClientSecret returns the check of the secret of a client, which does not show it.
func checkClientSecret(secret *SecretText) func(*decode.Decoder, diag.Range) {
	return func(d *decode.Decoder, r diag.Range) {
		if secret.Reveal() == "" {
			d.Diags.Errorf(r, "Invalid client", "The secret of the client is empty. Write client_secret = secret.NAME.")
		}
	}
}

// mark makes an argument the one that is written. The value of a secret is not known in each load.
func (c *ClientAuth) mark(field any, f Field) Field {
	place := c.place(field)
	return f.Then(func(d *decode.Decoder, r diag.Range) {
		c.written = f.Name
		place(d, r)
	})
}

// place returns what keeps the place of an argument.
func (c *ClientAuth) place(field any) func(*decode.Decoder, diag.Range) {
	return func(_ *decode.Decoder, r diag.Range) {
		if c.places == nil {
			c.places = map[any]diag.Range{}
		}
		c.places[field] = r
	}
}

// Diagnose converts an error of opening the client into diagnostics, placed at the blamed argument or at the block.
func (c *ClientAuth) Diagnose(err error, block Range) Diagnostics {
	return diag.ToDiagnostics(err, "Invalid client", block, c.places)
}

// Written returns the one of the arguments client_secret, key and assertion_file that is written; empty for none.
func (c *ClientAuth) Written() string { return c.written }

// HasAssertion reports whether the client authenticates with an assertion.
func (c *ClientAuth) HasAssertion() bool { return c.written == ArgKey || c.written == ArgAssertionFile }

// Check reports mistakes in the arguments.
func (c *ClientAuth) Check(checks Refuser) {
	checks.Refuse(c.HasAssertion() && c.Method != "" && c.Method != AuthPrivateKeyJWT, &c.Method,
		"client_auth = %q sends client_secret, but this client has %s. Write client_auth = %q.", c.Method, c.written,
		AuthPrivateKeyJWT)
	checks.Refuse(c.written == ArgClientSecret && c.Method == AuthPrivateKeyJWT, &c.Method,
		"client_auth = %q sends an assertion. Write key = secret.… or assertion_file = \"…\" in place of "+
			"client_secret.", c.Method)
	for _, field := range []*string{&c.KeyID, &c.KeyAlgorithm, &c.Certificate, &c.AssertionAudience} {
		checks.Refuse(*field != "" && c.written != ArgKey, field, "This argument requires key = secret.…: it is about "+
			"assertions that the client signs itself.")
	}
	checks.Refuse(c.AssertionType != "" && c.written != ArgAssertionFile, &c.AssertionType,
		"This argument requires assertion_file. The type of assertions that the client signs itself is fixed.")
	u, err := url.Parse(c.AssertionType)
	checks.Refuse(c.AssertionType != "" && (err != nil || !u.IsAbs()), &c.AssertionType,
		"assertion_type must be a URI such as %q.", JWTBearer)
	checks.Refuse(c.written == ArgAssertionFile && c.AssertionFile == "", &c.AssertionFile,
		`assertion_file is empty. Write the path of a file, such as "/var/run/secrets/tokens/login".`)
}

// FormFields returns the fields of a token request that the client sets.
func (c *ClientAuth) FormFields() []string {
	fields := []string{"client_id", ArgClientSecret}
	if c.HasAssertion() {
		fields = append(fields, "client_assertion", "client_assertion_type")
	}
	return fields
}
