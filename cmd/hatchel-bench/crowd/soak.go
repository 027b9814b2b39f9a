package crowd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Endurance is how long a server has to bear what.
type Endurance struct {
	Binary string
	Race   bool   // the binary has the race detector, which gives no memory back: it is not judged
	Folder string // empty, for everything that is written
	Served string // the folder that is served, beside that of a load; a copy of it is
	For    time.Duration
	Say    func(format string, args ...any) // how it goes; called by one goroutine
}

// soak is a Soak under way.
type soak struct {
	Endurance
	world  *world
	folder string // that is served
	host   string // of the server that lives now
	pid    int

	faults   faults
	tally    tally
	language sync.Mutex // held while the folder is not what it should be

	mu       sync.Mutex
	deserted []*client // whose sessions are there without them; guarded by mu
}

// actors are those who act at once, each again and again.
var actors = []struct {
	name string
	many int
	act  func(*soak, context.Context) error
}{
	{"a client of " + string(legacy), 3, func(s *soak, ctx context.Context) error { return s.visit(ctx, legacy) }},
	{"a client of " + string(modern), 3, func(s *soak, ctx context.Context) error { return s.visit(ctx, modern) }},
	{"a client over pipes", 1, (*soak).pipeIn},
	{"a listener", 10, (*soak).listenIn},
	{"an author", 1, (*soak).edit},
	{"a vandal", 2, (*soak).vandalize},
	{"a client that stalls", 3, (*soak).stall},
}

// SoakReport is what a soak showed.
type SoakReport struct {
	Endurance Endurance
	Done      map[string]int // how often what happened
	Rests     []Rest
	Faults    []string
}

// Rest is what a server held when all actors rested.
type Rest struct {
	Life int // of the server
	Held Holdings
	// Goroutines are those at the end of a life that was ended by asking; 0 otherwise.
	Goroutines int
}

// Soak has all actors act at once. They rest now and then, and what the server holds then must not grow. In the middle the server is stopped in
// good order and begins another life, at the end of which it tells what its goroutines do.
func Soak(ctx context.Context, e Endurance) (*SoakReport, error) {
	s := &soak{Endurance: e, folder: filepath.Join(e.Folder, "soak")}
	if err := s.write(); err != nil {
		return nil, err
	}
	s.world = newWorld(s.folder)
	r := &SoakReport{Endurance: e}
	const lives = 2
	phases := max(2, int(e.For/lives/time.Minute))
	for life := range lives {
		rests, err := s.live(ctx, life, phases, e.For/lives/time.Duration(phases))
		r.Rests = append(r.Rests, rests...)
		if err != nil {
			return nil, err
		}
	}
	r.Done = s.tally.all()
	for _, log := range []string{"server.log", "pipes.log"} {
		found, err := alarms(filepath.Join(e.Folder, log))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, said := range found {
			s.faults.add("log: "+firstWords(said), "%s", said)
		}
	}
	r.Faults = s.faults.all()
	return r, nil
}

// firstWords tell alarms of one kind from those of another.
func firstWords(said string) string {
	line, _, _ := strings.Cut(said, "\n")
	if _, after, ok := strings.Cut(line, "level="); ok {
		line = after
	}
	return line[:min(len(line), 60)]
}

// write writes the folder that is served.
func (s *soak) write() error {
	if err := writeFolder(s.folder); err != nil {
		return err
	}
	if s.Served == "" {
		return nil
	}
	return filepath.WalkDir(s.Served, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(s.Served, path)
		if err != nil {
			return err
		}
		to := filepath.Join(s.folder, rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, src, 0o644)
	})
}

// live is one life of the server.
func (s *soak) live(ctx context.Context, life, phases int, phase time.Duration) (rests []Rest, err error) {
	server, err := start(ctx, s.Binary, s.folder, filepath.Join(s.Folder, "server.log"))
	if err != nil {
		return nil, err
	}
	s.host, s.pid = server.host, server.pid()
	for n := range phases {
		if err := s.act(ctx, phase); err != nil {
			server.stop()
			return nil, fmt.Errorf("%w: %s", err, server.lastWords())
		}
		if err := s.tidy(ctx); err != nil {
			s.faults.add("ending deserted sessions", "%v", err)
		}
		var limit Holdings // the first rest is what the others are measured by
		var enough time.Duration
		if n > 0 {
			limit, enough = rests[0].Held, patience
		}
		if s.Race {
			limit.Memory = math.MaxInt / 2
		}
		held, err := server.collected(ctx, limit, enough)
		if err != nil {
			return nil, fmt.Errorf("%w: %s", err, server.lastWords())
		}
		s.Say("life %d, rest %d: %v; %d things done", life+1, n+1, held, s.tally.sum())
		for _, said := range s.faults.all() {
			s.Say("so far: %s", said)
		}
		if n > 0 && !held.within(limit) {
			s.faults.add("growth", "%v at the first rest of life %d, %v at rest %d", rests[0].Held, life+1, held, n+1)
		}
		rests = append(rests, Rest{Life: life + 1, Held: held})
	}
	if life == 0 {
		if err := server.stop(); err != nil {
			s.faults.add("the end of a life", "%v", err)
		}
		return rests, nil
	}
	last := &rests[len(rests)-1]
	if last.Goroutines, err = server.count(); err == nil && last.Goroutines > mostAtRest {
		s.faults.add("growth", "%d goroutines when all rest", last.Goroutines)
	}
	return rests, err
}

// mostAtRest is more goroutines than a server has that nobody uses, with the connections that nobody has closed yet.
const mostAtRest = 100

// desert leaves a session behind: what the client has called goes on, and what it was asked waits for it.
func (s *soak) desert(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.session != "" {
		s.deserted = append(s.deserted, c)
	}
}

// tidy ends the deserted sessions, and with them all that they held.
func (s *soak) tidy(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	over := &client{host: s.host}
	if err := over.connect(ctx); err != nil {
		return err
	}
	defer over.close()
	for _, c := range s.deserted {
		if err := c.leave(over); err != nil {
			return err
		}
	}
	s.deserted = nil
	return nil
}

// act has all actors act for a while.
func (s *soak) act(ctx context.Context, d time.Duration) error {
	ends, stop := context.WithTimeout(ctx, d)
	defer stop()
	var acting sync.WaitGroup
	for _, a := range actors {
		for range a.many {
			acting.Go(func() {
				for ends.Err() == nil {
					began := time.Now()
					err := a.act(s, ends)
					if took := time.Since(began); took > patience {
						s.faults.add(a.name, "took %v", took)
					}
					if err != nil && ends.Err() == nil {
						s.faults.add(a.name, "%v", err)
						pause(ends, 50*time.Millisecond)
					}
				}
			})
		}
	}
	acting.Wait()
	if _, err := holdingsOf(s.pid); err != nil {
		return fmt.Errorf("the server has ended: %w", err)
	}
	return ctx.Err()
}

// tally counts what happened.
type tally struct{ counts sync.Map } // *atomic.Int64 by name

func (t *tally) add(what string) {
	n, _ := t.counts.LoadOrStore(what, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
}

func (t *tally) all() map[string]int {
	all := make(map[string]int)
	t.counts.Range(func(what, n any) bool {
		all[what.(string)] = int(n.(*atomic.Int64).Load())
		return true
	})
	return all
}

func (t *tally) sum() (sum int) {
	for _, n := range t.all() {
		sum += n
	}
	return sum
}
