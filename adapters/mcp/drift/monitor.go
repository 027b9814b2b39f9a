package drift

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/mcp/client"
	"hatchel/adapters/mcp/definition"
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/schema"
	"hatchel/internal/cut"
)

// Options describe what a Monitor compares.
type Options struct {
	Pins definition.File // what was reviewed
	// Compatible serves tools whose differences are compatible.
	Compatible bool
	// Refresh is how old a list may be; 0 lists before each call.
	Refresh time.Duration
	// PerCaller says that what a session lists depends on its caller. A tool that is missing is then refused to the
	// caller, and is no drift.
	PerCaller bool
	// Changed is called when State may return something else, without locks of this package; nil for nobody.
	Changed func()
	// NotServed is called once, with the names of tools that a server lists and no block uses; nil for nobody.
	NotServed func(names []string)
	// Scrub returns a text of a server without tokens; nil changes nothing.
	Scrub func(string) string
}

// Monitor compares the lists of all sessions of a connection with what was reviewed. It is safe for concurrent use.
// Make one with New.
type Monitor struct {
	Options

	// epoch counts the uses after which sessions must compare again.
	epoch atomic.Int64

	mu       sync.Mutex
	uses     map[string][]*use         // by tool; guarded by mu, as all below
	known    map[string]comparison     // the latest comparison of each tool that is used
	sessions map[*Session]verdicts     // that were listed, and what they report
	latest   verdicts                  // that the last list reports
	details  map[string]adapters.Drift // the last drift of each tool, without Pinned
	unused   int                       // tools of the last list
	failure  string                    // why the last list was not accepted
	isTold   bool                      // NotServed was called
}

// use is a block that calls a tool, and the type of the arguments that it can send.
type use struct{ sent *schema.Type }

// verdict is what is decided about a tool that is not as reviewed.
type verdict uint8

const (
	accepted verdict = iota + 1 // its differences are compatible
	refused
	missing
)

// verdicts are those about the tools of a list that are not as reviewed. They are not modified.
type verdicts map[string]verdict

// comparison is what a definition that a server has listed differs in.
type comparison struct {
	listed  [sha256.Size]byte // digest of what the server has sent
	verdict verdict           // 0 if nothing differs
	drift   adapters.Drift    // without Pinned; the zero value if nothing differs
}

// New returns a Monitor without blocks.
func New(o Options) *Monitor {
	if o.Scrub == nil {
		o.Scrub = func(text string) string { return text }
	}
	return &Monitor{
		Options: o, uses: map[string][]*use{}, known: map[string]comparison{}, sessions: map[*Session]verdicts{},
		details: map[string]adapters.Drift{},
	}
}

// Use says that a block calls a tool, with arguments of a type, or of an unknown type if it is nil. It returns a
// function that ends the use.
func (m *Monitor) Use(tool string, sent *schema.Type) (release func()) {
	u := &use{sent}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.uses[tool] = append(m.uses[tool], u)
	if len(m.uses[tool]) == 1 || m.Compatible {
		delete(m.known, tool)
		m.epoch.Add(1)
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.uses[tool] = slices.DeleteFunc(m.uses[tool], func(other *use) bool { return other == u })
		if len(m.uses[tool]) == 0 {
			delete(m.uses, tool) // sessions keep their verdicts, and so details stay
		}
	}
}

// State is what is known of the lists of a server.
type State struct {
	Drift   []adapters.Drift // definitions that blocks use and that are not as reviewed, by name
	Unused  int              // tools that the server lists and no block uses
	Failure string           // why the last list was not accepted; empty if it was
}

// State returns what is known of the lists of all sessions. It lists nothing.
func (m *Monitor) State() State {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := State{Unused: m.unused, Failure: m.failure}
	for name, v := range m.found() {
		d := m.details[name]
		d.Served = v == accepted
		if pin, ok := m.Pins.Lookup(name); ok {
			d.Pinned = describe(pin)
		}
		s.Drift = append(s.Drift, d)
	}
	slices.SortFunc(s.Drift, func(a, b adapters.Drift) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// found returns the verdicts of all sessions and of the last list. Of two about a tool it has the stricter one. The
// caller holds mu.
func (m *Monitor) found() verdicts {
	all := verdicts{}
	add := func(some verdicts) {
		for name, v := range some {
			if m.uses[name] != nil {
				all[name] = max(all[name], v)
			}
		}
	}
	for _, reported := range m.sessions {
		add(reported)
	}
	add(m.latest)
	return all
}

// Withdrawn returns the failure of calls of a tool that is known not to be as reviewed; nil for another one.
func (m *Monitor) Withdrawn(tool string) *adapters.Fault {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.found()[tool] <= accepted {
		return nil
	}
	return m.withdrawn(tool)
}

// withdrawn returns the failure of a call of a tool that is not as reviewed. The caller holds mu.
func (m *Monitor) withdrawn(tool string) *adapters.Fault {
	return &adapters.Fault{
		Message: "This tool is withdrawn: the server behind it has changed since its review.",
		Cause:   &Error{m.details[tool]}, NotSent: true, SaysNotSent: true,
	}
}

// refusal returns the failure of a call of a tool about which a session has a verdict; nil if it is served.
func (m *Monitor) refusal(tool string, v verdict) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case v <= accepted:
		return nil
	case v == missing && m.PerCaller:
		return &adapters.Fault{
			Message: "The server behind this tool does not offer it to you.", NotSent: true, SaysNotSent: true,
			Cause: &Error{adapters.Drift{Name: tool, Changed: []string{adapters.DriftMissing}}},
		}
	}
	return m.withdrawn(tool)
}

