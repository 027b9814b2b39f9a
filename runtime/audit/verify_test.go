package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAFileThatIsEmptiedWhileItIsWrittenIsNoWholeChain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := Open(path, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	write := func() {
		t.Helper()
		for range 3 {
			if err := l.Append(&Record{Time: time.Now(), Event: EventCall}, true); err != nil {
				t.Fatal(err)
			}
		}
	}
	write()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	write()
	if v, err := Verify(path); err != nil || v.Broken == nil || !strings.Contains(v.Broken.Why, "no file begins with record 5") {
		t.Errorf("%v, %v", v, err)
	}
}

func TestWhatIsLeftAfterOldFilesWereRemovedIsAChain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := Open(path, Limits{Rotate: 1000, Keep: 2})
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
	if v, err := Verify(path); err != nil || v.Broken != nil || v.First == 1 {
		t.Errorf("%v, %v", v, err)
	}
}
