package logging

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

var formats = map[string]struct {
	format Format
	std    func(io.Writer, *slog.HandlerOptions) slog.Handler
}{
	"text": {Text, func(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewTextHandler(w, o) }},
	"json": {JSON, func(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewJSONHandler(w, o) }},
}

// writer keeps what is written to it, and the size of the largest write.
type writer struct {
	mu      sync.Mutex
	text    strings.Builder // guarded by mu, like largest
	largest int
}

func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.largest = max(w.largest, len(p))
	return w.text.Write(p)
}

func (w *writer) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// callAttrs are those of a usual line about a call.
var callAttrs = []slog.Attr{
	slog.String("tool", "find_item"), slog.String("subject", "ann"), slog.String("outcome", "ok"), slog.Float64("ms", 1.234),
	slog.Int("rows", 12), slog.Int("bytes", 1234), slog.String("remote", "127.0.0.1:43222"),
	slog.String("trace_id", "4bf92f3577b34da6a3ce929d0e0e4736"),
}

func TestLinesAreThoseOfTheStandardLibrary(t *testing.T) {
	attrs := append([]slog.Attr{
		slog.String("quoted", "two words, a \"quote\" and\na line"), slog.String("unicode", "Grüße"), slog.String("equals", "a=b"),
		slog.Bool("yes", true), slog.Uint64("uint", 7), slog.Any("error", errors.New("it failed")),
		slog.Time("next", time.Date(2026, 11, 22, 18, 0, 0, 0, time.UTC)), slog.Any("list", []string{"a", "b"}),
	}, callAttrs...)
	for name, f := range formats {
		t.Run(name, func(t *testing.T) {
			var got, want bytes.Buffer
			log := New(&got, f.format, slog.LevelInfo)
			for _, h := range []slog.Handler{log.Handler(), f.std(&want, nil)} {
				r := slog.NewRecord(time.Date(2026, 11, 22, 17, 0, 0, 123000000, time.UTC), slog.LevelWarn, "call answered", 0)
				r.AddAttrs(attrs...)
				h.WithAttrs([]slog.Attr{slog.String("trigger", "SIGHUP")}).Handle(t.Context(), r)
			}
			// A text with letters beyond ASCII is quoted, and a time of a value has no milliseconds.
			loose := strings.NewReplacer(`"Grüße"`, `Grüße`, `"2026-11-22T18:00:00Z"`, "2026-11-22T18:00:00Z", "2026-11-22T18:00:00.000Z", "2026-11-22T18:00:00Z")
			if got, want := loose.Replace(got.String()), loose.Replace(want.String()); got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
}

func TestEmptyTextIsLeftOut(t *testing.T) {
	out := new(writer)
	log := New(out, Text, slog.LevelInfo)
	log.Info("call refused", "subject", "", "outcome", "refused")
	log.Flush()
	if got := out.String(); !strings.HasSuffix(got, `msg="call refused" outcome=refused`+"\n") {
		t.Error(got)
	}
}

func TestLineIsWrittenAtTheLatestAfterMaxDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := new(writer)
		log := New(out, Text, slog.LevelInfo)
		log.Info("first")
		time.Sleep(MaxDelay / 2)
		synctest.Wait()
		log.Info("second")
		if out.String() != "" {
			t.Errorf("written one by one: %s", out.String())
		}
		time.Sleep(MaxDelay / 2)
		synctest.Wait()
		if lines := strings.Count(out.String(), "\n"); lines != 2 {
			t.Errorf("%d lines after the delay: %s", lines, out.String())
		}
	})
}

func TestWarningWritesTheLinesBeforeIt(t *testing.T) {
	out := new(writer)
	log := New(out, Text, slog.LevelInfo)
	log.Info("first")
	log.Warn("second")
	if got := out.String(); !strings.Contains(got, "first") || strings.Index(got, "second") < strings.Index(got, "first") {
		t.Errorf("got %q", got)
	}
}