// Error says for operators what is different at a server.
type Error struct{ Drift adapters.Drift }

func (e *Error) Error() string { return e.Drift.String() }

// compare compares a list with what was reviewed. It returns the verdicts about what differs, and the names of the
// tools that no block uses.
func (m *Monitor) compare(list *client.List) (found verdicts, unused []string) {
	m.mu.Lock()
	epoch, known := m.epoch.Load(), maps.Clone(m.known)
	uses := make(map[string][]*schema.Type, len(m.uses))
	for tool, blocks := range m.uses {
		uses[tool] = []*schema.Type{}
		for _, u := range blocks {
			if u.sent != nil {
				uses[tool] = append(uses[tool], u.sent)
			}
		}
	}
	m.mu.Unlock()

	listed := map[string]verdict{}
	compared := make(map[string]comparison, len(uses))
	differences := map[string]adapters.Drift{}
	for _, tool := range list.Tools {
		sent, isUsed := uses[tool.Name]
		if !isUsed {
			unused = append(unused, tool.Name)
			continue
		}
		if _, again := listed[tool.Name]; again {
			listed[tool.Name] = refused
			differences[tool.Name] = adapters.Drift{
				Name: tool.Name, Changed: []string{adapters.DriftRepeated}, Found: m.excerpt(tool.Raw),
			}
			continue
		}
		digest := sha256.Sum256(tool.Raw)
		c, ok := known[tool.Name]
		if !ok || c.listed != digest {
			d, v := m.compareTool(tool.Name, tool.Raw, sent)
			c = comparison{digest, v, d.Scrubbed(m.Scrub)}
		}
		if c.verdict != 0 {
			differences[tool.Name] = c.drift
		}
		listed[tool.Name], compared[tool.Name] = c.verdict, c
	}
	found = verdicts{}
	for tool := range uses {
		switch v, isListed := listed[tool]; {
		case !isListed:
			found[tool] = missing
			differences[tool] = adapters.Drift{Name: tool, Changed: []string{adapters.DriftMissing}}
		case v != 0:
			found[tool] = v
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for tool, d := range differences {
		if found[tool] != missing || !m.PerCaller {
			m.details[tool] = d
		}
	}
	if m.epoch.Load() == epoch {
		m.known = compared
	}
	return found, unused
}

// compareTool compares a definition that a server has listed with its pin. The verdict is 0 if nothing differs.
func (m *Monitor) compareTool(name string, listed []byte, sent []*schema.Type) (d adapters.Drift, v verdict) {
	pin, _ := m.Pins.Lookup(name) // without a pin no block is loaded
	found, err := definition.Parse(listed)
	if err != nil {
		changed := []string{"it cannot be read: " + err.Error()}
		return adapters.Drift{Name: name, Changed: changed, Found: m.excerpt(listed)}, refused
	}
	changes := definition.Compare(pin, found, sent)
	if len(changes) == 0 {
		return adapters.Drift{}, 0
	}
	d, v = adapters.Drift{Name: name, Found: describe(found)}, refused
	if m.Compatible && !slices.ContainsFunc(changes, func(c definition.Change) bool { return !c.Compatible }) {
		v = accepted
	}
	d.Changed = definition.Texts(changes)
	return d, v
}

// excerpt returns the text of a definition that is not accepted, which may be as large as a list.
func (m *Monitor) excerpt(listed []byte) string {
	return cut.Runes(m.Scrub(string(listed)), definition.MaxSize)
}

// accept takes the verdicts of a list of a session. Missing tools are not reported if they may still come.
func (m *Monitor) accept(s *Session, found verdicts, unused []string, maySettle bool) {
	reported := found
	if m.PerCaller || maySettle {
		reported = maps.Clone(found)
		maps.DeleteFunc(reported, func(_ string, v verdict) bool { return v == missing })
	}
	m.mu.Lock()
	m.sessions[s], m.latest, m.unused, m.failure = reported, reported, len(unused), ""
	tells := len(unused) > 0 && !m.isTold && !maySettle && m.NotServed != nil
	m.isTold = m.isTold || tells
	m.mu.Unlock()
	if tells {
		m.NotServed(unused)
	}
	m.report()
}

// refuse takes why a list of a session was not accepted.
func (m *Monitor) refuse(why string) {
	m.mu.Lock()
	m.failure = why
	m.mu.Unlock()
	m.report()
}

// forget ends a session. What it has listed last is still known, unless another session has listed since.
func (m *Monitor) forget(s *Session) {
	m.mu.Lock()
	delete(m.sessions, s)
	m.mu.Unlock()
	m.report()
}

func (m *Monitor) report() {
	if m.Changed != nil {
		m.Changed()
	}
}

// describe returns the text of a definition for people: a line for each member, and schemas on several lines.
func describe(d definition.Definition) string {
	var b bytes.Buffer
	for _, member := range [...]struct{ name, text string }{
		{"name", string(jsonscan.AppendString(nil, d.Name))},
		{"title", string(jsonscan.AppendString(nil, d.Title))},
		{"description", string(jsonscan.AppendString(nil, d.Description))},
		{"inputSchema", d.InputSchema}, {"outputSchema", d.OutputSchema}, {"annotations", d.Annotations},
		{"taskSupport", string(jsonscan.AppendString(nil, d.TaskSupport))},
	} {
		if member.text != "" && member.text != `""` {
			fmt.Fprintf(&b, "%s: ", member.name)
			if json.Indent(&b, []byte(member.text), "", "  ") != nil {
				b.WriteString(member.text)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
