package entra

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"hatchel/internal/lazyregexp"
)

// tenantID is the form of the ids of tenants, which issuers have. A domain of the same tenant does not show its id.
var tenantID = lazyregexp.New(`^(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// issues reports whether tokens of an issuer are those of a tenant in a cloud. The id of a tenant that is given by a
// domain, or not at all, is not known: each tenant is then the one.
func (c Cloud) issues(issuer, tenant string) bool {
	rest, ok := strings.CutPrefix(issuer, "https://"+c.issuers[0]+"/")
	id, ofThisVersion := strings.CutSuffix(rest, "/v2.0")
	if !ok || !ofThisVersion {
		rest, ok = strings.CutPrefix(issuer, "https://"+c.issuers[1]+"/")
		if id, ofThisVersion = strings.CutSuffix(rest, "/"); !ok || !ofThisVersion {
			return false
		}
	}
	return tenantID.MatchString(id) && (!tenantID.MatchString(tenant) || strings.EqualFold(id, tenant))
}

// AcceptsIssuer reports whether the tokens of an issuer can be exchanged by the block, as far as it says it itself.
func (b *Bearer) AcceptsIssuer(issuer string) bool {
	for name, c := range clouds {
		if (b.Cloud == "" || b.Cloud == name) && c.issues(issuer, b.Tenant) {
			return true
		}
	}
	return false
}

// Issuer returns an issuer whose tokens can be exchanged by the block, for people to write. It has TENANT-ID in place
// of an id that is not known.
func (b *Bearer) Issuer() string {
	tenant := "TENANT-ID"
	if tenantID.MatchString(b.Tenant) {
		tenant = b.Tenant
	}
	name := b.Cloud
	if name == "" {
		name = cloudPublic
	}
	return "https://" + clouds[name].issuers[0] + "/" + tenant + "/v2.0"
}

// AcceptsScopes reports whether a sign-in that asks for scopes gets a token that the application of the block can
// exchange: one of them is its own. Other applications have an identifier that does not show their id.
func (b *Bearer) AcceptsScopes(scopes []string) bool {
	for _, scope := range scopes {
		end := strings.LastIndexByte(scope, '/')
		if end <= 0 || strings.HasPrefix(scope, "https://graph.microsoft.") {
			continue // a scope of OpenID, or of Microsoft Graph
		}
		id := strings.TrimPrefix(scope[:end], "api://")
		if b.ClientID == "" || !tenantID.MatchString(id) || strings.EqualFold(id, b.ClientID) {
			return true
		}
	}
	return false
}

// OwnScope returns a scope of the application of the block, for people to write.
func (b *Bearer) OwnScope() string {
	id := b.ClientID
	if id == "" {
		id = "CLIENT-ID"
	}
	return "api://" + id + "/access_as_user"
}

// issuerOf returns the issuer that a token names; empty if it is no JWT. It was verified when the caller used it.
func issuerOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims map[string]any // the fields of a struct would also take claims whose names differ in case
	if err != nil || json.Unmarshal(payload, &claims) != nil {
		return ""
	}
	issuer, _ := claims["iss"].(string)
	return issuer
}
