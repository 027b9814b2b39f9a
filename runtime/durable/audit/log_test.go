package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, path string, limits Limits) *Log {
	t.Helper()
	l, err := Open(path, limits)
	check(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

func verify(t testing.TB, path string) *Verdict {
	t.Helper()
	v, err := Verify(t.Context(), File(path))
	check(t, err)
	return v
}

func holds(t testing.TB, path string) *Verdict {
	t.Helper()
	v := verify(t, path)
	if v.Broken != nil || v.Partial {
		t.Fatal(v)
	}
	return v
}

func call(name string) *Record {
	return &Record{Time: time.Now(), Event: EventCall, ID: name, Kind: "tool", Name: name, Outcome: OK}
}

// written writes a log with a number of calls, and returns its lines.
func written(t testing.TB, path string, records int) [][]byte {
	t.Helper()
	l := open(t, path, Limits{})
	for range records {
		check(t, l.Append(call("x"), true))
	}
	check(t, l.Close())
	src, err := os.ReadFile(path)
	check(t, err)
	return bytes.SplitAfter(src, []byte("\n"))
}

func events(t testing.TB, path string) (all []Record) {
	t.Helper()
	check(t, File(path).Read(t.Context(), func(l *Line) bool {
		if r, ok := l.Record(); ok {
			all = append(all, r)
		}
		return true
	}))
	return all
}

// fill sets every field of a struct, so that a test covers new ones.
func fill(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Interface().(type) {
		case string:
			f.SetString("text of \"" + v.Type().Field(i).Name + "\"\u2028")
		case []string:
			f.Set(reflect.ValueOf([]string{"one", "two"}))
		case int, int64:
			f.SetInt(int64(i) + 1)
		case float64:
			f.SetFloat(1.5)
		case Caller:
			fill(f)
		}
	}
}

func TestLongMembersAreTruncated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path, Limits{})
	r := call(strings.Repeat("é", 1<<20))
	r.Caller.Groups = make([]string, 100_000)
	check(t, l.Append(r, true))
	if info, err := os.Stat(path); err != nil || info.Size() > 8<<10 || info.Mode().Perm() != 0o600 {
		t.Errorf("%+v %v", info, err)
	}
	holds(t, path)
}

func TestPartialTailIsRepaired(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path, Limits{})
	check(t, l.Append(call("kept"), true))
	info, err := os.Stat(path)
	check(t, err)
	before := int(info.Size())
	check(t, l.Append(call("interrupted"), true))
	src, err := os.ReadFile(path)
	check(t, err)
	check(t, l.Close())
	// reopen opens the log with this content, appends a record and verifies the log.
	reopen := func(t *testing.T, content []byte) *Verdict {
		t.Helper()
		check(t, os.WriteFile(path, content, 0o600))
		l := open(t, path, Limits{})
		check(t, l.Append(call("after"), true))
		check(t, l.Close())
		return holds(t, path)
	}
	t.Run("after a crash at any byte of a record", func(t *testing.T) {
		for at := before; at <= len(src); at++ {
			repairs := 1
			if at == before || at >= len(src)-1 { // the record is missing, or complete
				repairs = 0
			}
			if v := reopen(t, src[:at]); v.Repairs != repairs || v.Hash == "" {
				t.Fatalf("at byte %d of %d: %v", at, len(src), v)
			}
		}
	})
	t.Run("of zeros, which a file system leaves of a lost page", func(t *testing.T) {
		if v := reopen(t, append(src[:before:before], make([]byte, 5000)...)); v.Repairs != 1 {
			t.Error(v)
		}
	})
	t.Run("of the first record", func(t *testing.T) {
		if v := reopen(t, []byte(`{"seq":1,"ti`)); v.Repairs != 1 || v.First != 1 {
			t.Error(v)
		}
	})
}

