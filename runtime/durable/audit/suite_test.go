package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"hatchel/runtime/durable/postgres/postgrestest"
)

// sink is where records are written, as far as it does not matter what it is.
type sink interface {
	Append(r *Record, durable bool) error
	Check(ctx context.Context) error
	Close() error
}

// logged is a log that can be opened again and again, and read.
type logged struct {
	open   func(t testing.TB) sink
	read   func(ctx context.Context, each func(*Line) bool) error
	follow func(ctx context.Context, each func(*Line) bool) error
	verify func(ctx context.Context) (*Verdict, error)
}

func filed(t testing.TB) *logged {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	return &logged{
		open:   func(t testing.TB) sink { return open(t, path, Limits{MaxFileSize: 20_000}) },
		read:   func(_ context.Context, each func(*Line) bool) error { return File(path).Read(t.Context(), each) },
		follow: func(ctx context.Context, each func(*Line) bool) error { return File(path).Follow(ctx, each) },
		verify: func(context.Context) (*Verdict, error) { return Verify(t.Context(), File(path)) },
	}
}

func tabled(t testing.TB) *logged {
	address, _ := postgrestest.Schema(t)
	return &logged{
		open:   func(t testing.TB) sink { return openTable(t, address) },
		read:   func(ctx context.Context, each func(*Line) bool) error { return Database(address).Read(ctx, each) },
		follow: func(ctx context.Context, each func(*Line) bool) error { return Database(address).Follow(ctx, each) },
		verify: func(ctx context.Context) (*Verdict, error) { return Verify(ctx, Database(address)) },
	}
}

// holds fails unless the chain does.
func (l *logged) holds(t testing.TB) *Verdict {
	t.Helper()
	v, err := l.verify(t.Context())
	check(t, err)
	if v.Broken != nil || v.Partial {
		t.Fatal(v)
	}
	return v
}

func (l *logged) records(t testing.TB) (all []Record) {
	t.Helper()
	check(t, l.read(t.Context(), func(line *Line) bool {
		r, ok := line.Record()
		if !ok {
			t.Errorf("%s:%d is no record", line.File, line.Number)
		}
		all = append(all, r)
		return true
	}))
	return all
}

func TestLogSuite(t *testing.T) {
	for _, c := range []struct {
		claim string
		test  func(*testing.T, *logged)
	}{
		{"a record is read as it was written", testRoundTrip},
		{"long members are truncated, and any bytes are accepted", testMembers},
		{"the chain spans processes", testChain},
		{"concurrent records are written once", testConcurrentWrites},
		{"Follow misses nothing", testFollow},
		{"Verify counts calls without an end", testOpenCalls},
		{"reading stops on request", testStop},
		{"a closed log accepts nothing", testClosed},
	} {
		t.Run(c.claim, func(t *testing.T) {
			t.Run("file", func(t *testing.T) { c.test(t, filed(t)) })
			t.Run("postgres", func(t *testing.T) { c.test(t, tabled(t)) })
		})
	}
}

func testRoundTrip(t *testing.T, log *logged) {
	var want Record
	fill(reflect.ValueOf(&want).Elem())
	want.Event = EventCall
	want.Time = time.Date(2026, 11, 21, 12, 0, 0, 123456000, time.UTC)
	want.Arguments = []byte(`{"a":"<\n>\u0000","b":[1,2.5]}`)
	l := log.open(t)
	check(t, l.Append(&want, true))
	check(t, l.Close())
	all := log.records(t)
	got := all[1]
	want.Sequence, want.Prev, want.Hash = 2, all[0].Hash, got.Hash
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if first, last := all[0], all[len(all)-1]; first.Event != EventOpened || first.Process == 0 || last.Event != EventClosed {
		t.Errorf("it begins with %+v and ends with %+v", first, last)
	}
}

func testMembers(t *testing.T, log *logged) {
	l := log.open(t)
	for _, name := range []string{"a\x00b", "\xff\xfe", "\u2028\U0001F600", strings.Repeat("é", 1<<20)} {
		r := call(name)
		r.Message, r.Caller.Client = name, name
		check(t, l.Append(r, true))
	}
	odd := call("odd")
	odd.Arguments = json.RawMessage("{\"a\":\"\xff\"}")
	check(t, l.Append(odd, true))
	check(t, l.Append(call("end"), true))
	if v := log.holds(t); v.Records != 7 {
		t.Error(v)
	}
}

func testChain(t *testing.T, log *logged) {
	for range 3 {
		l := log.open(t)
		for range 5 {
			check(t, l.Append(call("x"), false))
		}
		check(t, l.Check(t.Context()))
		check(t, l.Close())
	}
	if v := log.holds(t); v.Records != 21 || v.First != 1 || v.Last != 21 || v.Hash != log.records(t)[20].Hash {
		t.Error(v)
	}
}

func testConcurrentWrites(t *testing.T, log *logged) {
	l := log.open(t)
	const callers, each = 16, 25
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for n := range each {
				if err := l.Append(call(fmt.Sprintf("%d.%d", i, n)), n%2 == 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	log.holds(t)
	once(t, log, callers*each)
}

// once fails unless so many calls are there, each once.
func once(t *testing.T, log *logged, calls int) {
	t.Helper()
	seen := map[string]bool{}
	for _, r := range log.records(t) {
		if r.Event != EventCall {
			continue
		}
		if seen[r.Name] {
			t.Errorf("%s is there twice", r.Name)
		}
		seen[r.Name] = true
	}
	if len(seen) != calls {
		t.Errorf("%d of %d calls are there", len(seen), calls)
	}
}

func testFollow(t *testing.T, log *logged) {
	l := log.open(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const total = 150
	var seen []int64
	done := make(chan error, 1)
	go func() {
		done <- log.follow(ctx, func(line *Line) bool {
			r, ok := line.Record()
			if !ok {
				t.Errorf("%s:%d is no record", line.File, line.Number)
			}
			seen = append(seen, r.Sequence)
			return r.Name != "last"
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

func testOpenCalls(t *testing.T, log *logged) {
	l := log.open(t)
	for _, id := range []string{"a", "b", "c"} {
		check(t, l.Append(&Record{Time: time.Now(), Event: EventIntent, ID: id}, true))
	}
	check(t, l.Append(call("b"), false))
	if v := log.holds(t); v.OpenCalls != 2 || !strings.Contains(v.String(), "2 calls started and not ended") {
		t.Error(v)
	}
}

func testStop(t *testing.T, log *logged) {
	l := log.open(t)
	for range 10 {
		check(t, l.Append(call("x"), true))
	}
	n := 0
	check(t, log.read(t.Context(), func(*Line) bool { n++; return n < 4 }))
	if n != 4 {
		t.Errorf("%d lines were given", n)
	}
}

func testClosed(t *testing.T, log *logged) {
	l := log.open(t)
	check(t, l.Close())
	if err := l.Append(call("late"), false); !errors.Is(err, errClosed) {
		t.Errorf("got %v", err)
	}
	check(t, l.Close())
	if v := log.holds(t); v.Records != 2 {
		t.Error(v)
	}
}
