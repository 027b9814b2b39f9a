package crowd

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

//go:embed testdata
var testdata embed.FS

// Strain is how much is asked of the server.
type Strain struct {
	Binary    string
	Folder    string // empty, for everything that is written
	Listeners int
	Rate      int  // calls a second
	Race      bool // the binary has the race detector, which gives no memory back: it is not judged
	For       time.Duration
	Say       func(format string, args ...any) // how it goes; called by one goroutine at a time
}

// Load opens listeners, half of them in each era, some over a toolset, has the server called at a steady rate while what is served changes about
// once a second, and closes the listeners again.
//
// What is lost is defined by what a listener knows. It knows of each list and document the revision that it read last; it reads only because it was told to; and
// every change that is made after its subscription was acknowledged is due to it. Most changes are followed by nothing until everybody
// knows them: a revision that somebody does not know after a minute of that is lost. Now and then five changes come at once. The first of those may be
// passed over, the last may not.
func Load(ctx context.Context, s Strain) (*LoadReport, error) {
	r := &LoadReport{Strain: s, faults: new(faults)}
	folder := filepath.Join(s.Folder, "load")
	if err := writeFolder(folder); err != nil {
		return nil, err
	}
	w := newWorld(folder)
	twin, err := r.serve(ctx, w)
	if err != nil {
		return nil, err
	}
	if r.Goroutines.Before, err = twin.count(); err != nil {
		return nil, err
	}
	s.Say("a server that nobody uses has %d goroutines", r.Goroutines.Before)
	live, err := r.serve(ctx, w)
	if err != nil {
		return nil, err
	}
	if err := r.strain(ctx, live, newWorld(folder)); err != nil {
		live.stop()
		return nil, fmt.Errorf("%w\n%s", err, live.lastWords())
	}
	if r.After, err = live.collected(ctx, r.Before, 10*time.Second); err != nil {
		return nil, err
	}
	if r.Goroutines.After, err = live.count(); err != nil {
		return nil, err
	}
	return r, r.judge(live.log)
}

// writeFolder writes the folder that is served.
func writeFolder(folder string) error {
	files, err := fs.Sub(testdata, "testdata/load")
	if err != nil {
		return err
	}
	if err := os.CopyFS(folder, files); err != nil {
		return err
	}
	page, err := os.ReadFile(filepath.Join(folder, "pages", "0.txt"))
	for i := 1; err == nil && i < pageCount; i++ {
		err = os.WriteFile(filepath.Join(folder, "pages", fmt.Sprintf("%d.txt", i)), page, 0o644)
	}
	return err
}

// serve starts a server and has it do a little of everything, so that what comes later finds it warm.
func (r *LoadReport) serve(ctx context.Context, w *world) (*server, error) {
	s, err := start(ctx, r.Strain.Binary, w.folder, filepath.Join(r.Strain.Folder, "server.log"))
	if err != nil {
		return nil, err
	}
	warm, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	c, err := callSteadily(warm, s.host, 200, r.faults)
	if err == nil {
		c.rest()
		r.Before, err = s.collected(ctx, Holdings{}, 0)
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// strain is the load itself.
func (r *LoadReport) strain(ctx context.Context, s *server, w *world) error {
	began := time.Now()
	a, err := gather(ctx, w, s.host, r.Strain.Listeners, r.faults)
	if err != nil {
		return err
	}
	r.Strain.Say("%d listeners are there after %v", len(a.listeners), shown(time.Since(began)))
	ends, stop := context.WithTimeout(ctx, r.Strain.For)
	defer stop()
	calls, err := callSteadily(ends, s.host, r.Strain.Rate, r.faults)
	if err != nil {
		return err
	}
	if err := r.change(ctx, ends, w, a); err != nil {
		return err
	}
	r.Took = calls.rest()
	r.Lost = max(r.Lost, a.informed(ctx, patience))
	if r.During, err = holdingsOf(s.pid()); err != nil {
		return err
	}
	r.Delays, r.Told, r.Idle = a.delays, int(a.told.Load()), int(a.idle.Load())
	return a.leave(ctx)
}

// change makes one change after the other until ends does.
func (r *LoadReport) change(ctx, ends context.Context, w *world, a *audience) error {
	through, err := dial(ctx, a.host, "", modern, nothing)
	if err != nil {
		return err
	}
	defer through.close()
	for n := 0; ends.Err() == nil; n++ {
		next := time.Now().Add(time.Second)
		c, times := w.nth(n), 1
		if n%8 == 7 {
			c, times = w.changes[0], 5
			a.bursts.Store(true)
		}
		a.expect(c)
		for i := range times {
			if i > 0 {
				pause(ctx, 40*time.Millisecond)
			}
			if err := w.make(ctx, c, through); err != nil {
				return err
			}
			r.Made++
		}
		r.Due += a.due(c)
		if missing := a.informed(ctx, patience); missing > 0 {
			r.faults.add("a change was lost", "%s: %d listeners do not know it", c.name, missing)
			r.Lost += missing
		}
		pause(ends, time.Until(next))
		a.bursts.Store(false)
	}
	return nil
}
