package mcp

import (
	"encoding/json"
	"maps"
	"slices"

	"hatchel/hcl/syntax"
)

// Used returns the names of the tools of a connection that blocks call, in steps too. A block that cannot be read
// calls none.
func Used(blocks map[string]string, connection string) (names []string) {
	for _, header := range slices.Sorted(maps.Keys(blocks)) {
		src := []byte(blocks[header] + "\n")
		body, diags := syntax.Parse("", src)
		if diags.HasErrors() {
			continue
		}
		rest := slices.Clone(body.Blocks)
		for len(rest) > 0 {
			b := rest[0]
			rest = append(rest[1:], b.Body.Blocks...)
			if b.Type != "mcp" || len(b.Labels) != 1 || b.Labels[0] != connection {
				continue
			}
			if call := b.Body.Attributes["call"]; call != nil {
				var name string
				if json.Unmarshal(call.Expr.Range().SliceBytes(src), &name) == nil && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// DefinitionsOf returns the name of the file of definitions that the block of a connection names, or "" if it is no
// constant.
func DefinitionsOf(block string) (name string) {
	src := []byte(block + "\n")
	body, diags := syntax.Parse("", src)
	if diags.HasErrors() || len(body.Blocks) != 1 {
		return ""
	}
	if a := body.Blocks[0].Body.Attributes["definitions"]; a != nil {
		_ = json.Unmarshal(a.Expr.Range().SliceBytes(src), &name) // anything else is no constant
	}
	return name
}