func TestOpenRejects(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "tools.db")
	check(t, os.WriteFile(other, []byte("SQLite format 3\n"), 0o600))
	for name, c := range map[string]struct{ path, want string }{
		"a file of another program": {other, "it is not an audit log, or its end is damaged"},
		"a directory":               {dir, "it is not a regular file"},
		"a missing directory":       {filepath.Join(dir, "no", "audit.jsonl"), "its directory does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Open(c.path, Limits{}); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
	if b, _ := os.ReadFile(other); string(b) != "SQLite format 3\n" {
		t.Errorf("the file of another program holds %q now", b)
	}
}

func TestOnlyOneProcessCanOpenALog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path, Limits{})
	if _, err := Open(path, Limits{}); err == nil || err.Error() != fmt.Sprintf("process %d has it open, and only one process can write it", os.Getpid()) {
		t.Errorf("got %v", err)
	}
	check(t, l.Close())
	check(t, open(t, path, Limits{}).Close())
	if v := holds(t, path); v.Records != 4 {
		t.Error(v)
	}
	if err := l.Append(call("late"), false); !errors.Is(err, errClosed) {
		t.Errorf("got %v", err)
	}
}

func TestMovedFileIsRejected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path, Limits{})
	check(t, os.Rename(path, path+".moved"))
	if err := l.Append(call("x"), true); !errors.Is(err, errMoved) {
		t.Errorf("got %v", err)
	}
	if err := l.Append(call("x"), false); !errors.Is(err, errMoved) {
		t.Errorf("got %v", err)
	}
	check(t, os.Rename(path+".moved", path))
	check(t, l.Check(t.Context()))
	check(t, l.Append(call("x"), false))
	holds(t, path)
}

func TestChangedFileIsRejected(t *testing.T) {
	for claim, c := range map[string]struct {
		change func(path string) error
		want   string
	}{
		"truncated to nothing": {func(path string) error { return os.Truncate(path, 0) }, "it has 0 bytes instead of "},
		"truncated":            {func(path string) error { return os.Truncate(path, 100) }, "it has 100 bytes instead of "},
		"appended to":          {func(path string) error { return appendTo(path, "a line\n") }, "the file was changed by another program"},
		"replaced": {func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		}, errMoved.Error()},
		"removed": {os.Remove, errMoved.Error()},
	} {
		t.Run(claim, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			l := open(t, path, Limits{})
			check(t, l.Append(call("x"), true))
			check(t, l.Check(t.Context()))
			check(t, c.change(path))
			left, _ := os.ReadFile(path)
			if err := l.Check(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Check: %v", err)
			}
			for _, durable := range []bool{true, false} {
				if err := l.Append(call("y"), durable); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("Append, durable %t: %v", durable, err)
				}
			}
			if err := l.Check(t.Context()); err == nil {
				t.Error("Check succeeds again")
			}
			if now, _ := os.ReadFile(path); !bytes.Equal(now, left) {
				t.Errorf("the log has written: %s", now)
			}
		})
	}
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func TestFollowMissesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path, Limits{MaxFileSize: 4000})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const total = 300
	var seen []int64
	done := make(chan error, 1)
	go func() {
		done <- File(path).Follow(ctx, func(line *Line) bool {
			if r, ok := line.Record(); ok {
				seen = append(seen, r.Sequence)
				return r.Name != "last"
			}
			t.Errorf("%s:%d is no record", line.File, line.Number)
			return true
		})
	}()
	for range total {
		check(t, l.Append(call("x"), false))
	}
	check(t, l.Append(call("last"), true))
	check(t, <-done)
	for i, n := range seen {
		if n != int64(i)+1 {
			t.Fatalf("record %d comes at place %d", n, i)
		}
	}
	if ctx.Err() != nil || len(seen) < total {
		t.Errorf("%d records were seen", len(seen))
	}
}

func TestReadDuringWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path, Limits{MaxFileSize: 3000})
	stop := make(chan struct{})
	var writes sync.WaitGroup
	writes.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := l.Append(call("x"), false); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for range 15 {
		if v := verify(t, path); v.Broken != nil {
			t.Error(v)
		}
	}
	close(stop)
	writes.Wait()
}

func BenchmarkAppend(b *testing.B) {
	l := open(b, filepath.Join(b.TempDir(), "audit.jsonl"), Limits{})
	r := call("echo")
	r.Arguments = []byte(`{"name":"Ada","number":7}`)
	b.ReportAllocs()
	for b.Loop() {
		check(b, l.Append(r, false))
	}
}
