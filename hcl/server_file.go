package hcl

import (
	"hatchel/hcl/decode"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// serverFile is a file that the server writes for itself, as an argument names it.
type serverFile struct {
	purpose  string // what is in it: audit, state
	argument string
	example  string // a name that it could have
}

// decodeFileName is the name of such a file, which is known when the files are loaded; empty for what is none.
func decodeFileName(d *decode.Decoder, e hclsyntax.Expression, f serverFile) string {
	name, ok := d.Known(e, decode.Field{Name: f.argument}, "string").(string)
	switch {
	case !ok:
	case strings.TrimSpace(name) == "" || strings.HasSuffix(name, "/") || strings.ContainsRune(name, 0):
		d.Errorf(e.Range(), "Invalid "+f.purpose+" file", "%s names a file, as in %q, and this is %q.", f.argument, f.example, name)
	case strings.HasSuffix(name, ".hcl"):
		d.Errorf(e.Range(), "Invalid "+f.purpose+" file", "%q would be read as a part of the configuration. Call it %q.", name, f.example)
	default:
		return name
	}
	return ""
}
