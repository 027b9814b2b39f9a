package state

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/internal/sampletest"
	"hatchel/runtime/durable/postgres/postgrestest"
)

// simulation is some processes that share a rate, over one file and by the clock of a bubble.
type simulation struct {
	rate    int       // events a second
	burst   int       // events
	asked   []float64 // events a second, of each process
	pauses  bool      // each process asks for nothing during half of the seconds
	maxWait time.Duration
	seed    uint64
}

// outcome is what a simulation has measured.
type outcome struct {
	statements atomic.Int64
	used       []time.Duration // when events happened, since the beginning
}

const simulated = 8 * time.Second

// countingDatabase counts the statements on rates.
type countingDatabase struct {
	database
	statements *atomic.Int64
}

func (d countingDatabase) run(ctx context.Context, a access, do func(context.Context, session) error) error {
	if a == relaxed {
		d.statements.Add(1)
	}
	return d.database.run(ctx, a, do)
}

// reserving makes a store count its statements, and reserve ahead as one does that many processes share.
func reserving(s *recordStore, statements *atomic.Int64) {
	s.reservesAhead, s.db = true, countingDatabase{s.db, statements}
}

type arrival struct {
	at      time.Duration
	process int
}

// arrivals returns when events are asked for, at random.
func (s simulation) arrivals() (all []arrival) {
	random := rand.New(rand.NewPCG(s.seed, 2))
	for process, rate := range s.asked {
		for at := time.Duration(0); at < simulated; at += time.Duration(random.ExpFloat64() / rate * float64(time.Second)) {
			if !s.pauses || (int(at/time.Second)+process)%2 == 0 {
				all = append(all, arrival{at, process})
			}
		}
	}
	slices.SortFunc(all, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	return all
}

func (s simulation) run(t *testing.T) (o *outcome) {
	path := filepath.Join(t.TempDir(), "state.db")
	o = new(outcome)
	synctest.Test(t, func(t *testing.T) {
		stores := make([]*SQLite, len(s.asked))
		for i := range stores {
			stores[i] = openRates(t, path, &o.statements)
			defer stores[i].Close()
		}
		rate := Rate{Interval: time.Second / time.Duration(s.rate), Burst: s.burst, MaxWait: s.maxWait}
		began := time.Now()
		for _, a := range s.arrivals() {
			time.Sleep(a.at - time.Since(began))
			wait, ok, err := stores[a.process].Reserve(t.Context(), "x", rate, s.maxWait)
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				o.used = append(o.used, time.Since(began)+wait)
			}
		}
	})
	slices.Sort(o.used)
	return o
}

func openRates(t *testing.T, path string, statements *atomic.Int64) *SQLite {
	t.Helper()
	s, err := Open(context.WithoutCancel(t.Context()), path)
	if err != nil {
		t.Fatal(err)
	}
	reserving(&s.recordStore, statements)
	return s
}

// most returns the largest number of events in any period of a length.
func (o *outcome) most(length time.Duration) (most int) {
	first := 0
	for last, at := range o.used {
		for at-o.used[first] > length {
			first++
		}
		most = max(most, last-first+1)
	}
	return most
}

// share returns the part of a rate that was given in the second half, when the burst is used up.
func (o *outcome) share(rate int) float64 {
	n := 0
	for _, at := range o.used {
		if at >= simulated/2 && at < simulated {
			n++
		}
	}
	return float64(n) / (simulated / 2).Seconds() / float64(rate)
}

func evenly(processes int, total float64) []float64 {
	return slices.Repeat([]float64{total / float64(processes)}, processes)
}

func skewed(processes int, total float64) (all []float64) {
	sum := 0.0
	for i := range processes {
		all = append(all, 1/float64(i+1))
		sum += all[i]
	}
	for i := range all {
		all[i] *= total / sum
	}
	return all
}

