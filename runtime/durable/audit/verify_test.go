package audit

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestVerifyReportsEmptiedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	lines := written(t, path, 3)
	check(t, os.WriteFile(path, bytes.Join(lines[2:], nil), 0o600))
	if v := verify(t, path); v.Broken == nil || !strings.Contains(v.Broken.Reason, "record 3 cannot be the first of a file") {
		t.Error(v)
	}
}

func TestVerifyAcceptsRemovedOldFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := Open(path, Limits{MaxFileSize: 1000, MaxFiles: 2})
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if err := l.Append(&Record{Time: time.Now(), Event: EventCall}, true); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if v, err := Verify(t.Context(), File(path)); err != nil || v.Broken != nil || v.First == 1 {
		t.Errorf("%v, %v", v, err)
	}
}
