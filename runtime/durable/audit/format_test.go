package audit

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheFormatIsRecordedWhereAProcessOrAFileBegins(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := Open(path, Limits{MaxFileSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Append(&Record{Time: time.Now(), Event: EventCall}, true); err != nil {
		t.Fatal(err)
	}
	log.Close()
	formats := map[string]int{}
	File(path).Read(t.Context(), func(l *Line) bool {
		r, _ := l.Record()
		formats[r.Event] += r.Format
		return true
	})
	if formats[EventOpened] != Format || formats[EventRotated] == 0 || formats[EventCall] != 0 {
		t.Errorf("got %v", formats)
	}
}

func TestALogOfANewerFormatIsNotVerified(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	stream := new(bytes.Buffer)
	log, err := Stream(stream)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Append(&Record{Time: time.Now(), Event: EventOpened, Format: Format + 1}, false); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, stream.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "record 2 begins what a newer version of this program wrote (format 2, supported is 1)"
	if _, err := Verify(t.Context(), File(path)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}
