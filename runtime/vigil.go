package runtime

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"hatchel/adapters"
)

// vigil looks at one followed document again and again, for as long as its resource is declared as it is.
type vigil struct {
	follows *follows
	of      *followed
	ctx     context.Context
	cancel  context.CancelFunc
	began   chan struct{} // closed once it is known how the document reads
	looks   chan struct{} // of the resource, when the vigil began

	refresh time.Duration // between readings, 0 for none
	files   bool          // there is a backend that tells of changes without being read

	version string // that the backends gave last
	digest  digest // of what was read last
	down    bool   // it could not be read the last time
}

// glancing is how long a file may have changed before that is seen.
const glancing = time.Second

// newVigil is nil when nothing but a new configuration changes what the resource holds.
func newVigil(f *follows, d *followed, r *resource) *vigil {
	v := &vigil{follows: f, of: d, began: make(chan struct{}), looks: r.looks, refresh: r.resource.Refresh}
	for _, s := range r.stages {
		_, versioned := s.versioned()
		v.files = v.files || versioned
	}
	if !v.files && v.refresh == 0 {
		return nil
	}
	v.ctx, v.cancel = context.WithCancel(f.ctx)
	return v
}

// run looks until the vigil ends. When changed is set it tells of that after the first look, so that nothing is missed by those who read then.
func (v *vigil) run(changed bool) {
	defer v.cancel()
	v.glance()
	v.read()
	close(v.began)
	if changed && v.ctx.Err() == nil {
		v.follows.tell(v.of)
	}
	glances, stop := every(glancing, v.files)
	defer stop()
	readings, stop := every(v.refresh, v.refresh > 0)
	defer stop()
	for {
		changed := false
		select {
		case <-v.ctx.Done():
			return
		case <-glances:
			if changed = v.glance(); changed {
				v.read()
			}
		case <-readings:
			changed = v.read()
		}
		if changed && v.ctx.Err() == nil {
			v.follows.tell(v.of)
		}
	}
}

// every is a ticker, or one that never ticks.
func every(d time.Duration, ticks bool) (<-chan time.Time, func()) {
	if !ticks {
		return nil, func() {}
	}
	t := time.NewTicker(d)
	return t.C, t.Stop
}

// glance asks the backends for their versions, and reports whether they gave others than before.
func (v *vigil) glance() bool {
	if !v.files {
		return false
	}
	version := ""
	err := v.look(func(r *resource, c *call, in inputs) error {
		if err := r.admit(c, in); err != nil {
			return err
		}
		version = r.version(c)
		return nil
	})
	if err != nil || version == v.version {
		return false
	}
	v.version = version
	return true
}

// read reads the document, and reports whether it is another than before. What cannot be read is taken for unchanged, which is logged once.
func (v *vigil) read() bool {
	if v.refresh == 0 {
		return false
	}
	var sum digest
	err := v.look(func(r *resource, c *call, in inputs) error {
		err := c.write(in, func(c *call) error { return r.contents(c, v.of.uri) })
		sum = sha256.Sum256(c.reply.blocks)
		return err
	})
	if err != nil {
		v.unread(err)
		return false
	}
	before := v.digest
	v.digest, v.down = sum, false
	return sum != before
}

func (v *vigil) unread(err error) {
	if v.down || v.ctx.Err() != nil {
		return
	}
	v.down = true
	g := v.follows.host.Current()
	g.log().Warn("a resource that is followed cannot be read again", "uri", g.scrubber.sentence(v.of.uri), "error", g.scrubber.sentence(err.Error()))
}

var errGone = errors.New("there is nothing at this URI any more")

// look has do look at the document, in a call of who began to follow it.
func (v *vigil) look(do func(*resource, *call, inputs) error) (err error) {
	select {
	case v.looks <- struct{}{}:
		defer func() { <-v.looks }()
	case <-v.ctx.Done():
		return context.Cause(v.ctx)
	}
	g := v.follows.host.pin()
	if g == nil {
		return errClosed
	}
	defer g.leave()
	r, variables := g.whole.resource(v.of.uri)
	if r == nil {
		return errGone
	}
	c := r.newCall(v.ctx, callerOf(v.of.caller), adapters.Nobody{})
	defer c.reply.release()
	defer recovered(&err)
	return do(r, c, inputs{texts: variables})
}

// version is what the backends say of what they would read. One that cannot say it before a step above it has answered says nothing.
func (r *resource) version(c *call) (all string) {
	for _, s := range r.stages {
		if action, ok := s.versioned(); ok {
			version, err := action.Version(c.frame.Context, &c.action)
			if err == nil {
				all += version
			}
			all += "\n"
		}
	}
	return all
}

// versioned is the action of a step that can tell of changes without being run.
func (s *stage) versioned() (adapters.Versioned, bool) {
	if s.step.Each != nil {
		return nil, false
	}
	action, ok := s.action.(adapters.Versioned)
	return action, ok
}
