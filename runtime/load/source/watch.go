package source

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"hatchel/internal/ctxtime"
	"hatchel/internal/queue"
)

const (
	quietPeriod  = 50 * time.Millisecond  // without another event before a change is read
	maxQuietWait = 500 * time.Millisecond // maximum delay by further events
	settlePeriod = 30 * time.Millisecond  // between two reads that must agree
	scanInterval = 700 * time.Millisecond // between polls, for file systems without notifications
)

// Watch calls changed whenever the folder, or the file of a secret, differs from its last snapshot and
// two reads in a row agree; once when it becomes unreadable, and once when it is readable again. Notifications of the
// operating system only trigger a read: the content decides. Watch returns when ctx ends.
func (f *Folder) Watch(ctx context.Context, changed func()) {
	w := &watcher{folder: f, wake: queue.NewSignal()}
	var running sync.WaitGroup
	defer running.Wait()
	if notifier, err := fsnotify.NewWatcher(); err == nil { // without one, polling does
		defer notifier.Close()
		w.notifier = notifier
		// The notifier waits for its readers with a lock held that adding and removing folders
		// needs.
		running.Go(w.listen)
	}
	w.watchFolders()
	// A change between the last snapshot and the start of the watch would otherwise go unnoticed.
	w.checkFolder(ctx, changed)
	ticker := time.NewTicker(scanInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
			if !w.waitQuiet(ctx) {
				return
			}
		case <-ticker.C:
			if g := f.fingerprint(); g == w.lastSeen && !g.recent {
				continue
			}
		}
		w.checkFolder(ctx, changed)
	}
}

// watcher is one running Watch.
type watcher struct {
	folder     *Folder
	notifier   *fsnotify.Watcher
	wake       queue.Signal // something happened that may concern the configuration
	lastSeen   fingerprint
	unreadable bool // the folder was unreadable when changed was last called

	mu      sync.Mutex
	watched map[string]bool // folders with notifications; guarded by mu
}

// listen wakes the watcher for each notification until the notifier is closed.
func (w *watcher) listen() {
	for {
		select {
		case e, ok := <-w.notifier.Events:
			if !ok {
				return
			}
			if !w.isRelevant(e) {
				continue
			}
		case _, ok := <-w.notifier.Errors: // events were lost
			if !ok {
				return
			}
		}
		w.wake.Send()
	}
}

// checkFolder reads the folder until two reads agree, and calls changed when they differ from the
// last snapshot. It remembers a fingerprint only if the folder kept it while the last snapshot was
// read again: a folder that changed and changed back would otherwise look like that snapshot.
func (w *watcher) checkFolder(ctx context.Context, changed func()) {
	before := w.folder.fingerprint()
	w.lastSeen = fingerprint{}
	for {
		first, differs := w.readIfChanged(ctx)
		still := settlePeriod
		if first == nil {
			still = scanInterval // replacing a folder takes longer than replacing a file
		}
		if !differs && w.folder.fingerprint() == before {
			w.lastSeen = before
		}
		if !differs || ctxtime.Sleep(ctx, still) != nil {
			return
		}
		second, differs := w.readIfChanged(ctx)
		if !differs {
			return
		}
		if first == nil && second == nil || first != nil && second != nil && second.equal(first) {
			w.unreadable = second == nil
			break
		}
	}
	changed()
	w.watchFolders()
}

// readIfChanged reads the folder and reports whether the result is new. The snapshot is nil when
// the folder cannot be read.
func (w *watcher) readIfChanged(ctx context.Context) (*Snapshot, bool) {
	s, err := readFolder(ctx, w.folder.Dir())
	if err != nil {
		return nil, !w.unreadable
	}
	last := w.folder.latest()
	return s, w.unreadable || last == nil || !s.equal(last)
}

// watchFolders watches every folder of the configuration.
func (w *watcher) watchFolders() {
	if w.notifier == nil {
		return
	}
	dir := w.folder.Dir()
	folders := map[string]bool{dir: true}
	if last := w.folder.latest(); last != nil {
		for name, n := range last.nodes {
			if n.folder {
				folders[filepath.Join(dir, filepath.FromSlash(name))] = true
			}
		}
		for _, path := range last.requestedPaths() {
			folders[filepath.Dir(path)] = true
		}
	}
	w.mu.Lock()
	before := w.watched
	w.watched = folders
	w.mu.Unlock()
	for dir := range before {
		if !folders[dir] {
			w.notifier.Remove(dir) // a removed folder has removed itself
		}
	}
	for dir := range folders {
		w.notifier.Add(dir) // again: a folder of the same name may be a new one; if it fails, polling remains
	}
}

// isRelevant reports whether an event may concern the configuration: tools can also write into the
// folder.
func (w *watcher) isRelevant(e fsnotify.Event) bool {
	base := filepath.Base(e.Name)
	w.mu.Lock()
	followed := w.watched[e.Name]
	w.mu.Unlock()
	switch {
	case filepath.Ext(base) == ".hcl" || strings.HasPrefix(base, "..") || followed:
		return true
	case e.Has(fsnotify.Create):
		if info, err := os.Stat(e.Name); err == nil && info.IsDir() {
			return true
		}
	}
	last := w.folder.latest()
	if last == nil {
		return true
	}
	return slices.Contains(last.requestedPaths(), e.Name)
}

// waitQuiet waits until no more events arrive, at most maxQuietWait, and reports whether ctx is
// still active.
func (w *watcher) waitQuiet(ctx context.Context) bool {
	end := time.After(maxQuietWait)
	for {
		select {
		case <-w.wake:
		case <-time.After(quietPeriod):
			return true
		case <-end:
			return true
		case <-ctx.Done():
			return false
		}
	}
}
