package signin

import (
	"encoding/json"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/runtime/edge/signin/client"
)

// assertionGrant is the grant of assertions, such as ID-JAG (RFC 7523).
const assertionGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"

// assertionProfile names the profile of assertions in the metadata.
const assertionProfile = "urn:ietf:params:oauth:grant-profile:id-jag"

// metadata is the metadata of the authorization server (RFC 8414).
type metadata struct {
	Issuer        string   `json:"issuer"`
	Authorize     string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Register      string   `json:"registration_endpoint,omitempty"`
	Revoke        string   `json:"revocation_endpoint"`
	Keys          string   `json:"jwks_uri"`
	Scopes        []string `json:"scopes_supported,omitempty"`
	ResponseTypes []string `json:"response_types_supported"`
	ResponseModes []string `json:"response_modes_supported"`
	GrantTypes    []string `json:"grant_types_supported"`
	GrantProfiles []string `json:"authorization_grant_profiles_supported,omitempty"`
	Challenges    []string `json:"code_challenge_methods_supported"`
	TokenAuth     []string `json:"token_endpoint_auth_methods_supported"`
	TokenAlgs     []string `json:"token_endpoint_auth_signing_alg_values_supported"`
	RevokeAuth    []string `json:"revocation_endpoint_auth_methods_supported"`
	RevokeAlgs    []string `json:"revocation_endpoint_auth_signing_alg_values_supported"`
	Documents     bool     `json:"client_id_metadata_document_supported"`
	NamesIssuer   bool     `json:"authorization_response_iss_parameter_supported"`
	Command       string   `json:"hatchel_client_id"` // the client that the commands of this program are
}

// admitsDocuments reports whether clients may have the URL of a document as their id.
func admitsDocuments(d *hcl.SignIn) bool {
	return len(d.Documents) > 0 || slices.ContainsFunc(d.Clients, func(c *hcl.SignInClient) bool {
		return strings.HasPrefix(c.Name, "https:")
	})
}

// serveMetadata answers with the metadata, whose addresses are all of the declared url.
func (s *Server) serveMetadata(q *request) error {
	d := q.decl
	m := &metadata{
		Issuer: d.URL, Authorize: d.URL + root + "/authorize", Token: d.URL + root + "/token",
		Revoke: d.URL + root + "/revoke", Keys: d.URL + root + "/jwks",
		ResponseTypes: []string{"code"}, ResponseModes: []string{"query"},
		GrantTypes: []string{"authorization_code", "refresh_token"}, Challenges: []string{"S256"},
		TokenAuth: client.AuthMethods, TokenAlgs: client.AuthAlgorithms,
		RevokeAuth: client.AuthMethods, RevokeAlgs: client.AuthAlgorithms,
		Documents: admitsDocuments(d), NamesIssuer: true, Command: client.Command,
	}
	for _, scope := range d.ScopeBlocks {
		m.Scopes = append(m.Scopes, scope.Name)
	}
	if d.Register != nil {
		m.Register = d.URL + root + "/register"
	}
	if d.Assertions != nil {
		m.GrantTypes = append(m.GrantTypes, assertionGrant)
		m.GrantProfiles = []string{assertionProfile}
	}
	return q.writeDocument(m)
}

// serveKeys answers with the keys that verify access tokens.
func (s *Server) serveKeys(q *request) error {
	set, err := q.g.Authenticator.Own().KeySet()
	if err != nil {
		return err
	}
	return q.writeDocument(json.RawMessage(set))
}

// writeDocument answers with what is the same for everybody.
func (q *request) writeDocument(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	h := q.writer.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "public, max-age=300")
	q.writer.Write(body)
	return nil
}
