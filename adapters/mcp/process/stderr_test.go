package process

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// An error output without end is read slowly, so that it takes little of a processor.
func TestAnEndlessErrorOutputIsReadSlowly(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	const size = 4 << 30
	if err := file.Truncate(size); err != nil { // it takes no space
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := newStderr(file)
		go s.collect()
		const seconds = 5
		time.Sleep(seconds * time.Second)
		n, err := file.Seek(0, io.SeekCurrent)
		if err != nil || n > stderrBurst+seconds*stderrRate || n < stderrBurst/2 {
			t.Errorf("%d bytes are read in %d s: %v", n, seconds, err)
		}
		if err := file.Truncate(0); err != nil {
			t.Error(err)
		}
		<-s.collected
	})
	file.Close()
}