func TestManyLinesAreWrittenWholeAndInBoundedBatches(t *testing.T) {
	const writers, lines = 8, 2000
	out := new(writer)
	log := New(out, Text, slog.LevelInfo)
	var running sync.WaitGroup
	for range writers {
		running.Go(func() {
			for n := range lines {
				log.Info("call answered", "n", n)
			}
		})
	}
	running.Wait()
	log.Flush()
	if got := strings.Count(out.String(), "\n"); got != writers*lines {
		t.Errorf("%d lines, want %d", got, writers*lines)
	}
	if out.largest > 2*maxPending {
		t.Errorf("%d bytes at once", out.largest)
	}
}

// stalled is a writer that takes nothing until it is released.
type stalled struct {
	writer
	release chan struct{}
}

func (s *stalled) Write(p []byte) (int, error) {
	<-s.release
	return s.writer.Write(p)
}

func TestAWriterThatDoesNotReadDelaysCallersByOneSecondOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &stalled{release: make(chan struct{})}
		log := New(out, Text, slog.LevelInfo)
		start := time.Now()
		const lines = 20_000
		for range lines {
			log.LogAttrs(t.Context(), slog.LevelInfo, "call answered", callAttrs...)
		}
		for range 10 {
			log.Warn("call failed")
		}
		log.Flush()
		if took := time.Since(start); took > MaxWait+MaxDelay {
			t.Errorf("%d lines took %s", lines, took)
		}
		if len(log.pending) > maxReserved+1<<10 {
			t.Errorf("%d bytes are pending", len(log.pending))
		}
		dropped := log.Dropped()
		if dropped < lines/2 || !strings.Contains(string(log.pending), "call failed") {
			t.Errorf("%d lines were dropped; those at the end were %q", dropped, log.pending[len(log.pending)-200:])
		}
		close(out.release)
		synctest.Wait()
		log.Info("after")
		log.Flush()
		got := out.String()
		if want := fmt.Sprintf("level=WARN msg=\"log lines dropped\" count=%d\n", dropped); strings.Count(got, want) != 1 {
			t.Errorf("got %q, want %q once", got[max(0, len(got)-500):], want)
		}
		if n := uint64(strings.Count(got, "\n")); n != lines+10+2-dropped {
			t.Errorf("%d lines were written, and %d dropped", n, dropped)
		}
	})
}

func TestLinesThatTheWriterRefusesAreCounted(t *testing.T) {
	out := &refusing{err: io.ErrClosedPipe}
	log := New(out, Text, slog.LevelInfo)
	log.Warn("one")
	log.Info("two")
	log.Info("three")
	log.Flush()
	if log.Dropped() != 3 {
		t.Errorf("%d lines were dropped", log.Dropped())
	}
	out.mu.Lock()
	out.err = nil
	out.mu.Unlock()
	log.Warn("four")
	log.Flush()
	if got := out.String(); !strings.Contains(got, "msg=four") || !strings.Contains(got, `msg="log lines dropped" count=3`) {
		t.Error(got)
	}
}

// partial is a writer that takes a part of some writes, and refuses others.
type partial struct {
	writer
	n int // of writes; guarded by mu
}

func (p *partial) Write(text []byte) (int, error) {
	p.mu.Lock()
	p.n++
	writes, n := p.n, 0
	p.mu.Unlock()
	if writes > 4000 || writes%3 == 0 {
		return p.writer.Write(text)
	}
	if writes%3 == 1 {
		n = len(text) * (writes % 7) / 8
	}
	_, _ = p.writer.Write(text[:n])
	return n, syscall.ENOSPC
}