func TestRatesReservedAheadTakeFewStatements(t *testing.T) {
	for _, c := range sampletest.Of(t, 1, []struct {
		claim string
		simulation
		statements float64 // a second, at most
		given      float64 // part of the rate, at least
	}{
		{"three processes", simulation{rate: 100, burst: 100, asked: evenly(3, 150)}, 60, 0.99},
		{"ten processes", simulation{rate: 1000, burst: 1000, asked: evenly(10, 1500)}, 200, 0.99},
		{"ten processes that wait", simulation{rate: 1000, burst: 1000, asked: evenly(10, 1500), maxWait: time.Second}, 200, 0.99},
		{"ten processes, skewed", simulation{rate: 1000, burst: 1000, asked: skewed(10, 1500)}, 200, 0.99},
		{"ten processes that are not short", simulation{rate: 1000, burst: 1000, asked: evenly(10, 600)}, 250, 0.58},
		{"a tenth at once", simulation{rate: 1000, burst: 100, asked: evenly(10, 1500)}, 350, 0.99},
		{"half an event a horizon", simulation{rate: 1000, burst: 1000, asked: evenly(100, 1500)}, 1500, 0.99},
	}) {
		t.Run(c.claim, func(t *testing.T) {
			o := c.run(t)
			statements, given := float64(o.statements.Load())/simulated.Seconds(), o.share(c.rate)
			if statements > c.statements || given < c.given {
				t.Errorf("%.0f statements a second, want %.0f; %.3f of the rate, want %.3f",
					statements, c.statements, given, c.given)
			}
		})
	}
}

func TestNoPeriodHasMoreThanItsRateAndTheBurst(t *testing.T) {
	for _, seed := range sampletest.Of(t, 2, []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}) {
		random := rand.New(rand.NewPCG(seed, 1))
		s := simulation{
			rate: 50 << random.IntN(5), burst: 1 << random.IntN(10), pauses: seed%2 == 0, seed: seed,
			maxWait: time.Duration(random.IntN(3)) * 300 * time.Millisecond,
		}
		s.asked = skewed(1+random.IntN(8), float64(s.rate)*(0.5+8*random.Float64()))
		t.Run(fmt.Sprintf("%d/s with a burst of %d", s.rate, s.burst), func(t *testing.T) {
			o := s.run(t)
			for _, length := range []time.Duration{0, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 3 * time.Second} {
				if most, allowed := o.most(length), s.burst+int(length.Seconds()*float64(s.rate)); most > allowed {
					t.Errorf("%d events in %v, want at most %d", most, length, allowed)
				}
			}
		})
	}
}

// inBubbleWithRates runs a test with a store in memory that counts its statements on rates.
func inBubbleWithRates(t *testing.T, test func(t *testing.T, s *SQLite, statements *atomic.Int64)) {
	synctest.Test(t, func(t *testing.T) {
		var statements atomic.Int64
		s := openRates(t, "", &statements)
		defer s.Close()
		test(t, s, &statements)
	})
}

// reserveAll reserves until an event has to wait, and returns how many did not.
func reserveAll(t *testing.T, s Store, rate Rate) (n int) {
	t.Helper()
	for {
		_, ok, err := s.Reserve(t.Context(), "x", rate, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return n
		}
		n++
	}
}

func TestARefusalCostsNothingUntilTheTimeThatItNames(t *testing.T) {
	inBubbleWithRates(t, func(t *testing.T, s *SQLite, statements *atomic.Int64) {
		rate := Rate{Interval: time.Minute, Burst: 1}
		reserveAll(t, s, rate)
		asked := statements.Load()
		time.Sleep(30 * time.Second)
		if wait, ok, err := s.Reserve(t.Context(), "x", rate, 0); ok || err != nil || wait != 30*time.Second || statements.Load() != asked {
			t.Errorf("wait %v, ok %t, error %v, %d more statements", wait, ok, err, statements.Load()-asked)
		}
		time.Sleep(30 * time.Second)
		if n := reserveAll(t, s, rate); n != 1 {
			t.Errorf("%d events after a minute", n)
		}
	})
}

