package filelock_test

import (
	"os"
	"path/filepath"
	"testing"

	"hatchel/internal/filelock"
)

func TestTryLockExcludesUntilTheFileIsClosed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	first, second := open(), open()
	if locked, err := filelock.TryLock(first); !locked || err != nil {
		t.Fatalf("first: %v, %v", locked, err)
	}
	if locked, err := filelock.TryLock(second); locked || err != nil {
		t.Errorf("second while the first holds the lock: %v, %v", locked, err)
	}
	first.Close()
	if locked, err := filelock.TryLock(second); !locked || err != nil {
		t.Errorf("second after the first was closed: %v, %v", locked, err)
	}
}
