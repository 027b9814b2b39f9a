package hcl

import (
	"bytes"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval/hclexpr"
)

// literalCredentials reports the literals of a file that are credentials by their form. Tests use credentials of their
// own.
func literalCredentials(src []byte, body *hclsyntax.Body) (diags Diagnostics) {
	for _, b := range body.Blocks {
		if b.Type != testBlock.name {
			diags = append(diags, hclexpr.LiteralCredentials(src, b, "")...)
		}
	}
	return diags
}

// conceal removes the credentials that diagnostics report from all of them, and from the sources that are printed with
// them.
func (l *loader) conceal(diags Diagnostics) Diagnostics {
	credentials := diags.Credentials()
	if credentials == nil {
		return diags
	}
	for name, src := range l.config.Sources {
		l.config.Sources[name] = concealIn(src, name, credentials, diags)
	}
	return diags.ScrubCredentials()
}

// concealIn returns a source in which credentials are asterisks. Positions remain.
func concealIn(src []byte, name string, credentials []string, diags Diagnostics) []byte {
	src = bytes.Clone(src)
	for _, c := range credentials {
		if len(c) >= diag.MinCredentialLength {
			src = bytes.ReplaceAll(src, []byte(c), bytes.Repeat([]byte("*"), len(c)))
		}
	}
	for _, d := range diags {
		from, to := d.Subject.Start.Byte, d.Subject.End.Byte
		if d.Credential != nil && d.Subject.File == name && from <= to && to <= len(src) {
			concealTexts(src[from:to], d.Credential)
		}
	}
	return src
}

// concealTexts overwrites a credential, or what is in quotes where it is made.
func concealTexts(place []byte, c *diag.Credential) {
	inText := false
	for i, b := range place {
		switch {
		case b == '\n':
		case c.Whole:
			place[i] = '*'
		case b == '"':
			inText = !inText
		case inText:
			place[i] = '*'
		}
	}
	if !bytes.Contains(place, []byte(`"`)) {
		copy(place, bytes.ReplaceAll(place, []byte(c.Text), bytes.Repeat([]byte("*"), len(c.Text))))
	}
}
