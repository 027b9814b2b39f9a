package source

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFileThatGoesWhileTheFolderIsReadIsNotPartOfIt(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "stays.hcl"), []byte("1"), 0o644))
	passing := filepath.Join(dir, "passing.hcl")
	done, gone := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			select {
			case <-done:
				gone <- nil
				return
			default:
			}
			if err = os.WriteFile(passing, nil, 0o644); err == nil {
				err = os.Remove(passing)
			}
		}
		gone <- err
	}()
	for range 500 {
		s, err := readFolder(t.Context(), dir)
		if err == nil && s.nodes["passing.hcl"] != nil {
			err = s.nodes["passing.hcl"].err
		}
		if err != nil {
			t.Error(err)
			break
		}
	}
	close(done)
	must(t, <-gone)
}
