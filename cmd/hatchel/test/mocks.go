package test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/scrub"
	"hatchel/hcl"
	"hatchel/hcl/mock"
	"hatchel/internal/ctxtime"
)

// Problem is a reason for which a test fails, whatever has come of the call.
type Problem struct {
	Summary, Detail string
	Range           hcl.Range // of the mock that it is about; zero for none
	Mock            string    // the mock block to write; empty for none
	Unused          bool      // the mock has answered less often than it says
	Broken          bool      // the mock cannot be read
}

// Mocks are the mocks of one test. Its methods may be called concurrently.
type Mocks struct {
	kinds    hcl.Kinds
	dir      string
	secrets  []Secret
	scrubber *scrub.Scrubber
	live     *Live // nil if real backends are not used
	timeout  time.Duration
	masks    *tapeMasks

	mu         sync.Mutex
	mocks      []*state         // how often they were used is guarded by mu
	asked      []*mock.Question // guarded by mu
	problems   []Problem        // guarded by mu
	copies     copies           // guarded by mu
	recorded   []*exchange      // guarded by mu
	incomplete string           // why a recording cannot be used; guarded by mu
}

// state is a mock with how often it was used.
type state struct {
	*mock.Mock
	// query is that of a stand-in; nil before it is made.
	query    func(ctx context.Context, args map[string]any) ([]map[string]any, error)
	used     int
	near     bool      // the nearest one of a question without an answer, which is reported
	exchange *exchange // of a tape, which the mock is; nil for a mock block
}

// Setup is what the mocks of one test are made of.
type Setup struct {
	Kinds hcl.Kinds
	Mocks []*mock.Mock
	Dir   string // the absolute configuration directory
	// Secrets are those of the configuration and of the arguments. They are hidden in all that is shown.
	Secrets []Secret
	Live    *Live         // nil to ask nothing for real
	Timeout time.Duration // of the tool
	Masks   *tapeMasks    // of the backends; nil for none
}

// NewMocks returns the mocks of a test. A tape that cannot be read is one of the Problems.
func NewMocks(s Setup) *Mocks {
	m := &Mocks{kinds: s.Kinds, dir: s.Dir, secrets: s.Secrets, live: s.Live, timeout: s.Timeout,
		masks: s.Masks}
	texts := make([]string, len(s.Secrets))
	for i, secret := range s.Secrets {
		texts[i] = secret.Text
	}
	m.scrubber = scrub.New(texts)
	for _, of := range s.Mocks {
		one := &state{Mock: of}
		if m.mocks = append(m.mocks, one); of.Tape != "" && !m.IsRecording() {
			m.useTape(one)
		}
	}
	return m
}

// Sent returns what the backends were asked, in order, without secrets. Each has its kind and connection, and what its
// backend says of it.
func (m *Mocks) Sent() []any {
	m.mu.Lock()
	defer m.mu.Unlock()
	sent := make([]any, len(m.asked))
	for i, q := range m.asked {
		sent[i] = q.Sent
	}
	return sent
}

// Problems returns what had no answer, and the mocks that were not used as often as they say. It is called when the
// call is over.
func (m *Mocks) Problems() []Problem {
	m.mu.Lock()
	defer m.mu.Unlock()
	problems := slices.Concat(m.problems, m.unusedTapes())
	for _, s := range m.mocks {
		if s.Times == 0 || s.used >= s.Times || s.near || s.Tape != "" {
			continue
		}
		problems = append(problems, Problem{
			Summary: "Unused mock", Range: s.Range, Detail: m.unusedDetail(s), Unused: true,
		})
	}
	return problems
}

