package hcl

import (
	"hatchel/hcl/decode"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// decodeDatabaseURL is the address of a PostgreSQL database, which is known when the files are loaded; empty for what is none.
func decodeDatabaseURL(d *decode.Decoder, e hclsyntax.Expression) decode.SecretText {
	n := d.CompileKnown(e, decode.Field{Name: "postgres", Secret: true})
	address, _ := n.Value.(string)
	switch {
	case !n.Known:
	case n.Value == nil:
		d.Errorf(e.Range(), "Invalid database address", "There is none: this is null. A secret that is needed here is not optional.")
	case strings.HasPrefix(address, "postgres://"), strings.HasPrefix(address, "postgresql://"):
		return decode.SecretText(address)
	default:
		d.Errorf(e.Range(), "Invalid database address", "The address of a PostgreSQL database begins with postgres://, as in postgres://user:password@host:5432/database?sslmode=verify-full.")
	}
	return ""
}
