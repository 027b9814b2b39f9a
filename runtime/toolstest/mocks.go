// Package toolstest answers in place of services, databases and programs in tests of tools. Mocks implements
// adapters.Mocks for one test: it answers what the backends of a call ask with the mocks of the test, records what was
// asked, and reports what has no answer with the mock to write.
package toolstest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/internal/ctxtime"
	"hatchel/runtime/result"
)

// Mock is a mock block. Request and the Replies have the arguments that are set, by their names, as values of the
// language. The Request of an HTTP mock has its verb as "method", in upper case, and its address as "path". A delay is
// a text such as "2s".
type Mock struct {
	Kind       string // "http", "sql" or "shell"
	Connection string // empty for none
	Request    map[string]any
	Replies    []map[string]any // one after the other, and the last one again
	Times      int              // how often it answers; 0 for any number
	Tape       string           // the file that has requests and replies in place of these; empty for none
	Range      hcl.Range
}

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
	dir      string
	secrets  []Secret
	scrubber *result.Scrubber
	live     *Live // nil if real backends are not used

	mu         sync.Mutex
	mocks      []*state         // guarded by mu
	sent       []map[string]any // guarded by mu
	problems   []Problem        // guarded by mu
	copies     copies           // guarded by mu
	recorded   []*exchange      // guarded by mu
	incomplete string           // why a recording cannot be used; guarded by mu
}

// state is a mock with how often it was used.
type state struct {
	*Mock
	database adapters.Memory // of a mock with init; nil before it is made
	used     int
	near     bool      // the nearest one of a question without an answer, which is reported
	exchange *exchange // of a tape, which the mock is; nil for a mock block
}

// Setup is what the mocks of one test are made of.
type Setup struct {
	Mocks []*Mock
	Dir   string // the absolute configuration directory
	// Secrets are those of the configuration and of the arguments. They are hidden in all that is shown.
	Secrets []Secret
	Live    *Live // nil to ask nothing for real
}

// New returns the mocks of a test. A tape that cannot be read is one of the Problems.
func New(s Setup) *Mocks {
	m := &Mocks{dir: s.Dir, secrets: s.Secrets, live: s.Live}
	texts := make([]string, len(s.Secrets))
	for i, secret := range s.Secrets {
		texts[i] = secret.Text
	}
	m.scrubber = result.NewScrubber(texts)
	for _, mock := range s.Mocks {
		one := &state{Mock: mock}
		if m.mocks = append(m.mocks, one); mock.Tape != "" && !m.isRecording() {
			m.useTape(one)
		}
	}
	return m
}

// Sent returns what the backends were asked, in order, without secrets. Each has its kind and connection. A request has
// method, url, path, query, headers with names in lower case, and body, which is decoded if it is JSON. A statement has
// statement, args and committed. A program has command, script, script_file, env, stdin and dir.
func (m *Mocks) Sent() []any {
	m.mu.Lock()
	defer m.mu.Unlock()
	sent := make([]any, len(m.sent))
	for i, s := range m.sent {
		sent[i] = s
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
			Summary: "Unused mock", Range: s.Range, Detail: s.unusedDetail(), Unused: true,
		})
	}
	return problems
}

func (s *state) unusedDetail() string {
	if _, ok := s.Request["init"]; ok {
		return fmt.Sprintf("No statement was executed in the database %q. Remove the mock.", s.Connection)
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

// question is what a backend asks.
type question struct {
	kind, connection string
	name             string                             // what is asked, in a sentence
	sent             map[string]any                     // without secrets
	matches          func(m *Mock, whole bool) mismatch // whole: a part of a statement is not enough
	paste            func() string                      // returns the mock block to write
	asked            func() map[string]any              // returns what is asked as a tape has it, with its secrets
	secrets          []string                           // of what is asked
	readOnly         bool                               // it changes nothing
	asLive           bool                               // requests that no mock answers go to the real backend
	asTaped          map[string]any                     // asked, without secrets
}

// mismatch is the first difference between a question and a mock. The zero mismatch is none.
type mismatch struct {
	depth int // how many parts agree
	text  string
}

const usedUp = 1 << 10 // the depth of a mock that agrees and has no answers left

// answer returns the reply to a question, and keeps the question. It returns neither a reply nor an error for one that
// is to be asked for real.
func (m *Mocks) answer(q *question) (*reply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent = append(m.sent, q.sent)
	answering, _, _ := m.find(q, true)
	var nearest *state
	var difference mismatch
	if answering == nil {
		answering, nearest, difference = m.find(q, false)
	}
	if answering != nil {
		answering.used++
		return answering.reply(), nil
	}
	if q.asLive {
		return nil, m.refuseWrite(q)
	}
	p := Problem{Summary: "Request without a mock", Detail: "No mock answers " + q.name + ".", Mock: q.paste()}
	if nearest != nil {
		nearest.near = true
		p.Range = nearest.Range
		p.Detail += fmt.Sprintf(" The nearest one is in line %d: %s.", nearest.Range.Start.Line, difference.text)
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
// part of a statement is not enough: a mock of the whole statement answers before one of a part.
func (m *Mocks) find(q *question, whole bool) (answering, nearest *state, difference mismatch) {
	for _, s := range m.mocks {
		if s.Kind != q.kind || s.Tape != "" && s.exchange == nil {
			continue
		}
		var found mismatch
		if s.exchange != nil {
			found = m.matchTape(q, s.exchange)
		} else {
			found = q.matches(s.Mock, whole)
		}
		if found == (mismatch{}) && (s.Times == 0 || s.used < s.Times) {
			return s, nil, mismatch{}
		}
		if found == (mismatch{}) {
			found = mismatch{usedUp, "it answers " + times(s.Times) + ", and has done so"}
		}
		if nearest == nil || found.depth > difference.depth {
			nearest, difference = s, found
		}
	}
	return nil, nearest, difference
}

// reply is one reply of a mock.
type reply struct {
	args  map[string]any
	at    hcl.Range // of the mock
	taped bool      // of a tape
}

// reply returns the reply to the last use.
func (s *state) reply() *reply {
	r := &reply{at: s.Range, taped: s.exchange != nil}
	if len(s.Replies) > 0 {
		r.args = s.Replies[min(s.used, len(s.Replies))-1]
	}
	return r
}

// fail reports that a mock cannot answer, and returns the error of the question.
func (m *Mocks) fail(detail string, at hcl.Range) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.problems = append(m.problems, Problem{Summary: "Invalid mock", Detail: detail, Range: at})
	return &adapters.Fault{Message: "the mock of the test is not valid: " + detail}
}

// wait waits for the delay of a reply.
func (m *Mocks) wait(ctx context.Context, reply *reply) error {
	text, ok := reply.args["delay"].(string)
	if !ok {
		return ctx.Err()
	}
	delay, err := time.ParseDuration(text)
	if err != nil || delay < 0 {
		return m.fail(fmt.Sprintf("delay is %q, and takes a duration such as \"2s\".", text), reply.at)
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
