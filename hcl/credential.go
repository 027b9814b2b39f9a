package hcl

import (
	"bytes"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/eval/hclexpr"
)

// literalCredentials reports the literals of a file that are credentials by their form. Tests use credentials of their
// own.
func literalCredentials(src []byte, body *hclsyntax.Body) (diags Diagnostics) {
	for _, b := range body.Blocks {
		if !isTest(b) {
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
	var pairs []string
	for _, c := range credentials {
		if len(c) >= diag.MinCredentialLength {
			pairs = append(pairs, c, strings.Repeat("*", len(c)))
		}
	}
	replace := strings.NewReplacer(pairs...)
	for name, src := range l.config.Sources {
		l.config.Sources[name] = []byte(replace.Replace(string(src)))
	}
	for _, d := range diags {
		src, from, to := l.config.Sources[d.Subject.File], d.Subject.Start.Byte, d.Subject.End.Byte
		if d.Credential != nil && from <= to && to <= len(src) {
			concealTexts(src[from:to], d.Credential)
		}
	}
	return diags.ScrubCredentials()
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
