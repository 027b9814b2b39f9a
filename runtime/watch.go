package runtime

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	quiet   = 50 * time.Millisecond  // without another event before a change is looked at
	longest = 500 * time.Millisecond // that events may put a look off
	settle  = 30 * time.Millisecond  // between two readings that must agree
	poll    = 700 * time.Millisecond // between glances, for file systems that notify nobody
)

// Watch calls changed whenever the folder reads differently than its last snapshot, and has read so twice in a row; once when it cannot be read any
// more, and once when it can again. Notifications of the operating system only wake it: what the files say decides. It returns when ctx ends.
func (f *Folder) Watch(ctx context.Context, changed func()) {
	w := &watch{folder: f, wake: make(chan struct{}, 1)}
	var running sync.WaitGroup
	defer running.Wait()
	if notifier, err := fsnotify.NewWatcher(); err == nil { // without one, polling does
		defer notifier.Close()
		w.notifier = notifier
		// The notifier waits for its readers with a lock held that adding and removing folders needs.
		running.Go(w.listen)
	}
	w.follow()
	w.seen = f.glance()
	// What happened between the last snapshot and the first look would otherwise wait for the next change.
	w.look(ctx, changed)
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
			if !w.calm(ctx) {
				return
			}
		case <-ticker.C:
			if g := f.glance(); g == w.seen && !g.fresh {
				continue
			}
		}
		w.look(ctx, changed)
	}
}

// watch is one Watch under way.
type watch struct {
	folder   *Folder
	notifier *fsnotify.Watcher
	wake     chan struct{} // something happened that may concern the configuration
	seen     glance
	lost     bool // the folder could not be read when changed was called last

	mu       sync.Mutex
	followed map[string]bool // folders that notify; guarded by mu
}

// listen turns notifications into wakes until the notifier is closed.
func (w *watch) listen() {
	for {
		select {
		case e, ok := <-w.notifier.Events:
			if !ok {
				return
			}
			if !w.concerns(e) {
				continue
			}
		case _, ok := <-w.notifier.Errors: // events were lost
			if !ok {
				return
			}
		}
		select {
		case w.wake <- struct{}{}:
		default: // it is awake
		}
	}
}

// look reads the folder until two readings agree, and tells when they differ from the last snapshot.
func (w *watch) look(ctx context.Context, changed func()) {
	w.seen = w.folder.glance()
	for {
		first, differs := w.differs()
		still := settle
		if first == nil {
			still = poll // who replaces a folder takes longer than who replaces a file
		}
		if !differs || !pause(ctx, still) {
			return
		}
		second, differs := w.differs()
		if !differs {
			return
		}
		if first == nil && second == nil || first != nil && second != nil && second.same(first) {
			w.lost = second == nil
			break
		}
	}
	changed()
	w.follow()
	w.seen = w.folder.glance()
}

// differs reads the folder, nil when it cannot be read, and reports whether that is news.
func (w *watch) differs() (*Snapshot, bool) {
	s, differs := w.folder.differs()
	if s == nil {
		return nil, !w.lost
	}
	return s, differs || w.lost
}

// follow asks to be notified by every folder that belongs to the configuration.
func (w *watch) follow() {
	if w.notifier == nil {
		return
	}
	folders := map[string]bool{w.folder.dir: true}
	if last := w.folder.latest(); last != nil {
		for name, n := range last.nodes {
			if n.folder {
				folders[filepath.Join(w.folder.dir, filepath.FromSlash(name))] = true
			}
		}
		for name := range last.others() {
			folders[filepath.Dir(filepath.Join(w.folder.dir, filepath.FromSlash(name)))] = true
		}
	}
	w.mu.Lock()
	before := w.followed
	w.followed = folders
	w.mu.Unlock()
	for dir := range before {
		if !folders[dir] {
			w.notifier.Remove(dir) // one that is gone has removed itself
		}
	}
	for dir := range folders {
		w.notifier.Add(dir) // again, because a folder of the same name may be another one; where it fails, polling does
	}
}

// concerns reports whether an event may be about the configuration: tools write into the folder too.
func (w *watch) concerns(e fsnotify.Event) bool {
	base := filepath.Base(e.Name)
	w.mu.Lock()
	followed := w.followed[e.Name]
	w.mu.Unlock()
	switch {
	case filepath.Ext(base) == ".hcl" || strings.HasPrefix(base, "..") || followed:
		return true
	case e.Has(fsnotify.Create):
		info, err := os.Stat(e.Name)
		if err == nil && info.IsDir() {
			return true
		}
	}
	last := w.folder.latest()
	if last == nil {
		return true
	}
	rel, err := filepath.Rel(w.folder.dir, e.Name)
	_, asked := last.others()[filepath.ToSlash(rel)]
	return err == nil && asked
}

// calm waits until no more events come, for a while at most, and reports whether ctx goes on.
func (w *watch) calm(ctx context.Context) bool {
	end := time.NewTimer(longest)
	defer end.Stop()
	still := time.NewTimer(quiet)
	defer still.Stop()
	for {
		select {
		case <-w.wake:
			still.Reset(quiet)
		case <-still.C:
			return true
		case <-end.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
