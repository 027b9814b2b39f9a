package secret

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestACommandThatTwoLoadsReadAtOnceRunsOnce counts the runs of a command, at once and after its time is over.
func TestACommandThatTwoLoadsReadAtOnceRunsOnce(t *testing.T) {
	dir := t.TempDir()
	runs := func() int {
		b, _ := os.ReadFile(filepath.Join(dir, "runs"))
		return strings.Count(string(b), "x")
	}
	c := NewCommands(t.Context(), func() string { return dir }, func() {})
	defer c.Close()
	command := []string{"sh", "-c", "printf x >> runs; printf value"}
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			if got, err := c.Read(command, time.Hour); string(got) != "value" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	readers.Wait()
	if n := runs(); n != 1 || len(c.entries) != 1 {
		t.Errorf("%d runs", n)
	}
}
