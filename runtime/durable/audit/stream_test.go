package audit

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// A reader that stops delays no call for long: calls that cannot be recorded are refused. What is read later is one chain.
func TestAStreamThatNobodyReadsRefusesRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		var read bytes.Buffer
		resume, read1 := make(chan struct{}), make(chan struct{})
		go func() {
			b := make([]byte, 4096)
			n, _ := r.Read(b) // the record that opens the log
			read.Write(b[:n])
			close(read1)
			<-resume
			io.Copy(&read, r)
		}()
		log, err := Stream(w)
		check(t, err)
		<-read1
		start := time.Now()
		for range 120 {
			if err := log.Append(call("refused"), true); !errors.Is(err, errNotRead) {
				t.Errorf("a record that nobody reads: %v", err)
			}
		}
		if took := time.Since(start); took > 2*maxStreamWait {
			t.Errorf("the records waited for %s", took)
		}
		if err := log.Check(t.Context()); !errors.Is(err, errNotRead) {
			t.Errorf("the check returns %v", err)
		}
		close(resume)
		synctest.Wait()
		check(t, log.Append(call("recorded"), true))
		check(t, log.Close())
		check(t, w.Close())
		synctest.Wait()
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		check(t, os.WriteFile(path, read.Bytes(), 0o600))
		holds(t, path)
		last := events(t, path)
		if n := len(last); n < 3 || last[n-2].Name != "recorded" || last[n-1].Event != EventClosed {
			t.Errorf("the stream ends with %+v", last[max(0, len(last)-2):])
		}
	})
}
