package hcl

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
)

// KeyPrefix is how the API keys begin that the program generates.
const KeyPrefix = "hatchel_"

// APIKey is one key of an api_key block, whose keys have everything but Digest and Expires in common.
// The key itself is not kept.
type APIKey struct {
	Name    string
	Digest  [sha256.Size]byte // of the key
	Groups  []string
	Scopes  []string
	Expires time.Time // zero for never
	Range   Range
}

// apiKeyDecoder decodes an api_key block, or a digest block in it.
type apiKeyDecoder struct {
	key     APIKey
	digest  string // in hexadecimal
	secret  decode.SecretText
	expires string
	keys    []*APIKey // of the digest blocks
}

func (k *apiKeyDecoder) spec() decode.Spec {
	return decode.Join(
		decode.ExactlyOneOf("the key",
			k.digestField(),
			decode.Attr(&k.secret, "secret",
				"The key itself, as in secret.ci_key. At least 16 characters.").Check(k.hashSecret),
			decode.Blocks("digest", "", "The digest of one of several keys with this name: while a key is replaced, "+
				"the old one and the new one are both valid.",
				func() decode.Spec { return new(apiKeyDecoder).digestSpec() }, k.decodeDigestBlock)),
		decode.Spec{
			decode.Attr(&k.key.Groups, "groups", "The groups of a caller that sends the key: caller.groups."),
			scopesField(&k.key.Scopes, "scopes", "The scopes granted to the key: caller.scopes."),
			k.expiresField(),
		})
}

func (k *apiKeyDecoder) digestSpec() decode.Spec {
	return decode.Spec{k.digestField().Require(), k.expiresField()}
}

func (k *apiKeyDecoder) digestField() decode.Field {
	return decode.Attr(&k.digest, "sha256", "The SHA-256 digest of the key, so that the key itself is not in the "+
		"file. hatchel key new prints a key and its digest.").TypeDoc("64 hexadecimal digits").Check(k.decodeDigest)
}

func (k *apiKeyDecoder) expiresField() decode.Field {
	return decode.Attr(&k.expires, "expires", "When the key expires, as in \"2027-01-01T00:00:00Z\". By default a "+
		"key does not expire.").TypeDoc("date and time").Check(k.decodeExpires)
}

func (k *apiKeyDecoder) decodeDigestBlock(d *decode.Decoder, b *hclsyntax.Block) {
	one := new(apiKeyDecoder)
	one.key.Range = headerRange(b)
	d.Body(b, one.digestSpec())
	k.keys = append(k.keys, &one.key)
}

func (k *apiKeyDecoder) decodeDigest(d *decode.Decoder, r Range) {
	b, err := hex.DecodeString(k.digest)
	if err != nil || len(b) != sha256.Size {
		d.Diags.Errorf(r, "Invalid key digest", "sha256 is the digest of the key as 64 hexadecimal digits, as "+
			"printed by: printf %%s \"$KEY\" | sha256sum. This value has %d characters.", len(k.digest))
		return
	}
	k.key.Digest = [sha256.Size]byte(b)
}

// minKeyLength is the minimum number of characters of a key, to prevent guessing.
const minKeyLength = 16

func (k *apiKeyDecoder) hashSecret(d *decode.Decoder, r Range) {
	if len(k.secret) < minKeyLength {
		d.Diags.Errorf(r, "Weak key",
			"A key of fewer than %d characters can be guessed. Generate one with: hatchel key new.", minKeyLength)
	}
	k.key.Digest = sha256.Sum256([]byte(k.secret))
}

func (k *apiKeyDecoder) decodeExpires(d *decode.Decoder, r Range) {
	t, err := time.Parse(time.RFC3339, k.expires)
	switch {
	case err != nil:
		d.Diags.Errorf(r, "Invalid time",
			"expires is a date and time with an offset like \"2027-01-01T00:00:00Z\", not %q.", k.expires)
	case !t.After(d.Env.Now()):
		d.Diags.Warnf(r, "Expired key",
			"The key has expired. Remove the block, or issue another key with: hatchel key new.")
	}
	k.key.Expires = t
}

// decodeKey decodes an api_key.
func (a *Auth) decodeKey(d *decode.Decoder, b *hclsyntax.Block) {
	k := new(apiKeyDecoder)
	k.key.Range = headerRange(b)
	if len(b.Labels) != 1 {
		d.Errorf(b.DefRange(), "Wrong number of labels", "An api_key block is written `api_key \"name\" {`.")
	} else {
		k.key.Name = b.Labels[0]
		checkExposedName(d, b, "key", "identifies its sender in logs and policies")
	}
	before := len(d.Diags)
	d.Body(b, k.spec())
	if expires := b.Body.Attributes["expires"]; expires != nil && k.keys != nil {
		d.Errorf(expires.NameRange, "Does not apply here", "Each digest block has its own expires.")
	}
	if d.Diags[before:].HasErrors() {
		return
	}
	for _, other := range a.Keys {
		if other.Name == k.key.Name {
			d.Errorf(b.DefRange(), "Duplicate api_key", "The key %q is already declared at %s:%d.", other.Name,
				other.Range.File, other.Range.Start.Line)
			d.Diags.Relate(other.Range)
			return
		}
	}
	if k.keys == nil {
		k.keys = []*APIKey{&k.key}
	}
	for _, key := range k.keys {
		key.Name, key.Groups, key.Scopes = k.key.Name, k.key.Groups, k.key.Scopes
		a.addKey(d, key)
	}
}

// addKey adds a key unless it is declared already.
func (a *Auth) addKey(d *decode.Decoder, key *APIKey) {
	for _, other := range a.Keys {
		if other.Digest == key.Digest && key.Digest != [sha256.Size]byte{} {
			d.Diags.Errorf(key.Range, "Duplicate key",
				"The same key is declared for %q. Remove it here, or use another one: a key identifies one caller.",
				other.Name)
			return
		}
	}
	a.Keys = append(a.Keys, key)
}
