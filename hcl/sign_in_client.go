package hcl

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/internal/hostname"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/redirect"
)

// builtInClients are the ids of the clients that the program itself has.
var builtInClients = []string{"console", "hatchel"}

// keepDocumentHost returns an element of documents.
func keepDocumentHost(d *decode.Decoder, r Range, text string) string {
	const form = "documents has the hosts of client ID documents, as in [\"claude.ai\"]."
	if text == "*" {
		d.Diags.Warnf(r, "Documents of every host", "Everybody who has a web site can make a client that people of "+
			"this server are asked to trust. Name the hosts, as in [\"claude.ai\", \"vscode.dev\"].")
		return text
	}
	host, ok := hostname.Parse(text)
	u, err := url.Parse(text)
	named, _, isURL := hostname.Split(hostOf(u))
	switch {
	case ok && (hostname.IsAddress(host) || hostname.IsLocal(host) || !strings.Contains(host, ".")):
		d.Diags.Errorf(r, "Invalid host", "%s A document is fetched from a public name, not from %q. Declare a client "+
			"of this machine or network by a client block.", form, text)
	case ok:
		return host
	case strings.Contains(text, "*"):
		d.Diags.Errorf(r, "Invalid host", "%s Write each host: a wildcard would accept names that others can create.",
			form)
	case err == nil && isURL:
		d.Diags.Errorf(r, "Invalid host", "%s It is not a URL: write %q.", form, named)
	default:
		if named, port, split := hostname.Split(text); split && port != "" {
			d.Diags.Errorf(r, "Invalid host", "%s Documents are fetched from port 443: write %q.", form, named)
		} else if named, _, split := hostname.Split(before(text, "/")); split {
			d.Diags.Errorf(r, "Invalid host", "%s It has no path: write %q.", form, named)
		} else {
			d.Diags.Errorf(r, "Invalid host", "%s %q is no name of a host.", form, text)
		}
	}
	return ""
}

func before(text, sep string) string {
	head, _, _ := strings.Cut(text, sep)
	return head
}

// keepRedirect returns an element of redirects of a client block.
func keepRedirect(d *decode.Decoder, r Range, address string) string {
	if problem := redirect.Check(address); problem != "" {
		const form = "A redirect is the address to which a client comes back, as in " +
			"\"http://localhost:6274/oauth/callback\" or \"https://app.example/callback\", not %q: %s."
		d.Diags.Errorf(r, "Invalid redirect", form, address, problem)
		return ""
	}
	return address
}

// keepAllowedRedirect returns an element of redirects of the register block.
func keepAllowedRedirect(d *decode.Decoder, r Range, text string) string {
	const form = "Clients may come back to \"loopback\", to an origin such as \"https://claude.ai\", or to a private " +
		"scheme with its host, such as \"cursor://anysphere.cursor-mcp\""
	problem := redirect.CheckAllowed(text)
	a, _ := redirect.Parse(text)
	_, isHost := hostname.Parse(text)
	switch {
	case strings.EqualFold(text, redirect.Loopback) && text != redirect.Loopback:
		d.Diags.Errorf(r, "Invalid redirect", "%s. Write %q.", form, redirect.Loopback)
	case problem != "" && isHost:
		d.Diags.Errorf(r, "Invalid redirect", "%s. Write %q.", form, "https://"+text)
	case problem != "":
		d.Diags.Errorf(r, "Invalid redirect", "%s, not to %q: %s.", form, text, problem)
	case a.Rest == "/":
		d.Diags.Errorf(r, "Invalid redirect", "%s. With a slash at the end it is one address: write %q.", form,
			strings.TrimSuffix(text, "/"))
	case a.Rest == "" && a.Scheme == "https" && a.Port == "443":
		d.Diags.Errorf(r, "Invalid redirect", "%s. Clients do not write the port of https: write %q.", form,
			strings.TrimSuffix(text, ":443"))
	default:
		return text
	}
	return ""
}

// keepAssertionClient returns an element of clients of the assertions block.
func (s *SignIn) keepAssertionClient(d *decode.Decoder, r Range, id string, public bool) string {
	a, _ := redirect.Parse(id)
	declared := slices.IndexFunc(s.Clients, func(c *SignInClient) bool { return c.Name == id })
	switch {
	case declared >= 0 && !s.Clients[declared].Confidential && !public:
		d.Diags.Warnf(r, "Client without authentication", "The client %q has neither secret nor keys, and so its "+
			"assertions are refused. Add keys to it, or write public = true.", id)
	case declared >= 0:
	case isDocumentURL(id) && (slices.Contains(s.Documents, "*") || slices.Contains(s.Documents, a.Host)):
	case isDocumentURL(id):
		d.Diags.Errorf(r, "Unknown client", "%q is on a host whose documents are not accepted. Write documents = %s.",
			id, listLiteral(append(slices.Clone(s.Documents), a.Host)))
	case strings.Contains(id, "/"):
		d.Diags.Errorf(r, "Unknown client", "%q is not the URL of a client ID document, which has https, the name of "+
			"a host in lower case without a port, and a path.", id)
	default:
		var names []string
		for _, c := range s.Clients {
			names = append(names, c.Name)
		}
		d.Diags.Errorf(r, "Unknown client", "There is no client block %q.%s", id, diag.SuggestOr(id, names,
			" Write the name of one, or the URL of a client ID document."))
	}
	return id
}

