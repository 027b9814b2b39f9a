package editor

import (
	"slices"

	"hatchel/hcl"
)

// Headers returns the first lines of the top-level blocks of a file.
func (f *File) Headers() (all []hcl.BlockHeader) {
	for _, b := range f.Body.Blocks {
		all = append(all, hcl.HeaderOf(b))
	}
	return all
}

// The blocks that only configurations of Hatchel have at the top level, and those that only other programs have, such
// as Terraform, Nomad and Packer.
var (
	ownBlocks     = []string{"tool", "connection", "toolset", "prompt"}
	foreignBlocks = []string{"terraform", "job", "source", "build"}
)

// IsOwn reports whether blocks are those of a configuration: a directory of other *.hcl files is none of our business.
// Agents of other programs have a block server, too, with other arguments.
func (l *Language) IsOwn(blocks []hcl.BlockHeader) bool {
	server := l.Kind("server")
	own := func(b hcl.BlockHeader) bool {
		if b.Type != "server" {
			return slices.Contains(ownBlocks, b.Type)
		}
		known := func(name string) bool { return server.Field(name, true) != nil || server.Field(name, false) != nil }
		return len(b.Members) == 0 || slices.ContainsFunc(b.Members, known)
	}
	return slices.ContainsFunc(blocks, own) && !isForeign(blocks)
}

func isForeign(blocks []hcl.BlockHeader) bool {
	return slices.ContainsFunc(blocks, func(b hcl.BlockHeader) bool {
		return slices.Contains(foreignBlocks, b.Type) || b.Type == "resource" && len(b.Labels) == 2
	})
}
