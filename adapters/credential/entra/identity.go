// Package entra fetches access tokens of Microsoft Entra from the sources that Microsoft documents for workloads: a
// client secret or assertion of an application, the token file of workload identity, and managed identities. It reads
// no state of az and runs no program.
package entra

import (
	"os"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/adapters/credential"
	"hatchel/hcl"
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/internal/lazyregexp"
)

// Identity is as whom tokens are fetched: the arguments that all blocks about Entra have. The zero Identity is the one
// that the environment has.
type Identity struct {
	Tenant        string
	ClientID      string
	Cloud         string
	ClientSecret  hcl.SecretText
	Key           hcl.SecretText
	Certificate   string
	AssertionFile string
}

// Spec declares the arguments.
func (i *Identity) Spec() hcl.Spec {
	return hcl.Join(
		hcl.Spec{
			hcl.Attr(&i.Tenant, "tenant", "The id or a domain of the tenant.").
				Check(func(d *decode.Decoder, r diag.Range) { refuseEmpty(d, r, i.Tenant) }).
				DefaultDoc("AZURE_TENANT_ID, for a workload identity"),
			hcl.Attr(&i.ClientID, "client_id", "The client id of the application, or of a user-assigned managed "+
				"identity.").Check(func(d *decode.Decoder, r diag.Range) { refuseEmpty(d, r, i.ClientID) }).
				DefaultDoc("AZURE_CLIENT_ID, if there is no credential in the block"),
			hcl.Choice(&i.Cloud, "cloud", `The cloud of the tenant: "public", "usgovernment" or "china".`,
				cloudPublic, cloudUSGovernment, cloudChina).DefaultDoc(`that of AZURE_AUTHORITY_HOST, or "public"`),
		},
		hcl.AtMostOneOf("how the application signs in",
			hcl.Attr(&i.ClientSecret, "client_secret", "A secret of the application.").
				Check(func(d *decode.Decoder, r diag.Range) { refuseEmpty(d, r, i.ClientSecret.Reveal()) }),
			hcl.Attr(&i.Key, "key", "An RSA key of the application, PEM or a JWK. For each token it signs a new "+
				"assertion, which is valid for a minute.").
				Check(func(d *decode.Decoder, r diag.Range) { refuseEmpty(d, r, i.Key.Reveal()) }),
			hcl.Attr(&i.AssertionFile, "assertion_file", "A file with a token of an issuer that the application "+
				"trusts (a federated credential), such as a projected token of Kubernetes. It is read at each fetch.").
				Check(func(d *decode.Decoder, r diag.Range) { refuseEmpty(d, r, i.AssertionFile) }),
		),
		hcl.Spec{
			hcl.Attr(&i.Certificate, "certificate", "With key: a PEM file with its certificate, which the application "+
				"in Entra has.").Contents(),
		},
	)
}

// refuseEmpty reports an empty text, which would leave the choice of the identity to the environment.
func refuseEmpty(d *decode.Decoder, r diag.Range, text string) {
	if text == "" {
		d.Diags.Errorf(r, "Empty text", "The argument is empty. Write a non-empty string, or remove it to sign in "+
			"with the identity of the environment.")
	}
}

// tenantForm is that of ids and domains. They are a part of the address that is asked.
var tenantForm = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`)

// sharedTenants are no tenants: their endpoints sign in people of any tenant.
var sharedTenants = []string{"common", "organizations", "consumers"}

func isTenant(text string) bool {
	return tenantForm.MatchString(text) && !strings.Contains(text, "..") &&
		!slices.Contains(sharedTenants, strings.ToLower(text))
}

// Check reports mistakes in the arguments. It reads neither the environment nor files.
func (i *Identity) Check(checks *adapters.Checks) {
	checks.Refuse(i.Tenant != "" && !isTenant(i.Tenant), &i.Tenant, "tenant must be the id of one tenant, such as "+
		`"72f988bf-86f1-41af-91ab-2d7cd011db47", or one of its domains.`)
	for _, c := range []struct {
		text  string
		field any
		name  string
	}{
		{i.ClientSecret.Reveal(), &i.ClientSecret, "client_secret"},
		{i.Key.Reveal(), &i.Key, "key"},
		{i.AssertionFile, &i.AssertionFile, "assertion_file"},
	} {
		const text = "%s is of an application, of which the block needs the tenant and the client_id."
		checks.Refuse(c.text != "" && (i.Tenant == "" || i.ClientID == ""), c.field, text, c.name)
	}
	checks.Refuse(i.Key.Reveal() != "" && i.Certificate == "", &i.Key, "Entra finds the key by its certificate. Write "+
		`certificate = "client.pem", which the application in Entra has, too.`)
	checks.Refuse(i.Certificate != "" && (i.ClientSecret.Reveal() != "" || i.AssertionFile != ""), &i.Certificate,
		"certificate is that of a key, which this block does not have.")
}

// signingAlgorithm is that of assertions which name a certificate by its SHA-256 thumbprint.
const signingAlgorithm = "PS256"

// openKey returns the key of the block; nil if it has none, and where no secret is read.
func (i *Identity) openKey(env adapters.Env) (*credential.ClientKey, error) {
	mocked := env.Mocks != nil && !env.Mocks.Live(false)
	if i.Key.Reveal() == "" || env.Inspect || mocked {
		return nil, nil
	}
	k, err := credential.ParseClientKey(i.Key.Reveal())
	if err == nil {
		k, err = k.WithAlgorithm(signingAlgorithm)
	}
	if err != nil {
		return nil, hcl.Blame(&i.Key, "The key %v.", err)
	}
	text, err := os.ReadFile(adapters.Absolute(env.Dir, i.Certificate))
	if err != nil {
		return nil, hcl.Blame(&i.Certificate, "%q cannot be read.", i.Certificate)
	}
	if k, err = k.WithCertificate(text); err != nil {
		return nil, hcl.Blame(&i.Certificate, "The certificate in %q %v.", i.Certificate, err)
	}
	return k, nil
}
