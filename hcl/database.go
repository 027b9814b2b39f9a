package hcl

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// database is the address of a PostgreSQL database, which is known when the files are loaded; empty for what is none.
func (d *decoder) database(e hclsyntax.Expression) SecretText {
	n := d.compileKnown(e, Field{Name: "postgres", Secret: true})
	address, _ := n.value.(string)
	switch {
	case !n.known:
	case n.value == nil:
		d.errorf(e.Range(), "Invalid database address", "There is none: this is null. A secret that is needed here is not optional.")
	case strings.HasPrefix(address, "postgres://"), strings.HasPrefix(address, "postgresql://"):
		return SecretText(address)
	default:
		d.errorf(e.Range(), "Invalid database address", "The address of a PostgreSQL database begins with postgres://, as in postgres://user:password@host:5432/database?sslmode=verify-full.")
	}
	return ""
}
