package hcl

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
)

// APIKey is one api_key block. The key itself is not kept.
type APIKey struct {
	Name    string
	Digest  [sha256.Size]byte // of the key
	Groups  []string
	Scopes  []string
	Expires time.Time // zero for never
	Range   diag.Range
}

// apiKeyDecoder decodes an api_key block.
type apiKeyDecoder struct {
	key    APIKey
	Secret decode.SecretText
}

func (k *apiKeyDecoder) spec() decode.Spec {
	return decode.Join(
		decode.ExactlyOneOf("the key",
			decode.Custom("sha256", "64 hexadecimal digits",
				"The SHA-256 digest of the key, so that the key itself is not in the file: printf %s "+
					"\"$KEY\" | sha256sum.", k.decodeDigest),
			decode.Attr(&k.Secret, "secret", "The key itself, as in secret.ci_key. At least 16 characters.")),
		decode.Spec{
			decode.Attr(&k.key.Groups, "groups", "The groups of a caller that sends the key: caller.groups."),
			scopesField(&k.key.Scopes, "scopes", "The scopes granted to the key: caller.scopes."),
			decode.Custom("expires", "date and time",
				"When the key expires, as in \"2027-01-01T00:00:00Z\". By default a key does not expire.",
				k.decodeExpires),
		})
}

func (k *apiKeyDecoder) decodeDigest(d *decode.Decoder, e hclsyntax.Expression) {
	text, ok := d.Known(e, decode.Field{Name: "sha256"}, "string").(string)
	if !ok {
		return
	}
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != sha256.Size {
		d.Errorf(e.Range(), "Invalid key digest",
			"sha256 is the digest of the key as 64 hexadecimal digits, as printed by: printf %%s \"$KEY\" | "+
				"sha256sum. This value has %d characters.", len(text))
		return
	}
	k.key.Digest = [sha256.Size]byte(b)
}

func (k *apiKeyDecoder) decodeExpires(d *decode.Decoder, e hclsyntax.Expression) {
	text, ok := d.Known(e, decode.Field{Name: "expires"}, "string").(string)
	if !ok {
		return
	}
	t, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		d.Errorf(e.Range(), "Invalid time",
			"expires is a date and time with an offset like \"2027-01-01T00:00:00Z\", not %q.", text)
	case !t.After(d.Env.Now()):
		d.Diags.Warnf(diag.RangeOf(e.Range()), "Expired key",
			"The key has expired. Remove the block, or issue another key.")
	}
	k.key.Expires = t
}

// minKeyLength is the minimum number of characters of a key, to prevent guessing.
const minKeyLength = 16

// decodeKey decodes an api_key.
func (a *authDecoder) decodeKey(d *decode.Decoder, b *hclsyntax.Block) {
	k := new(apiKeyDecoder)
	k.key.Range = diag.RangeOf(b.DefRange())
	if len(b.Labels) != 1 {
		d.Errorf(b.DefRange(), "Wrong number of labels", "An api_key block is written `api_key \"name\" {`.")
	} else {
		k.key.Name = b.Labels[0]
		if !exposedNamePattern.MatchString(k.key.Name) {
			d.Errorf(b.LabelRanges[0], "Invalid key name",
				"The name of a key identifies its sender in logs and policies: 1 to 64 letters, digits, _, "+
					"- and ., not %q.", k.key.Name)
		}
	}
	before := len(d.Diags)
	d.Body(b.Body, k.spec(), b.DefRange())
	secret := k.Secret.Reveal()
	switch {
	case d.Diags[before:].HasErrors():
		return
	case k.key.Digest == [sha256.Size]byte{} && len(secret) < minKeyLength && !d.MissingValue:
		d.Errorf(d.FieldRange(&k.Secret, b), "Weak key",
			"A key of fewer than %d characters can be guessed. Generate one with: openssl rand -hex 32.", minKeyLength)
	case secret != "":
		k.key.Digest = sha256.Sum256([]byte(secret))
	}
	for _, other := range a.auth.Keys {
		if other.Name == k.key.Name {
			d.Errorf(b.DefRange(), "Duplicate api_key", "The key %q is already declared at %s:%d.", other.Name,
				other.Range.File, other.Range.Start.Line)
			return
		}
		if other.Digest == k.key.Digest && k.key.Digest != [sha256.Size]byte{} {
			d.Errorf(b.DefRange(), "Duplicate key",
				"This is also the key of %q, so its sender could not be identified. Use different keys.", other.Name)
			return
		}
	}
	a.auth.Keys = append(a.auth.Keys, &k.key)
}