// Whatever a writer takes, lines are written whole, and those that were dropped are counted in the log.
func TestTheLinesOfALogAndThoseThatWereDroppedAddUp(t *testing.T) {
	out := new(partial)
	log := New(out, Text, slog.LevelInfo)
	const lines = 3000
	for i := range lines {
		if i%10 == 0 {
			log.Warn("line", "i", i)
		} else {
			log.Info("line", "i", i)
		}
	}
	for range 2 { // the disk is no longer full
		out.mu.Lock()
		out.n = 4000
		out.mu.Unlock()
		log.Warn("end")
		log.Flush()
	}
	whole := regexp.MustCompile(`^time=\S+ level=\S+ msg=(?:line i=\d+|end|"log lines dropped" count=(\d+))$`)
	read, dropped := 0, 0
	for line := range strings.Lines(out.String()) {
		m := whole.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		switch {
		case m == nil:
			t.Errorf("a line is not whole: %q", line)
		case m[1] != "":
			n, _ := strconv.Atoi(m[1])
			dropped += n
		default:
			read++
		}
	}
	if read+dropped != lines+2 || uint64(dropped) != log.Dropped() || dropped == 0 {
		t.Errorf("%d lines were read, %d dropped of %d; %d are counted", read, dropped, lines+2, log.Dropped())
	}
}

// refusing is a writer that fails as long as it has an error.
type refusing struct {
	writer
	err error // guarded by mu
}

func (r *refusing) Write(p []byte) (int, error) {
	r.mu.Lock()
	err := r.err
	r.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return r.writer.Write(p)
}

func TestTextOfACommandKeepsItsPlaceBetweenTheLines(t *testing.T) {
	out := new(writer)
	log := New(out, Text, slog.LevelInfo)
	log.Info("first")
	fmt.Fprintln(log, "hatchel: serving")
	if got := out.String(); !strings.HasSuffix(got, "msg=first\nhatchel: serving\n") {
		t.Errorf("got %q", got)
	}
}

func TestLevelCanChange(t *testing.T) {
	out := new(writer)
	log := New(out, Text, slog.LevelError)
	log.Debug("before")
	log.SetLevel(slog.LevelDebug, "SIGUSR1")
	log.Debug("after")
	log.Flush()
	if got := out.String(); strings.Contains(got, "before") || !strings.Contains(got, "after") ||
		!strings.Contains(got, `msg="log level changed" to=debug trigger=SIGUSR1`) {
		t.Error(got)
	}
}

func TestRepeatedEventsHaveOneLineASecondWithTheirCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := new(writer)
		log := New(out, Text, slog.LevelInfo)
		refused := &Limited{Log: log.Logger, Text: "request refused"}
		for n := range 100 {
			refused.Add("192.0.2.1", slog.Int("n", n))
			refused.Add("192.0.2.2", slog.Int("n", n))
		}
		time.Sleep(time.Hour)
		refused.Add("192.0.2.1", slog.Int("n", 100))
		time.Sleep(time.Hour)
		synctest.Wait()
		var got []string
		for line := range strings.Lines(out.String()) {
			_, rest, _ := strings.Cut(line, "msg=")
			got = append(got, strings.TrimSpace(rest))
		}
		first, rest, again := `"request refused" n=0 count=1`, `"request refused" n=99 count=99`, `"request refused" n=100 count=1`
		if want := strings.Join([]string{first, first, rest, rest, again}, "\n"); strings.Join(got, "\n") != want {
			t.Errorf("\n got %q\nwant %q", got, want)
		}
		if len(refused.repeats.keys) > 0 {
			t.Errorf("%d addresses are kept", len(refused.repeats.keys))
		}
	})
}

func TestAddressesBeyondTheLimitShareOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := new(writer)
		log := New(out, Text, slog.LevelInfo)
		refused := &Limited{Log: log.Logger, Text: "request refused"}
		for n := range 10 * maxKeys {
			refused.Add(string(rune('a' + n)))
		}
		refused.repeats.mu.Lock()
		if len(refused.repeats.keys) > maxKeys+1 {
			t.Errorf("%d addresses are kept", len(refused.repeats.keys))
		}
		refused.repeats.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if !strings.Contains(out.String(), "count=9215\n") {
			t.Errorf("the others are not counted")
		}
	})
}

func BenchmarkLine(b *testing.B) {
	for name, f := range formats {
		b.Run(name, func(b *testing.B) {
			log := New(io.Discard, f.format, slog.LevelInfo)
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				r := slog.NewRecord(time.Now(), slog.LevelInfo, "call answered", 0)
				r.AddAttrs(callAttrs...)
				log.Handler().Handle(ctx, r)
			}
		})
	}
}
