package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
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

func TestWhatOthersSayIsBounded(t *testing.T) {
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

func TestEveryChangeIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path, Limits{Rotate: 2000})
	for i := range 20 {
		check(t, l.Append(call(fmt.Sprint("call ", i)), false))
	}
	check(t, l.Close())
	files, err := Files(path)
	check(t, err)
	if len(files) < 3 {
		t.Fatalf("only %d files", len(files))
	}
	if v := holds(t, path); v.Records != int64(22+len(files)-1) || v.Files != len(files) || v.First != 1 {
		t.Fatal(v)
	}
	src, err := os.ReadFile(files[1])
	check(t, err)
	lines := bytes.SplitAfter(src, []byte("\n"))
	lines = lines[:len(lines)-1]
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	put := func(name string, b []byte) { check(t, os.WriteFile(name, b, 0o600)) }
	changed := map[string][]byte{
		"a record was changed":    join(lines[0], bytes.Replace(lines[1], []byte(`"ok"`), []byte(`"no"`), 1), join(lines[2:]...)),
		"a record was left out":   join(lines[0], join(lines[2:]...)),
		"two change places":       join(lines[0], lines[2], lines[1], join(lines[3:]...)),
		"one comes twice":         join(lines[0], lines[0], join(lines[1:]...)),
		"something is in between": join(lines[0], []byte("{}\n"), join(lines[1:]...)),
		"an empty line is":        join(lines[0], []byte("\n"), join(lines[1:]...)),
	}
	for what, b := range changed {
		put(files[1], b)
		if v := verify(t, path); v.Broken == nil || v.Broken.File != files[1] || v.Broken.Line != 2 {
			t.Errorf("%s: %v", what, v)
		}
	}
	for i := range src {
		if i%7 != 0 {
			continue
		}
		b := bytes.Clone(src)
		b[i] ^= 1
		put(files[1], b)
		if v := verify(t, path); v.Broken == nil {
			t.Errorf("byte %d: %v", i, v)
		}
	}
	put(files[1], src)
	holds(t, path)
	check(t, os.Rename(files[1], path+".away"))
	if v := verify(t, path); v.Broken == nil || v.Broken.File != files[2] || v.Broken.Line != 1 || !strings.Contains(v.Broken.Why, "missing") {
		t.Error(v)
	}
}

func TestAChangedRecordWithAHashOfItsOwnIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path, Limits{})
	for range 3 {
		check(t, l.Append(call("x"), true))
	}
	check(t, l.Close())
	src, err := os.ReadFile(path)
	check(t, err)
	lines := bytes.SplitAfter(src, []byte("\n"))
	before, _, _ := read(bytes.TrimSpace(lines[1]))
	lines[1], _ = before.link(nil, call("y").append(nil))
	check(t, os.WriteFile(path, bytes.Join(lines, nil), 0o600))
	if v := verify(t, path); v.Broken == nil || v.Broken.Line != 3 || !strings.Contains(v.Broken.Why, "the record before this one was changed") {
		t.Error(v)
	}
}

// A process can die at any byte of what it writes.
func TestWhatWasCutIsRepairedByARecordThatSaysSo(t *testing.T) {
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

func TestWhatIsNoLogIsNotWrittenTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tools.db")
	check(t, os.WriteFile(path, []byte("SQLite format 3\n"), 0o600))
	if _, err := Open(path, Limits{}); err == nil || !strings.Contains(err.Error(), "no audit log") {
		t.Errorf("got %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "SQLite format 3\n" {
		t.Errorf("it holds %q", b)
	}
	if _, err := Open(t.TempDir(), Limits{}); err == nil || !strings.Contains(err.Error(), "not a plain file") {
		t.Errorf("got %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "no", "audit.jsonl"), Limits{}); err == nil || err.Error() != "its folder does not exist" {
		t.Errorf("got %v", err)
	}
}

func TestOneProcessWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path, Limits{})
	if _, err := Open(path, Limits{}); err == nil || err.Error() != fmt.Sprintf("process %d writes it, and only one can at a time", os.Getpid()) {
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

func TestTheChainGoesOnThroughFilesAndProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	for range 5 {
		l := open(t, path, Limits{Rotate: 1500})
		for range 10 {
			check(t, l.Append(call("x"), false))
		}
		check(t, l.Close())
	}
	v := holds(t, path)
	if v.Files < 5 {
		t.Fatal(v)
	}
	// A process can die between the two names that a rotation gives.
	check(t, os.Rename(path, fullName(path, v.Files)))
	check(t, os.WriteFile(path+".next", nil, 0o600))
	l := open(t, path, Limits{Rotate: 1500, Keep: 2})
	for range 30 {
		check(t, l.Append(call("x"), false))
	}
	check(t, l.Close())
	kept := holds(t, path)
	if kept.Files != 3 || kept.First <= 1 || kept.Last < v.Last+30 {
		t.Error(kept)
	}
	removed := 0
	for _, r := range events(t, path) {
		removed += len(r.Removed)
	}
	if removed == 0 {
		t.Error("no record says what was removed")
	}
	if _, err := os.Stat(path + ".next"); err == nil {
		t.Error("what a rotation has left is still there")
	}
}

// faulty is a file whose writes and syncs fail as a test says.
type faulty struct {
	*os.File
	room  atomic.Int64 // bytes that are left on its disk; negative for any number
	syncs atomic.Int64
	bad   atomic.Bool // syncs fail
}

func (f *faulty) Write(p []byte) (int, error) {
	room := f.room.Load()
	if room < 0 || int64(len(p)) <= room {
		f.room.Store(max(room-int64(len(p)), min(room, 0)))
		return f.File.Write(p)
	}
	n, err := f.File.Write(p[:room])
	f.room.Add(-int64(n))
	return n, errors.Join(err, syscall.ENOSPC)
}

func (f *faulty) Sync() error {
	f.syncs.Add(1)
	if f.bad.Load() {
		return syscall.EIO
	}
	return f.File.Sync()
}

func faultyLog(t testing.TB, path string) (*Log, *faulty) {
	l := open(t, path, Limits{})
	f := &faulty{File: l.file.(*os.File)}
	f.room.Store(-1)
	l.file = f
	return l, f
}

// What was said to be written is there, once; what was said not to be is not.
func TestAFullDiskLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, f := faultyLog(t, path)
	var mu sync.Mutex
	written, refused := map[string]bool{}, map[string]bool{}
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		f.room.Store(random.Int64N(3000))
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				name := fmt.Sprintf("%d.%d", round, i)
				err := l.Append(call(name), false)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					written[name] = true
				} else {
					refused[name] = true
				}
			})
		}
		all.Wait()
	}
	if l.Failing() == nil && len(refused) == 0 {
		t.Fatal("nothing has failed")
	}
	f.room.Store(-1)
	check(t, l.Check(t.Context()))
	check(t, l.Append(call("end"), true))
	if v := holds(t, path); v.Repairs == 0 {
		t.Error(v)
	}
	seen := map[string]bool{}
	for _, r := range events(t, path) {
		if r.Event != EventCall || r.Name == "end" {
			continue
		}
		if !written[r.Name] || seen[r.Name] {
			t.Errorf("%s was not written, or is there twice", r.Name)
		}
		seen[r.Name] = true
	}
	if len(seen) != len(written) {
		t.Errorf("%d of %d records are there", len(seen), len(written))
	}
}