func (m *Mocks) unusedDetail(s *state) string {
	if s.query != nil {
		return fmt.Sprintf(m.kinds.Mock(s.Kind).After.Unused, s.Connection) + " Remove the mock."
	}
	if s.used == 0 {
		return "Nothing that was asked has this answer. Correct the mock, or remove it."
	}
	return fmt.Sprintf("This answers %s, and was asked %s. Write times = %d, or remove the replies that are not used.",
		times(s.Times), times(s.used), s.used)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// maxProblems is the maximum number of questions without an answer that are reported.
const maxProblems = 20

// question is a question while it is answered.
type question struct {
	*mock.Question
	name  string         // without secrets
	taped map[string]any // as a tape has it, without secrets; nil before it is needed
}

// hideOf returns a function that returns a text without the secrets of a question.
func (m *Mocks) hideOf(q *mock.Question) func(string) string {
	return func(text string) string { return m.hide(text, q.Secrets) }
}

const usedUp = 1 << 10 // the depth of a mock that agrees and has no answers left

// Ask implements adapters.Mocks.
func (m *Mocks) Ask(ctx context.Context, q *mock.Question) (*mock.Reply, error) {
	reply, err := m.answer(q)
	if err == nil && reply != nil {
		err = m.wait(ctx, reply)
	}
	if err != nil {
		return nil, err
	}
	return reply, nil
}

// answer returns the reply to a question, and keeps the question. It returns neither a reply nor an error for one that
// the backend is to ask its system.
func (m *Mocks) answer(asked *mock.Question) (*mock.Reply, error) {
	q := &question{Question: asked, name: m.hide(asked.Name, asked.Secrets)}
	m.mu.Lock()
	defer m.mu.Unlock()
	q.Sent, _ = hideValue(q.Sent, m.hideOf(asked)).(map[string]any)
	q.Sent["kind"], q.Sent["connection"] = q.Kind, q.Connection
	m.asked = append(m.asked, asked)
	if q.StandIn != nil {
		m.stateOf(q.StandIn).used++
		return nil, nil
	}
	answering, _, _ := m.find(q, true)
	var nearest *state
	var difference *mock.Matcher
	if answering == nil {
		answering, nearest, difference = m.find(q, false)
	}
	if answering != nil {
		answering.used++
		return answering.reply(), nil
	}
	if m.live != nil && !q.Mocked {
		return nil, m.refuseWrite(q)
	}
	p := Problem{Summary: "Request without a mock", Detail: "No mock answers " + q.name + ".", Mock: m.suggest(q)}
	if nearest != nil {
		nearest.near = true
		p.Range = nearest.Range
		p.Detail += fmt.Sprintf(" The nearest one is in line %d: %s.", nearest.Range.Start.Line, difference.Difference)
		if nearest.exchange != nil {
			p.Detail += " hatchel test --live --record records the tape again."
		}
	}
	isSame := func(known Problem) bool { return known.Detail == p.Detail && known.Mock == p.Mock }
	m.incomplete = cmp.Or(m.incomplete, q.name+" has no answer")
	if len(m.problems) < maxProblems && !slices.ContainsFunc(m.problems, isSame) {
		m.problems = append(m.problems, p)
	}
	return nil, &adapters.Fault{Message: "no mock of the test answers " + q.name}
}

// find returns the first mock that answers a question, or else the nearest one and its first difference. With whole, a
// part of a text is not enough: a mock of the whole text answers before one of a part.
func (m *Mocks) find(q *question, whole bool) (answering, nearest *state, difference *mock.Matcher) {
	for _, s := range m.mocks {
		if s.Kind != q.Kind || s.Tape != "" && s.exchange == nil {
			continue
		}
		found := &mock.Matcher{Hide: m.hideOf(q.Question)}
		if s.exchange != nil {
			m.matchTape(found, q, s.exchange)
		} else {
			q.Match(found, s.Mock, whole)
		}
		if found.Difference == "" && (s.Times == 0 || s.used < s.Times) {
			return s, nil, nil
		}
		if found.Difference == "" {
			found.Depth, found.Difference = usedUp, "it answers "+times(s.Times)+", and has done so"
		}
		if nearest == nil || found.Depth > difference.Depth {
			nearest, difference = s, found
		}
	}
	return nil, nearest, difference
}

// reply returns the reply to the last use.
func (s *state) reply() *mock.Reply {
	r := &mock.Reply{Mock: s.Mock, Taped: s.exchange != nil}
	if len(s.Replies) > 0 {
		r.Args = s.Replies[min(s.used, len(s.Replies))-1]
	}
	return r
}

// Of implements adapters.Mocks.
func (m *Mocks) Of(kind, connection string) (mocks []*mock.Mock) {
	for _, s := range m.mocks {
		if s.Kind == kind && s.Connection == connection && (s.Tape == "" || s.exchange != nil) {
			mocks = append(mocks, s.Mock)
		}
	}
	return mocks
}

// Use implements adapters.Mocks.
func (m *Mocks) Use(
	standIn *mock.Mock, query func(ctx context.Context, args map[string]any) ([]map[string]any, error),
) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stateOf(standIn).query = query
}

// stateOf returns the state of a mock block.
func (m *Mocks) stateOf(of *mock.Mock) *state {
	return m.mocks[slices.IndexFunc(m.mocks, func(s *state) bool { return s.Mock == of })]
}

// Timeout implements adapters.Mocks.
func (m *Mocks) Timeout() time.Duration { return m.timeout }

// Query returns the answer of a stand-in to a query. It is called when the call is over, and before the connection is
// closed.
func (m *Mocks) Query(
	ctx context.Context, kind, connection string, args map[string]any,
) ([]map[string]any, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.mocks {
		if s.Kind == kind && s.Connection == connection && s.query != nil {
			return s.query(ctx, args)
		}
	}
	return nil, fmt.Errorf(m.kinds.Mock(kind).After.NoStandIn, connection)
}

// Set implements adapters.Mocks.
func (m *Mocks) Set(q *mock.Question, member string, v any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q.Sent[member] = v
}

// Fail implements adapters.Mocks.
func (m *Mocks) Fail(of *mock.Mock, detail string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	detail = m.hide(detail, nil)
	m.problems = append(m.problems, Problem{Summary: "Invalid mock", Detail: detail, Range: of.Range})
	return &adapters.Fault{Message: "the mock of the test is not valid: " + detail}
}

// wait waits for the delay of a reply.
func (m *Mocks) wait(ctx context.Context, reply *mock.Reply) error {
	text, ok := reply.Args["delay"].(string)
	if !ok {
		return ctx.Err()
	}
	delay, err := time.ParseDuration(text)
	if err != nil || delay < 0 {
		return m.Fail(reply.Mock, fmt.Sprintf("delay is %q, and takes a duration such as \"2s\".", text))
	}
	return ctxtime.Sleep(ctx, delay)
}

// hide returns a text without the secrets of the configuration, and those of a request.
func (m *Mocks) hide(text string, secrets []string) string {
	return m.scrubber.Text(adapters.Scrub(text, secrets))
}

// Hide returns a text without the secrets of the test.
func (m *Mocks) Hide(text string) string { return m.hide(text, nil) }

// Close removes the copies of directories.
func (m *Mocks) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.copies.remove()
}
