package runtime

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"hatchel/adapters"
)

// poller looks at one followed document again and again, for as long as its resource is declared as it is.
type poller struct {
	follows *follows
	of      *followed
	ctx     context.Context
	cancel  context.CancelFunc
	began   chan struct{} // closed once it is known how the document reads
	looks   chan struct{} // of the resource, when the poller began

	refresh time.Duration // between readings, 0 for none
	files   bool          // there is a backend that tells of changes without being read

	version string // that the backends gave last
	digest  digest // of what was read last
	down    bool   // it could not be read the last time
}

// glancing is how long a file may have changed before that is seen.
const glancing = time.Second

// newPoller is nil when nothing but a new configuration changes what the resource holds.
func newPoller(f *follows, d *followed, r *resource) *poller {
	p := &poller{follows: f, of: d, began: make(chan struct{}), looks: r.looks, refresh: r.resource.Refresh}
	for _, s := range r.stages {
		_, versioned := s.versioned()
		p.files = p.files || versioned
	}
	if !p.files && p.refresh == 0 {
		return nil
	}
	p.ctx, p.cancel = context.WithCancel(f.ctx)
	return p
}

// run looks until the poller ends. When changed is set it tells of that after the first look, so that nothing is missed by those who read then.
func (p *poller) run(changed bool) {
	defer p.cancel()
	p.glance()
	p.read()
	close(p.began)
	if changed && p.ctx.Err() == nil {
		p.follows.tell(p.of)
	}
	glances, stop := every(glancing, p.files)
	defer stop()
	readings, stop := every(p.refresh, p.refresh > 0)
	defer stop()
	for {
		changed := false
		select {
		case <-p.ctx.Done():
			return
		case <-glances:
			if changed = p.glance(); changed {
				p.read()
			}
		case <-readings:
			changed = p.read()
		}
		if changed && p.ctx.Err() == nil {
			p.follows.tell(p.of)
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
func (p *poller) glance() bool {
	if !p.files {
		return false
	}
	version := ""
	err := p.look(func(r *resource, c *call, in inputs) error {
		if err := r.admit(c, in); err != nil {
			return err
		}
		version = r.version(c)
		return nil
	})
	if err != nil || version == p.version {
		return false
	}
	p.version = version
	return true
}

// read reads the document, and reports whether it is another than before. What cannot be read is taken for unchanged, which is logged once.
func (p *poller) read() bool {
	if p.refresh == 0 {
		return false
	}
	var sum digest
	err := p.look(func(r *resource, c *call, in inputs) error {
		err := c.write(in, func(c *call) error { return r.contents(c, p.of.uri) })
		sum = sha256.Sum256(c.reply.blocks)
		return err
	})
	if err != nil {
		p.unread(err)
		return false
	}
	before := p.digest
	p.digest, p.down = sum, false
	return sum != before
}

func (p *poller) unread(err error) {
	if p.down || p.ctx.Err() != nil {
		return
	}
	p.down = true
	g := p.follows.host.Current()
	g.log().Warn("a resource that is followed cannot be read again", "uri", g.scrubber.sentence(p.of.uri), "error", g.scrubber.sentence(err.Error()))
}

var errGone = errors.New("there is nothing at this URI any more")

// look has do look at the document, in a call of who began to follow it.
func (p *poller) look(do func(*resource, *call, inputs) error) (err error) {
	select {
	case p.looks <- struct{}{}:
		defer func() { <-p.looks }()
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
	g := p.follows.host.pin()
	if g == nil {
		return errClosed
	}
	defer g.leave()
	r, variables := g.whole.resource(p.of.uri)
	if r == nil {
		return errGone
	}
	c := r.newCall(p.ctx, callerOf(p.of.caller), adapters.Nobody{})
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