func TestASlowRateAdmitsItsWholeBurst(t *testing.T) {
	inBubbleWithRates(t, func(t *testing.T, s *SQLite, _ *atomic.Int64) {
		if n := reserveAll(t, s, Rate{Interval: time.Minute, Burst: 30}); n != 30 {
			t.Errorf("%d of 30 events", n)
		}
	})
}

func TestAFastRateAdmitsHalfOfItsBurstAtLeast(t *testing.T) {
	inBubbleWithRates(t, func(t *testing.T, s *SQLite, statements *atomic.Int64) {
		if n := reserveAll(t, s, Rate{Interval: time.Millisecond, Burst: 200}); n < 100 || n > 200 || statements.Load() > 20 {
			t.Errorf("%d of 200 events with %d statements", n, statements.Load())
		}
	})
}

func TestATurnThatIsNotUsedInItsTimeIsLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		rate := Rate{Interval: time.Millisecond, Burst: 200}
		var stores [20]*SQLite
		for i := range stores {
			stores[i] = openRates(t, path, new(atomic.Int64))
			defer stores[i].Close()
			for range 50 {
				if _, _, err := stores[i].Reserve(t.Context(), "x", rate, 0); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Second)
		}
		used := 0
		for _, s := range stores {
			used += reserveAll(t, s, rate)
		}
		if used > rate.Burst {
			t.Errorf("%d events at once, want at most the burst of %d", used, rate.Burst)
		}
	})
}

func TestAPauseTakesBackWhatWasReservedAhead(t *testing.T) {
	inBubbleWithRates(t, func(t *testing.T, s *SQLite, _ *atomic.Int64) {
		rate := Rate{Interval: time.Millisecond, Burst: 1000, MaxWait: time.Hour}
		for range 20 {
			if _, ok, err := s.Reserve(t.Context(), "x", rate, 0); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		if err := s.Postpone(t.Context(), "x", rate, time.Minute); err != nil {
			t.Fatal(err)
		}
		if wait, ok, err := s.Reserve(t.Context(), "x", rate, time.Hour); wait < time.Minute || !ok || err != nil {
			t.Errorf("wait %v, ok %t, error %v", wait, ok, err)
		}
	})
}

// BenchmarkSharedRate asks for 1,500 events a second under a rate of 1,000, by ten processes that share a
// database. An operation is one event that is asked for.
func BenchmarkSharedRate(b *testing.B) {
	const processes, calls, asked = 10, 1000, 1500
	address, _ := postgrestest.Schema(b)
	var statements atomic.Int64
	stores := make([]*Postgres, processes)
	for i := range stores {
		s, err := OpenPostgres(context.WithoutCancel(b.Context()), address)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		reserving(&s.recordStore, &statements)
		stores[i] = s
	}
	rate := Rate{Interval: time.Second / calls, Burst: calls}
	reserve := func(process int) bool {
		_, ok, err := stores[process].Reserve(b.Context(), "x", rate, 0)
		if err != nil {
			b.Error(err)
		}
		return ok
	}
	for reserve(0) { // the burst
	}
	statements.Store(0)
	var all sync.WaitGroup
	var mu sync.Mutex
	o := new(outcome)
	b.ResetTimer()
	began := time.Now()
	for i := range b.N {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / asked)))
		all.Go(func() {
			if asked := time.Now(); reserve(i % processes) {
				mu.Lock()
				defer mu.Unlock()
				o.used = append(o.used, asked.Sub(began))
			}
		})
	}
	all.Wait()
	took := time.Since(began).Seconds()
	slices.Sort(o.used)
	b.ReportMetric(float64(statements.Load())/took, "updates/s")
	b.ReportMetric(float64(len(o.used))/took/calls, "given/rate")
	b.ReportMetric(float64(o.most(time.Second)), "most/s")
}
