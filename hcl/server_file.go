package hcl

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// ownFile is a file that the server writes for itself, as an argument names it.
type ownFile struct {
	of       string // what is in it: audit, state
	argument string
	like     string // a name that it could have
}

// fileName is the name of such a file, which is known when the files are loaded; empty for what is none.
func (d *decoder) fileName(e hclsyntax.Expression, f ownFile) string {
	name, ok := d.known(e, Field{Name: f.argument}, "string").(string)
	switch {
	case !ok:
	case strings.TrimSpace(name) == "" || strings.HasSuffix(name, "/") || strings.ContainsRune(name, 0):
		d.errorf(e.Range(), "Invalid "+f.of+" file", "%s names a file, as in %q, and this is %q.", f.argument, f.like, name)
	case strings.HasSuffix(name, ".hcl"):
		d.errorf(e.Range(), "Invalid "+f.of+" file", "%q would be read as a part of the configuration. Call it %q.", name, f.like)
	default:
		return name
	}
	return ""
}
