package shell

import (
	"path/filepath"

	"hatchel/adapters"
	"hatchel/adapters/sandbox"
)

// policy returns what rules let the programs of the block do, whose PATH is path.
func (b *block) policy(rules *sandbox.Block, conn *connection, configDir, path string) sandbox.Policy {
	p := rules.PolicyIn(configDir, path)
	dir := adapters.Absolute(configDir, conn.Dir)
	p.Dirs = []string{dir}
	if b.Dir != nil {
		known := false
		if dir, known = b.Dir.Known(); known {
			dir = adapters.Absolute(configDir, dir)
			p.Dirs = append(p.Dirs, dir)
		} else {
			dir = ""
		}
	}
	p.AllowFiles(dir, b.constantWords(configDir))
	return p
}

// constantWords returns the words of the commands of a block that may name files in the configuration directory.
func (b *block) constantWords(configDir string) []string {
	switch {
	case b.Command != nil:
		return b.Command.Constants()
	case b.Pipe != nil:
		return b.Pipe.Constants()
	case b.Script != nil:
		return nil
	}
	return []string{filepath.Join(configDir, b.ScriptFile)}
}
