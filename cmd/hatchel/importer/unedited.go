package importer

import (
	"encoding/json"
	"io/fs"
)

// Unedited returns the blocks of a directory that are as they were imported, by their headers, such as "tool
// list_invoices". The sources are its files by name. A manifest that cannot be read names no blocks.
func Unedited(dir fs.FS, sources map[string][]byte) map[string]bool {
	src, err := fs.ReadFile(dir, ManifestFile)
	var known manifest
	if err != nil || json.Unmarshal(src, &known) != nil {
		return nil
	}
	digests := map[string]string{}
	for _, source := range known.Imports {
		if source == nil {
			continue
		}
		for header, b := range source.Blocks {
			digests[header] = b.Digest
		}
	}
	unedited := map[string]bool{}
	for name, src := range sources {
		blocks, err := splitBlocks(name, src)
		if err != nil {
			continue
		}
		for _, b := range blocks {
			if digest := digests[b.header]; digest != "" && digest == digestOf(b.text) {
				unedited[b.header] = true
			}
		}
	}
	return unedited
}
