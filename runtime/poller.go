package runtime

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/failure"
)

// resourcePoller looks at one followed document again and again, for as long as its resource is declared as it is.
type resourcePoller struct {
	subscriptions *subscriptions
	subscription  *subscription
	ctx           context.Context
	cancel        context.CancelFunc
	ready         chan struct{} // closed once it is known how the document reads
	probeSlots    chan struct{} // of the resource, when the poller began

	refresh time.Duration // between readings, 0 for none
	files   bool          // there is a backend that tells of changes without being read

	version string            // that the backends gave last
	digest  [sha256.Size]byte // of what was read last
	failing bool              // it could not be read the last time
}

// versionInterval is how long a file may have changed before that is seen.
const versionInterval = time.Second

// newResourcePoller is nil when nothing but a new configuration changes the content of the resource.
func newResourcePoller(f *subscriptions, d *subscription, r *resource) *resourcePoller {
	p := &resourcePoller{subscriptions: f, subscription: d, ready: make(chan struct{}), probeSlots: r.probeSlots, refresh: r.resource.Refresh}
	for _, s := range r.steps {
		_, versioned := s.versionedAction()
		p.files = p.files || versioned
	}
	if !p.files && p.refresh == 0 {
		return nil
	}
	p.ctx, p.cancel = context.WithCancel(f.ctx)
	return p
}

// run looks until the poller ends. When changed is set it tells of that after the first look, so that nothing is missed by those who read then.
func (p *resourcePoller) run(changed bool) {
	defer p.cancel()
	p.checkVersion()
	p.read()
	close(p.ready)
	if changed && p.ctx.Err() == nil {
		p.subscriptions.notify(p.subscription)
	}
	glances, stop := tickerIf(versionInterval, p.files)
	defer stop()
	readings, stop := tickerIf(p.refresh, p.refresh > 0)
	defer stop()
	for {
		changed := false
		select {
		case <-p.ctx.Done():
			return
		case <-glances:
			if changed = p.checkVersion(); changed {
				p.read()
			}
		case <-readings:
			changed = p.read()
		}
		if changed && p.ctx.Err() == nil {
			p.subscriptions.notify(p.subscription)
		}
	}
}

// tickerIf is a ticker, or one that never ticks.
func tickerIf(d time.Duration, ticks bool) (<-chan time.Time, func()) {
	if !ticks {
		return nil, func() {}
	}
	t := time.NewTicker(d)
	return t.C, t.Stop
}

// checkVersion asks the backends for their versions, and reports whether they gave others than before.
func (p *resourcePoller) checkVersion() bool {
	if !p.files {
		return false
	}
	version := ""
	err := p.withResource(func(r *resource, c *call, in inputs) error {
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
func (p *resourcePoller) read() bool {
	if p.refresh == 0 {
		return false
	}
	var sum [sha256.Size]byte
	err := p.withResource(func(r *resource, c *call, in inputs) error {
		err := c.runRecovered(in, func(c *call) error { return r.contents(c, p.subscription.uri) })
		sum = sha256.Sum256(c.result.Blocks)
		return err
	})
	if err != nil {
		p.logReadFailure(err)
		return false
	}
	before := p.digest
	p.digest, p.failing = sum, false
	return sum != before
}

func (p *resourcePoller) logReadFailure(err error) {
	if p.failing || p.ctx.Err() != nil {
		return
	}
	p.failing = true
	g := p.subscriptions.host.Current()
	g.log().Warn("a resource that is followed cannot be read again", "uri", g.scrubber.Text(p.subscription.uri), "error", g.scrubber.Text(err.Error()))
}

var errResourceGone = errors.New("there is nothing at this URI any more")

// withResource has do look at the document, in a call of who began to follow it.
func (p *resourcePoller) withResource(do func(*resource, *call, inputs) error) (err error) {
	select {
	case p.probeSlots <- struct{}{}:
		defer func() { <-p.probeSlots }()
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
	g := p.subscriptions.host.pin()
	if g == nil {
		return errClosed
	}
	defer g.leave()
	r, variables := g.fullView.resource(p.subscription.uri)
	if r == nil {
		return errResourceGone
	}
	c := r.newCall(p.ctx, callerRoot(p.subscription.caller), adapters.Nobody{})
	defer c.result.Release()
	defer failure.Recover(&err)
	return do(r, c, inputs{texts: variables})
}

// version is what the backends say of what they would read. One that cannot say it before a step above it has answered says nothing.
func (r *resource) version(c *call) (all string) {
	for _, s := range r.steps {
		if action, ok := s.versionedAction(); ok {
			version, err := action.Version(c.frame.Context, &c.action)
			if err == nil {
				all += version
			}
			all += "\n"
		}
	}
	return all
}

// versionedAction is the action of a step that can tell of changes without being run.
func (s *boundStep) versionedAction() (adapters.Versioned, bool) {
	if s.decl.Each != nil {
		return nil, false
	}
	action, ok := s.action.(adapters.Versioned)
	return action, ok
}
