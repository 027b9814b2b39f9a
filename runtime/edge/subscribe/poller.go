package subscribe

import (
	"context"
	"crypto/sha256"
	"time"

	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
)

// versionInterval is the time between two checks of the versions of a document.
const versionInterval = time.Second

// poller polls one document for as long as its resource is declared as it is.
type poller struct {
	registry *Registry
	uri      string
	caller   *mcp.Caller            // the document is read as them
	of       func(*mcp.Caller) bool // whom it is read for; nil for all
	ctx      context.Context
	cancel   context.CancelFunc
	ready    chan struct{} // closed after the first poll
	probes   chan struct{} // of the resource

	refresh   time.Duration // between two readings; 0 for none
	versioned bool          // a backend tells of changes without being read

	version string            // that the backends told last
	sum     [sha256.Size]byte // of what was read last
	failing bool              // the last reading has failed
}

// newPoller returns nil when only a reload can change the document.
func newPoller(r *Registry, s *subscription, subscriber string, resource *call.Resource) *poller {
	p := &poller{
		registry: r, uri: s.uri, caller: s.subscribers[subscriber].caller,
		ready: make(chan struct{}), probes: resource.Probes,
		refresh: resource.Resource.Refresh, versioned: resource.IsVersioned(),
	}
	if !p.versioned && p.refresh == 0 {
		return nil
	}
	if s.perCaller {
		p.of = func(c *mcp.Caller) bool { return keyOf(c) == subscriber }
	}
	p.ctx, p.cancel = context.WithCancel(r.Context())
	return p
}

// run polls until the poller is cancelled. When changed is set, it notifies after the first poll.
func (p *poller) run(changed bool) {
	defer p.cancel()
	p.checkVersion()
	p.read()
	close(p.ready)
	if changed {
		p.notify()
	}
	var versions <-chan time.Time
	if p.versioned {
		versions = time.Tick(versionInterval)
	}
	readings := time.Tick(p.refresh) // nil for 0
	for {
		changed := false
		select {
		case <-p.ctx.Done():
			return
		case <-versions:
			if changed = p.checkVersion(); changed {
				p.read()
			}
		case <-readings:
			changed = p.read()
		}
		if changed {
			p.notify()
		}
	}
}

func (p *poller) notify() {
	if p.ctx.Err() == nil {
		p.registry.server.NotifyUpdated(p.uri, p.of)
	}
}

// checkVersion reports whether the backends tell another version than before.
func (p *poller) checkVersion() bool {
	if !p.versioned {
		return false
	}
	version := ""
	err := p.withResource(func(r *call.Resource, variables map[string]string) (err error) {
		version, err = r.Version(p.ctx, p.caller, variables)
		return err
	})
	if err != nil || version == p.version {
		return false
	}
	p.version = version
	return true
}

// read reports whether the document reads differently than before. A document that cannot be read
// is taken for unchanged, which is logged once.
func (p *poller) read() bool {
	if p.refresh == 0 {
		return false
	}
	var sum [sha256.Size]byte
	err := p.withResource(func(r *call.Resource, variables map[string]string) (err error) {
		sum, err = r.Sum(p.ctx, p.caller, p.uri, variables)
		return err
	})
	if err != nil {
		if !p.failing && p.ctx.Err() == nil {
			p.failing = true
			p.registry.server.LogReadFailure(p.uri, err)
		}
		return false
	}
	before := p.sum
	p.sum, p.failing = sum, false
	return sum != before
}

// withResource calls do with the resource that is served at the URI.
func (p *poller) withResource(do func(*call.Resource, map[string]string) error) error {
	select {
	case p.probes <- struct{}{}:
		defer func() { <-p.probes }()
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
	r, variables, release, err := p.registry.server.Resource(p.uri)
	if err != nil {
		return err
	}
	defer release()
	if r == nil {
		return errResourceGone
	}
	return do(r, variables)
}
