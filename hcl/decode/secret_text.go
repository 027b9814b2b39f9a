package decode

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
)

// SecretText is a string known at load that may be secret. It prints as Hidden; only Reveal returns
// the text.
type SecretText string

func (SecretText) String() string { return diag.Hidden }

func (SecretText) GoString() string { return diag.Hidden }

// MarshalText returns Hidden, so that encoders do not expose the secret.
func (SecretText) MarshalText() ([]byte, error) { return []byte(diag.Hidden), nil }

// Reveal returns the text itself.
func (s SecretText) Reveal() string { return string(s) }

// SecretTexts are texts that are known at load and may be secret, by names that are not. They are in written order, or
// sorted by name if the map itself is an expression.
type SecretTexts []*NamedSecret

// NamedSecret is one of SecretTexts. Errors may blame it.
type NamedSecret struct {
	Name string
	Text SecretText // empty if it is missing, or was not read
	Key  diag.Range // of the name
}

// Names returns the names.
func (s SecretTexts) Names() []string {
	names := make([]string, len(s))
	for i, t := range s {
		names[i] = t.Name
	}
	return names
}

// secretTexts reads a map of texts.
func (d *Decoder) secretTexts(e hclsyntax.Expression, f Field) (out SecretTexts) {
	f.Secret, f.Fixed = true, true
	c := d.compilerIn(d.LoadScope.WithSecrets(eval.AllowSecrets))
	d.noteParts(c, f)
	values := c.CompileKeyValues(e, hclexpr.LexicalEnv{}, f.argument())
	d.checkCredentials(c, e, f)
	d.Diags = append(d.Diags, c.Diags...)
	out = SecretTexts{}
	for _, entry := range values.Entries() {
		text, isText := entry.Value.Typed.Value.(string)
		switch {
		case !entry.Value.Constant():
			d.MissingValue = true
		case !isText:
			d.Diags.Errorf(entry.Value.Range, "Wrong type", "%s of %s is a string, not %s.", entry.Name, f.Name,
				eval.TypePhrase(entry.Value.Type()))
		}
		secret := &NamedSecret{Name: entry.Name, Text: SecretText(text), Key: entry.Key}
		d.Ranges[secret] = entry.Value.Range
		out = append(out, secret)
	}
	return out
}
