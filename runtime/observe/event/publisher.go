package event

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"hatchel/hcl/eventkind"
)

// Publisher publishes the events of one generation. A nil Publisher publishes nothing. It is safe
// for concurrent use. Use [NewPublisher].
type Publisher struct {
	Options
	hooked eventkind.Set // kinds of the hooks
	origin []byte        // the members revision and process, which are the same in all events
}

// Options are what a Publisher publishes, and for whom.
type Options struct {
	Ring     *Ring  // nil for hooks alone
	Hooks    []Hook // get events also while nobody listens
	Revision string // of the configuration
	Process  string // name of the process
	// Arguments says that events have the arguments of calls, and Results that they have results.
	Arguments, Results bool
	// KeepResults says that the calls which are kept for the console have results, also if events do not.
	KeepResults bool
	// Scrub removes the known secrets from encoded JSON, which it may change; nil removes nothing.
	Scrub func([]byte) []byte
}

// Hook gets events while they are published: those of a call before the call is answered. Its
// methods may be called concurrently, and a call waits for them.
type Hook interface {
	// Kinds returns the kinds of the events that the hook gets. It always returns the same.
	Kinds() eventkind.Set
	// AppliesTo reports whether the hook gets events about an operation; both texts are empty for events about none.
	// It always reports the same.
	AppliesTo(operation, name string) bool
	// Webhooks returns the names of the webhooks that the hook stores events for.
	Webhooks() []string
	// Handle gets an event of these kinds about an operation to which the hook applies. The data, one JSON
	// object, and m are valid during the call only.
	Handle(ctx context.Context, m *Meta, data []byte)
}

// NewPublisher returns a Publisher.
func NewPublisher(o Options) *Publisher {
	p := &Publisher{Options: o}
	for _, h := range o.Hooks {
		p.hooked |= h.Kinds()
	}
	p.origin = appendText(appendText(nil, "revision", o.Revision), "process", o.Process)
	return p
}

// For returns the Publisher of the events about an operation, which has the hooks that apply to it; nil if nothing can
// read them.
func (p *Publisher) For(operation, name string) *Publisher {
	if p == nil {
		return nil
	}
	of := p.Options
	of.Hooks = slices.DeleteFunc(slices.Clone(p.Hooks), func(h Hook) bool { return !h.AppliesTo(operation, name) })
	if of.Ring == nil && len(of.Hooks) == 0 {
		return nil
	}
	return NewPublisher(of)
}

// Wants reports whether anybody wants events of a kind. It is one atomic load.
func (p *Publisher) Wants(kind eventkind.Kind) bool {
	return p != nil && (p.hooked.Has(kind) || p.Ring.isRecording())
}

// Webhooks returns the names of the webhooks for which hooks store events of a kind.
func (p *Publisher) Webhooks(kind eventkind.Kind) (names []string) {
	if p == nil {
		return nil
	}
	for _, h := range p.Hooks {
		if h.Kinds().Has(kind) {
			names = append(names, h.Webhooks()...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// WantsAny reports whether anybody wants events of one of the kinds.
func (p *Publisher) WantsAny(kinds eventkind.Set) bool {
	return p != nil && (p.hooked&kinds != 0 || p.Ring.isRecording())
}

// draft is the memory of an event that is being published.
type draft struct {
	meta   Meta
	data   []byte
	record []byte
}

var drafts = sync.Pool{New: func() any { return new(draft) }}

// maxKept is the size of a draft that is reused.
const maxKept = 16 << 10

// Call publishes the beginning or the end of a call.
func (p *Publisher) Call(ctx context.Context, c *Call) {
	if !p.Wants(c.Kind) {
		return
	}
	d := p.begin(c.meta(time.Now()))
	d.data = c.append(d.data)
	p.end(ctx, d)
}

// Step publishes the end of a step.
func (p *Publisher) Step(ctx context.Context, s *Step) {
	if !p.Wants(eventkind.ToolStep) {
		return
	}
	d := p.begin(s.meta(time.Now()))
	d.data = s.append(d.data)
	p.end(ctx, d)
}

// Member is a member of the data of an event. An empty string and nil are left out.
type Member struct {
	Name  string
	Value any // a string, an int, or encoded JSON as json.RawMessage
}

// Publish publishes an event with these members. The time of m is set.
func (p *Publisher) Publish(ctx context.Context, m Meta, members ...Member) {
	if !p.Wants(m.Kind) {
		return
	}
	m.Time = time.Now()
	d := p.begin(m)
	for _, member := range members {
		switch v := member.Value.(type) {
		case string:
			d.data = appendText(d.data, member.Name, v)
		case int:
			d.data = appendInt(d.data, member.Name, v)
		case json.RawMessage:
			d.data = appendJSON(d.data, member.Name, v)
		}
	}
	p.end(ctx, d)
}

// begin begins an event with the members that all have.
func (p *Publisher) begin(m Meta) *draft {
	d := drafts.Get().(*draft)
	d.meta = m
	d.data = append(append(append(d.data[:0], `{"type":"`...), m.Kind.String()...), `","time":"`...)
	d.data = append(append(appendTime(d.data, m.Time), '"'), p.origin...)
	return d
}

// end publishes a draft and returns it to the pool.
func (p *Publisher) end(ctx context.Context, d *draft) {
	data := append(d.data, '}')
	d.data = data
	if p.Scrub != nil {
		data = p.Scrub(data)
	}
	if len(data) > maxEvent {
		d.data = appendCut(nil, data)
		data = d.data
	}
	removeBreaks(data)
	if p.Ring != nil {
		d.record = d.meta.appendRecord(d.record[:0], data)
		p.Ring.add(d.record)
	}
	for _, h := range p.Hooks {
		if h.Kinds().Has(d.meta.Kind) && h.AppliesTo(d.meta.Operation, d.meta.Name) {
			h.Handle(ctx, &d.meta, data)
		}
	}
	if cap(d.data) <= maxKept && cap(d.record) <= maxKept {
		d.meta = Meta{}
		drafts.Put(d)
	}
}

// removeBreaks replaces the line breaks between the tokens of JSON, so that it is one line. In strings there are none.
func removeBreaks(data []byte) {
	for _, lineBreak := range [...]byte{'\n', '\r'} {
		for rest := data; ; {
			i := bytes.IndexByte(rest, lineBreak)
			if i < 0 {
				break
			}
			rest[i] = ' '
			rest = rest[i+1:]
		}
	}
}
