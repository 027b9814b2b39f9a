// Package secret runs the commands that print the values of secrets, and runs each again after its ttl.
package secret

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"time"

	"hatchel/internal/backoff"
	"hatchel/internal/service"
)

// failedBackoff is how often a command that has failed runs again, unless its ttl is shorter.
var failedBackoff = backoff.Policy{First: 30 * time.Second}

// Commands runs the commands of secrets, and keeps what they print for the time that each secret says. Its methods may
// be called concurrently.
type Commands struct {
	dir     func() string // of the configuration
	changed func()        // called when a command prints another value, fails, or works again; nil: see NewCommands

	running *service.Group // its context is that of commands; repeated runs, and what they report

	mu      sync.Mutex
	entries map[string]*entry // by the words of the command; guarded by mu
}

// entry is one command and its results.
type entry struct {
	command []string
	ttl     time.Duration
	value   []byte // of the last run that did not fail; nil for none
	err     error  // of the last run
	read    bool   // since the last load began
	timer   *time.Timer
	ran     chan struct{} // closed when the command has run for the first time; value and err are set before
}

// NewCommands returns Commands that run in the directory that dir returns. They call changed, in a goroutine, when a
// new load would read another value or error. If changed is nil, each command runs once. Commands run with the values
// of ctx.
func NewCommands(ctx context.Context, dir func() string, changed func()) *Commands {
	return &Commands{dir: dir, changed: changed, running: service.NewGroup(ctx), entries: map[string]*entry{}}
}

// Close ends the commands that run and the repeated runs, and waits until changed has returned.
func (c *Commands) Close() {
	c.running.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		e.stop()
	}
}

// Loading notes that a load begins. The returned function forgets the commands that the load has not read.
func (c *Commands) Loading() (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		e.read = false
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for key, e := range c.entries {
			if !e.read {
				e.stop()
				delete(c.entries, key)
			}
		}
	}
}

// Read returns the output of a command. The error is a phrase that follows "the command". A result that is younger
// than ttl is used again. With an error, the output is that of the last run that did not fail, or nil. Of several
// readers that find no result one runs the command, and the others wait for it.
func (c *Commands) Read(command []string, ttl time.Duration) ([]byte, error) {
	key := strings.Join(command, "\x00")
	c.mu.Lock()
	e, known := c.entries[key]
	if !known {
		e = &entry{command: command, ttl: ttl, read: true, ran: make(chan struct{})}
		c.entries[key] = e
	}
	if e.read {
		ttl = min(ttl, e.ttl) // of another secret of this load
	}
	e.read, e.ttl = true, ttl
	c.mu.Unlock()
	if !known {
		c.runFirst(e, key)
	}
	<-e.ran
	c.mu.Lock()
	defer c.mu.Unlock()
	return e.value, e.err
}

// runFirst runs the command of a new entry.
func (c *Commands) runFirst(e *entry, key string) {
	value, err := run(c.running.Context(), c.dir(), e.command)
	c.mu.Lock()
	defer c.mu.Unlock()
	e.value, e.err = value, err
	close(e.ran)
	if c.entries[key] == e { // no load has removed the entry while the command ran
		c.schedule(e)
	}
}

// schedule runs the command of an entry again after its ttl, or sooner after a failure. The caller holds mu.
func (c *Commands) schedule(e *entry) {
	if c.changed == nil || c.running.Context().Err() != nil {
		return
	}
	pause := e.ttl
	if e.err != nil {
		pause = min(pause, failedBackoff.First)
	}
	e.timer = time.AfterFunc(pause, func() { c.running.Go(func(ctx context.Context) { c.runAgain(ctx, e) }) })
}

func (c *Commands) runAgain(ctx context.Context, e *entry) {
	key := strings.Join(e.command, "\x00")
	c.mu.Lock()
	current := c.entries[key] == e
	c.mu.Unlock()
	if !current { // a load has removed the entry when its time was over already
		return
	}
	value, err := run(ctx, c.dir(), e.command)
	c.mu.Lock()
	isNew := (err == nil) != (e.err == nil) || err == nil && !bytes.Equal(value, e.value)
	if e.err = err; err == nil {
		e.value = value
	}
	if c.entries[key] == e {
		c.schedule(e)
	} else {
		isNew = false // a load removed the entry while the command ran
	}
	isNew = isNew && ctx.Err() == nil
	c.mu.Unlock()
	if isNew {
		c.changed()
	}
}

func (e *entry) stop() {
	if e.timer != nil {
		e.timer.Stop()
	}
}