func TestRecordsAtTheSameTimeShareTheWaitForTheDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, f := faultyLog(t, path)
	const callers, each = 32, 20
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for range each {
				if err := l.Append(call(fmt.Sprint(i)), true); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := f.syncs.Load(); n > callers*each/2 {
		t.Errorf("%d records took %d syncs", callers*each, n)
	}
	holds(t, path)
}

func TestAFailedSyncIsNotForgotten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, f := faultyLog(t, path)
	f.bad.Store(true)
	if err := l.Append(call("x"), true); !errors.Is(err, syscall.EIO) {
		t.Errorf("got %v", err)
	}
	f.bad.Store(false)
	// The system may say of the next one that all is well, although what was to be written is lost.
	for _, durable := range []bool{true, false} {
		if err := l.Append(call("x"), durable); !errors.Is(err, syscall.EIO) {
			t.Errorf("got %v", err)
		}
	}
	if err := l.Check(t.Context()); err == nil {
		t.Error("all is well again")
	}
}

func TestAFileThatWasMovedIsNoticed(t *testing.T) {
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
func TestAFileThatSomebodyElseChangesIsNotGoneOnWith(t *testing.T) {
	for claim, c := range map[string]struct {
		change func(path string) error
		want   string
	}{
		"emptied":    {func(path string) error { return os.Truncate(path, 0) }, "it has 0 bytes, and "},
		"shortened":  {func(path string) error { return os.Truncate(path, 100) }, "it has 100 bytes, and "},
		"written to": {func(path string) error { return appendTo(path, "a line\n") }, "the file was changed while it was written"},
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
			t.Errorf("%s: asked whether all is well: %v", claim, err)
		}
		for _, durable := range []bool{true, false} {
			if err := l.Append(call("y"), durable); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", claim, err)
			}
		}
		if err := l.Check(t.Context()); err == nil {
			t.Errorf("%s: all is well again", claim)
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

func TestAStreamHoldsAChainForEachProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "collected.jsonl")
	var out bytes.Buffer
	for range 3 {
		l, err := Stream(&out)
		check(t, err)
		check(t, l.Append(call("x"), true))
		check(t, l.Close())
	}
	check(t, os.WriteFile(path, out.Bytes(), 0o600))
	if v := holds(t, path); v.Records != 9 {
		t.Error(v)
	}
	lines := strings.SplitAfter(out.String(), "\n")
	check(t, os.WriteFile(path, []byte(lines[0]+strings.Join(lines[2:], "")), 0o600))
	if v := verify(t, path); v.Broken == nil || v.Broken.Line != 2 {
		t.Error(v)
	}
}

func TestWhoFollowsMissesNothing(t *testing.T) {
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

func TestWhatIsReadIsWholeWhileItIsWritten(t *testing.T) {
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

func FuzzVerifyOfAnythingEnds(f *testing.F) {
	path := filepath.Join(f.TempDir(), "audit.jsonl")
	l := open(f, path, Limits{})
	check(f, l.Append(call("x"), true))
	src, err := os.ReadFile(path)
	check(f, err)
	f.Add(src)
	f.Add(src[:len(src)-10])
	f.Add([]byte("{\"seq\":1,\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		check(t, os.WriteFile(path, b, 0o600))
		before := verify(t, path)
		l, err := Open(path, Limits{})
		if err != nil {
			return
		}
		check(t, l.Close())
		if after := verify(t, path); before.Broken == nil && after.Broken != nil {
			t.Errorf("%v, and then %v", before, after)
		}
	})
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