// checkIssuer returns the check of an issuer of assertions, which is neither this server nor one that everybody has an
// account at: its subjects are taken for people of the provider.
func (a *Assertions) checkIssuer(s *SignIn) func(*decode.Decoder, Range) {
	return func(d *decode.Decoder, r Range) {
		u, err := url.Parse(a.Issuer)
		switch problem := issuerProblem(a.Issuer); {
		case problem != "":
			d.Diags.Errorf(r, "Invalid issuer", "%s", problem)
		case s.URL != "" && strings.TrimSuffix(a.Issuer, "/") == s.URL:
			d.Diags.Errorf(r, "Invalid issuer", "This is the url of this server, which issues no identity assertions. "+
				"Write the issuer that does, or remove issuer for that of the provider.")
		case err == nil && a.Issuer != s.Provider && findPublicProvider(u) != nil:
			d.Diags.Errorf(r, "Other people", "Everybody has an account at %s, and its subjects would be taken for "+
				"people of the provider. Remove issuer, or write one of your company.", findPublicProvider(u).name)
		}
	}
}

// clientNamePattern matches the id of a declared client.
var clientNamePattern = lazyregexp.New(`^[A-Za-z0-9._~-]{1,100}$`)

// isDocumentURL reports whether an id can be the URL of a client ID document.
func isDocumentURL(id string) bool {
	a, problem := redirect.Parse(id)
	path, _, hasQuery := strings.Cut(a.Rest, "?")
	return problem == "" && a.Scheme == "https" && a.Port == "" && !hasQuery && path != "" && path != "/"
}

// checkClientName checks the label of a client block.
func checkClientName(d *decode.Decoder, b *hclsyntax.Block) {
	name, at := b.Labels[0], labelRange(b)
	switch {
	case slices.Contains(builtInClients, strings.ToLower(name)):
		d.Diags.Errorf(at, "Built-in client", "%q is the id of a client that this program has itself. Choose another "+
			"name.", name)
	case isDocumentURL(name): // it is not fetched: the block says what the document would say
	case strings.Contains(name, ":") || strings.Contains(name, "/"):
		d.Diags.Errorf(at, "Invalid client name", "%q is neither a word nor the URL of a client ID document, which "+
			"has https, the name of a host and a path.", name)
	case !clientNamePattern.MatchString(name):
		d.Diags.Errorf(at, "Invalid client name", "The name of a client is its client_id: 1 to 100 letters, digits, "+
			"., _, ~ and -, not %q.", name)
	}
}

// checkSecret checks the secret of a client without showing it.
func (c *SignInClient) checkSecret(d *decode.Decoder, r Range) {
	if len(c.Secret) < minKeyLength {
		d.Diags.Errorf(r, "Weak secret", "A secret of fewer than %d characters can be guessed. Generate one with: "+
			"openssl rand -base64 32.", minKeyLength)
	}
}

// checkKeys checks the public keys of a client, or their address.
func (c *SignInClient) checkKeys(d *decode.Decoder, r Range) {
	const form = "keys is a JSON Web Key Set, as in file(\"client.jwks\"), or its URL with https"
	text := strings.TrimSpace(c.Keys)
	if !strings.HasPrefix(text, "{") {
		if problem := urlProblem(text); problem != "" {
			d.Diags.Errorf(r, "Invalid keys", "%s: %s.", form, problem)
		}
		c.Keys, c.KeysURL = "", text
		return
	}
	var set struct{ Keys []map[string]any }
	switch err := json.Unmarshal([]byte(text), &set); {
	case err != nil:
		d.Diags.Errorf(r, "Invalid keys", "%s: it is not valid JSON of such a set.", form)
	case len(set.Keys) == 0:
		d.Diags.Errorf(r, "Invalid keys", "%s: it has no keys, which are in its member keys.", form)
	}
	for _, key := range set.Keys {
		switch {
		case key["d"] != nil:
			d.Diags.Errorf(r, "Invalid keys", "%s: it has a private key, which only the client may have. Write the "+
				"public one.", form)
			return
		case key["kty"] == "oct" || key["k"] != nil:
			d.Diags.Errorf(r, "Invalid keys", "%s: it has a shared key. A shared secret is written secret = secret.%s.",
				form, "NAME")
			return
		}
	}
	if len(set.Keys) > 0 && !slices.ContainsFunc(set.Keys, verifiesSignatures) {
		d.Diags.Errorf(r, "Invalid keys", "%s: none of its keys verifies signatures. One has kty RSA with n and e, EC "+
			"with crv, x and y, or OKP with crv Ed25519 and x, and no use but sig.", form)
	}
}

// verifiesSignatures reports whether a key has the members of a public key for signatures (RFC 7518, section 6).
func verifiesSignatures(key map[string]any) bool {
	hasTexts := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { text, _ := key[name].(string); return text == "" })
	}
	if use, given := key["use"]; given && use != "sig" {
		return false
	}
	switch key["kty"] {
	case "RSA":
		return hasTexts("n", "e")
	case "EC":
		return hasTexts("crv", "x", "y")
	case "OKP":
		return key["crv"] == "Ed25519" && hasTexts("x")
	}
	return false
}

// checkDocuments refuses hosts beside a wildcard.
func (s *SignIn) checkDocuments(d *decode.Decoder, b *hclsyntax.Block) {
	if slices.Contains(s.Documents, "*") && len(s.Documents) > 1 {
		d.Errorf(b.Body.Attributes["documents"].Expr.Range(), "Hosts without effect", "\"*\" accepts every host. "+
			"Write [\"*\"], or better the hosts alone.")
	}
}
