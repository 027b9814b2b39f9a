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
	v, err := Verify(path)
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

// written makes a log of so many records, and returns its lines.
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
	check(t, Read(path, func(l *Line) bool {
		if r, ok := l.Record(); ok {
			all = append(all, r)
		}
		return true
	}))
	return all
}

// fill gives every field of a struct a value, so that none is forgotten.
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

// A process can die at any byte of what it writes.
func TestPartialTailIsRepaired(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "audit.jsonl")
	l := open(t, path, Limits{})
	check(t, l.Append(call("kept"), true))
	before, err := os.Stat(path)
	check(t, err)
	check(t, l.Append(call("cut"), true))
	src, err := os.ReadFile(path)
	check(t, err)
	check(t, l.Close())
	for at := int(before.Size()); at <= len(src); at++ {
		check(t, os.WriteFile(path, src[:at], 0o600))
		l := open(t, path, Limits{})
		check(t, l.Append(call("after"), true))
		check(t, l.Close())
		repairs := 1
		if at == int(before.Size()) || at >= len(src)-1 {
			repairs = 0
		}
		if v := holds(t, path); v.Repairs != repairs || v.Hash == "" {
			t.Fatalf("cut at %d of %d: %v", at, len(src), v)
		}
	}
	// What a file system leaves of a lost page is a row of zeros.
	check(t, os.WriteFile(path, append(src[:before.Size():before.Size()], make([]byte, 5000)...), 0o600))
	l = open(t, path, Limits{})
	check(t, l.Close())
	if v := holds(t, path); v.Repairs != 1 {
		t.Error(v)
	}
	// Even the first record may be one.
	check(t, os.WriteFile(path, []byte(`{"seq":1,"ti`), 0o600))
	l = open(t, path, Limits{})
	check(t, l.Close())
	if v := holds(t, path); v.Repairs != 1 || v.First != 1 {
		t.Error(v)
	}
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

// What is taken from the file under the hands of who writes it, put into it or put in its place is noticed before the next record, and nothing is written behind it.
func TestChangedFileIsRejected(t *testing.T) {
	for claim, c := range map[string]struct {
		change func(path string) error
		want   string
	}{
		"emptied":    {func(path string) error { return os.Truncate(path, 0) }, "it has 0 bytes instead of "},
		"shortened":  {func(path string) error { return os.Truncate(path, 100) }, "it has 100 bytes instead of "},
		"written to": {func(path string) error { return appendTo(path, "a line\n") }, "the file was changed by another program"},
		"another": {func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		}, errMoved.Error()},
		"gone": {os.Remove, errMoved.Error()},
	} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l := open(t, path, Limits{})
		check(t, l.Append(call("x"), true))
		check(t, l.Check(t.Context()))
		check(t, c.change(path))
		left, _ := os.ReadFile(path)
		if err := l.Check(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Check: %v", claim, err)
		}
		for _, durable := range []bool{true, false} {
			if err := l.Append(call("y"), durable); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", claim, err)
			}
		}
		if err := l.Check(t.Context()); err == nil {
			t.Errorf("%s: Check succeeds again", claim)
		}
		if now, _ := os.ReadFile(path); !bytes.Equal(now, left) {
			t.Errorf("%s: it was written to: %s", claim, now)
		}
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
	l := open(t, path, Limits{Rotate: 4000})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const total = 300
	var seen []int64
	done := make(chan error, 1)
	go func() {
		done <- Follow(ctx, path, func(line *Line) bool {
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
	l := open(t, path, Limits{Rotate: 3000})
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
	for range 50 {
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
