package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// addConflict adds a block to the file with the suffix .new, in place of an older one.
func (m *merge) addConflict(file, header, text string) error {
	file += ".new"
	if _, read := m.files[file]; !read {
		src, err := os.ReadFile(filepath.Join(m.dir, filepath.FromSlash(file)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		m.files[file] = src
	}
	blocks, err := splitBlocks(file, m.files[file])
	if err != nil {
		return fmt.Errorf("%w; correct or remove it first", err)
	}
	for _, b := range blocks {
		if b.header == header {
			m.files[file] = bytes.Replace(m.files[file], []byte(b.text), []byte(text), 1)
			m.touch(file)
			return nil
		}
	}
	m.append(file, text)
	return nil
}
