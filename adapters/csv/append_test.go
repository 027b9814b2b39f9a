//go:build unix

package csv_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"hatchel/adapters/adaptertest"
)

// lockFile locks a file as another process would.
func lockFile(t *testing.T, path string) (release func()) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { f.Close() }
}

func TestAppendWaitsForTheLock(t *testing.T) {
	dir, out := newOut(t)
	path := filepath.Join(out, "a.csv")
	b := adaptertest.Bind(t, source(dir, "list(object({ a = string }))", `if_exists = "append"`))
	row := `{"filename": "a", "rows": [{"a": "1"}]}`
	release := lockFile(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := b.Do(ctx, row); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	done := make(chan error)
	go func() {
		_, err := b.Do(t.Context(), row)
		done <- err
	}()
	release()
	if err := <-done; err != nil {
		t.Error(err)
	}
	wantContent(t, path, "a\r\n1\r\n")
}
