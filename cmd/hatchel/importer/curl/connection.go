package curl

import (
	"strings"

	"github.com/hashicorp/hcl/v2"

	"hatchel/hcl/syntax"
)

// reaches reports whether a connection of a directory can send the requests of a command: it has the server and the
// credentials of the connection that the command needs. What else it says is the author's.
func reaches(connection, needed string) bool {
	have, need := readConnection(connection), readConnection(needed)
	return have["base_url"] == need["base_url"] && (need["auth"] == "" || have["auth"] == need["auth"]) &&
		(need["headers"] == "" || have["headers"] == need["headers"])
}

// readConnection returns the arguments and blocks of a connection without its white space.
func readConnection(text string) map[string]string {
	src := []byte(text + "\n")
	body, diags := syntax.Parse("", src)
	parts := map[string]string{}
	if diags.HasErrors() || len(body.Blocks) != 1 {
		return parts
	}
	plain := func(r hcl.Range) string { return strings.Join(strings.Fields(string(r.SliceBytes(src))), "") }
	for name, a := range body.Blocks[0].Body.Attributes {
		parts[name] = plain(a.Expr.Range())
	}
	for _, b := range body.Blocks[0].Body.Blocks {
		parts[b.Type] = plain(hcl.RangeBetween(b.OpenBraceRange, b.CloseBraceRange))
	}
	return parts
}
