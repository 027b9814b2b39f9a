package auth

import (
	"crypto/sha256"
	"crypto/subtle"

	"hatchel/hcl"
	"hatchel/runtime/mcp"
)

// apiKey is a declared API key. Only its digest is known.
type apiKey struct {
	digest   [sha256.Size]byte
	identity mcp.Identity
}

func newAPIKey(k *hcl.APIKey) apiKey {
	return apiKey{digest: k.Digest, identity: mcp.Identity{
		Subject: k.Name, Key: k.Name, Groups: k.Groups, Scopes: k.Scopes, Expires: k.Expires,
		Grant: grantOf("key", k.Name, k.Digest, k.Groups, k.Scopes, k.Expires),
	}}
}

// identifyKey authenticates the caller of an API key. It compares digests with all keys in constant
// time, so that the duration tells nothing about the keys.
func (c *Authenticator) identifyKey(credential string) (*mcp.Identity, *Refusal) {
	digest := sha256.Sum256([]byte(credential))
	found := -1
	for n := range c.keys {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(digest[:], c.keys[n].digest[:]), n, found)
	}
	if found < 0 {
		return nil, unknownCredential
	}
	i := c.keys[found].identity
	if !i.Expires.IsZero() && !c.now().Before(i.Expires) {
		refused := invalidToken("The key has expired")
		refused.isOurs = true
		return nil, refused
	}
	return &i, nil
}
