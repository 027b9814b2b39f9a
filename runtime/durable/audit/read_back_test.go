package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestReadBackIsReadInReverse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log := open(t, path, Limits{MaxFileSize: 100 << 10, MaxFiles: 20})
	for i := range 2000 {
		check(t, log.Append(call(fmt.Sprint("tool", i)), false))
	}
	check(t, log.Close())
	var forward []string
	check(t, File(path).Read(t.Context(), func(l *Line) bool {
		forward = append(forward, string(l.Text))
		return true
	}))
	slices.Reverse(forward)
	if files, err := Files(path); err != nil || len(files) < 3 {
		t.Fatal("the log was not rotated", files, err)
	}
	for _, before := range []int64{0, 1, 2, 700, int64(len(forward))} {
		want := forward
		if before > 0 {
			want = forward[len(forward)-int(before)+1:]
		}
		var got []string
		check(t, File(path).ReadBack(t.Context(), before, func(l *Line) bool {
			if _, ok := l.Record(); !ok {
				t.Errorf("not a record: %s", l.Text)
			}
			got = append(got, string(l.Text))
			return true
		}))
		if !slices.Equal(got, want) {
			t.Errorf("before %d: %d lines, want %d", before, len(got), len(want))
		}
	}
	n := 0
	check(t, File(path).ReadBack(t.Context(), 0, func(*Line) bool { n++; return n < 5 }))
	if n != 5 {
		t.Errorf("it goes on after %d lines", n)
	}
}

func TestReadBackReadsLongAndPartialLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	long := slices.Repeat([]byte("x"), 3*blockSize)
	check(t, os.WriteFile(path, append(append(long, "\nshort\n"...), "partial"...), 0o600))
	var got []int
	check(t, File(path).ReadBack(t.Context(), 0, func(l *Line) bool { got = append(got, len(l.Text)); return true }))
	if !slices.Equal(got, []int{7, 5, len(long)}) {
		t.Errorf("lines of %v bytes", got)
	}
}
