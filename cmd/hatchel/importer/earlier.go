package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Earlier is an import that a directory remembers.
type Earlier struct {
	Source string // as in Result
	From   string
	Flags  map[string][]string
	Blocks []string // its blocks by their headers, such as "tool list_invoices", also those that the author has removed
}

// ReadEarlier returns the imports that a directory remembers of one kind, such as "openapi", in the order of their
// names. A directory without imports has none.
func ReadEarlier(dir, kind string) (all []Earlier, err error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	for _, source := range slices.Sorted(maps.Keys(m.Imports)) {
		if one := m.Imports[source]; one != nil && (source == kind || strings.HasPrefix(source, kind+" ")) {
			all = append(all, Earlier{source, one.From, one.Flags, slices.Sorted(maps.Keys(one.Blocks))})
		}
	}
	return all, nil
}

// OtherTypes returns the names of the types that a directory has from imports of other sources.
func OtherTypes(dir, source string) (Names, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	names := Names{}
	for other, one := range m.Imports {
		if other == source || one == nil {
			continue
		}
		for header := range one.Blocks {
			if name, isType := strings.CutPrefix(header, "type "); isType {
				names[name] = true
			}
		}
	}
	return names, nil
}

// maxManifest is the maximum size of a manifest.
const maxManifest = 64 << 20

// readManifest reads the manifest of a directory, which is empty when there is none.
func readManifest(dir string) (*manifest, error) {
	m := &manifest{Version: 1, Imports: map[string]*imported{}}
	name := filepath.Join(dir, ManifestFile)
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxManifest:
		return nil, fmt.Errorf("%s is not a file of at most %d MiB", ManifestFile, maxManifest>>20)
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(src, m); err != nil {
		return nil, fmt.Errorf("%s is not valid: %w; restore it, or remove it and import into an empty directory",
			ManifestFile, err)
	}
	if m.Version != 1 {
		return nil, fmt.Errorf("%s has version %d, and this program reads version 1", ManifestFile, m.Version)
	}
	if m.Imports == nil {
		m.Imports = map[string]*imported{}
	}
	return m, nil
}
