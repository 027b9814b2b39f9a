package lsp

import (
	"context"
	"fmt"
	"io/fs"
	"runtime/debug"

	"hatchel/cmd/hatchel/editor"
	"hatchel/hcl"
	"hatchel/runtime/load/source"
)

// start loads the folder in a goroutine of its own, unless one does.
func (f *folder) start() {
	if f.loading || f.loaded == f.changes {
		return
	}
	f.timer.Stop()
	f.loading = true
	s, changes, disk, open := f.server, f.changes, f.disk, f.openDocuments()
	if !s.watches {
		disk = nil // nobody says what has changed
	}
	opts := hcl.Options{Dir: f.dir, Vars: s.opts.Vars, Getenv: s.opts.Getenv, Parallel: guarded(s.opts.Parallel),
		Cache: f.cache}
	go func() {
		if disk == nil {
			disk = f.read()
		}
		buffers := make(map[string][]byte, len(open))
		for name, d := range open {
			buffers[name] = d.src
		}
		files := disk.With(buffers)
		project, err := load(s.language, files, opts, func(name string) bool { return open[name] != nil })
		s.post(func() { f.finish(result{changes, disk, files, project, err}) })
	}()
}

// read returns the files as they are on disk. A directory that cannot be read has none.
func (f *folder) read() *source.Snapshot {
	if read, err := f.source.Snapshot(context.Background()); err == nil {
		return read
	}
	return source.NewSnapshot(f.dir)
}

// result is what a load has given.
type result struct {
	changes int              // of the folder when it began
	disk    *source.Snapshot // the files as they are on disk
	files   *source.Snapshot // with the texts of the editor
	project *editor.Project
	err     error
}

// load loads a folder. A panic is an error: the server goes on with what it knew.
func load(l *editor.Language, fsys fs.FS, opts hcl.Options, noted func(file string) bool) (
	p *editor.Project, err error,
) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the load failed unexpectedly: %v\n%s", r, debug.Stack())
		}
	}()
	return l.Load(fsys, opts, noted), nil
}

// finish takes the result of a load, in the goroutine of Serve. A result of an older text is dropped.
func (f *folder) finish(r result) {
	f.loading = false
	if f.server.folders[f.dir] != f {
		return // dropped meanwhile
	}
	if r.err != nil {
		f.server.opts.Log.Error("load failed", "dir", f.dir, "error", r.err)
		f.server.notify("window/logMessage", logMessageParams{severityError, r.err.Error()})
		f.cache = hcl.NewCache() // it may be half filled
	}
	if r.changes != f.changes {
		if len(f.waiting) > 0 {
			f.start()
		} else {
			f.timer.Reset(debounce)
		}
		return
	}
	f.loaded, f.disk = r.changes, r.disk
	f.server.trim()
	if p := r.project; r.err == nil {
		p.StayOwn(f.project)
		f.project, f.files = p, r.files
		f.keepGood()
		if f.whole == nil || f.whole.Partial || !p.Config.Partial {
			f.whole = p.Config
		}
		f.publish(p)
	}
	f.endWaiting()
}
