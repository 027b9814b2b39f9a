package entra

import (
	"strings"

	"hatchel/adapters"
	"hatchel/adapters/credential"
	"hatchel/hcl"
)

// Bearer is an entra block of an http connection: requests have an access token of Entra, of the server or on behalf
// of the caller.
type Bearer struct {
	Identity
	Scope      string
	OnBehalfOf bool
}

// Spec declares the arguments of the block.
func (b *Bearer) Spec() hcl.Spec {
	return hcl.Join(b.Identity.Spec(), hcl.Spec{
		hcl.Attr(&b.Scope, "scope", `What the tokens are for: "RESOURCE/.default", such as `+
			`"https://graph.microsoft.com/.default". With on_behalf_of also permissions, separated by spaces, such as `+
			`"https://graph.microsoft.com/User.Read".`).Require(),
		hcl.Attr(&b.OnBehalfOf, "on_behalf_of", "true makes requests on behalf of the caller: the token that the "+
			"caller has for the application of client_id is exchanged for one of the service, and is sent to Entra "+
			"only. Requires auth { jwt } or auth { sign_in } of the tenant."),
	})
}

const defaultScope = "/.default"

// Check reports mistakes in the arguments. It reads neither the environment nor files.
func (b *Bearer) Check(checks *adapters.Checks) {
	b.Identity.Check(checks)
	isScope := func(text string) bool { return credential.IsToken(text) && !strings.ContainsAny(text, `"\`) }
	if b.OnBehalfOf {
		for scope := range strings.SplitSeq(b.Scope, " ") {
			checks.Refuse(!isScope(scope), &b.Scope, "scope must have permissions, separated by single spaces, such "+
				`as "https://graph.microsoft.com/User.Read".`)
		}
		return
	}
	resource, ok := strings.CutSuffix(b.Scope, defaultScope)
	if end := strings.LastIndexByte(b.Scope, '/'); !ok && end > 0 && !strings.HasSuffix(b.Scope[:end], "/") {
		resource = b.Scope[:end]
	}
	if isName := !strings.Contains(resource, "/") && !ok; isName || !isScope(resource) {
		ok, resource = false, "https://graph.microsoft.com"
	}
	checks.Refuse(!ok, &b.Scope, "An application has all permissions that were granted to it for a resource, and no "+
		"others. Write scope = %q, or on_behalf_of = true.", resource+defaultScope)
}

// resource is what tokens of the server are for.
func (b *Bearer) resource(Cloud) string { return strings.TrimSuffix(b.Scope, defaultScope) }

// Source returns the source of tokens of the server. Its error is for the author.
func (b *Bearer) Source(fetches *credential.Fetches, cloud *credential.Cloud, env adapters.Env) (*Source, error) {
	return NewSource(fetches, cloud, &b.Identity, env, b.resource)
}

// String describes the tokens, for people.
func (b *Bearer) String() string {
	if b.OnBehalfOf {
		return "on behalf of the caller"
	}
	return "access token of Entra for " + b.Scope
}
