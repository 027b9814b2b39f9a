package importer

import (
	"maps"
	"slices"
	"strings"
)

// fileOf returns the file of a new block. If the first import of a source finds a file of that name, the name of the
// import is appended, as in connection_shop.hcl. Later imports of the source keep that file.
func (m *merge) fileOf(file string) string {
	_, name, _ := strings.Cut(m.result.Source, " ")
	own := FileName(strings.TrimSuffix(file, ".hcl") + "_" + name)
	isOwn := func(header string) bool { return m.found[header].file == own }
	foreign := m.last == nil && m.existed[file] && !m.options.Update
	if foreign || slices.ContainsFunc(slices.Collect(maps.Keys(m.last)), isOwn) {
		return own
	}
	return file
}
