package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/mcp"
)

// key is one key that programs send. Only its digest is known here.
type key struct {
	digest   [sha256.Size]byte
	expires  time.Time // zero for never
	identity mcp.Identity
	grant    string
}

func newKey(k *hcl.APIKey) key {
	grant := grantOf("key", k.Name, k.Digest, k.Groups, k.Scopes, k.Expires)
	return key{digest: k.Digest, expires: k.Expires, grant: grant, identity: mcp.Identity{
		Subject: k.Name, Key: k.Name, Groups: k.Groups, Scopes: k.Scopes, Grant: grant, Expires: k.Expires,
	}}
}

// key finds out whose key it is. How long that takes says nothing of the keys that there are: it is the digest that is compared, with each of them, in constant
// time.
func (c *Callers) key(text string) (*mcp.Identity, *Refusal) {
	digest := sha256.Sum256([]byte(text))
	found := -1
	for n := range c.keys {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(digest[:], c.keys[n].digest[:]), n, found)
	}
	if found < 0 {
		return nil, invalidToken("The key or token is not one that this server knows")
	}
	k := &c.keys[found]
	if !k.expires.IsZero() && !c.now().Before(k.expires) {
		refused := invalidToken("The key has expired")
		refused.known = true
		return nil, refused
	}
	i := k.identity
	return &i, nil
}
