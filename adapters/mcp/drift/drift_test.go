package drift_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/adapters"
	"hatchel/adapters/mcp/client"
	"hatchel/adapters/mcp/definition"
	"hatchel/adapters/mcp/definition/definitiontest"
	"hatchel/adapters/mcp/drift"
)

// server lists tools as a test says.
type server struct {
	mu    sync.Mutex
	tools []string      // definitions; guarded by mu, as all below
	ttl   time.Duration // negative for none
	err   error
	lists []time.Time     // when the tools were listed
	hold  chan struct{}   // a list waits until it is closed; nil for one that does not wait
	began chan struct{}   // receives when a list begins; nil for nobody
	ctx   context.Context // of the last list
}

func (s *server) list(ctx context.Context) (client.List, error) {
	s.mu.Lock()
	s.lists, s.ctx = append(s.lists, time.Now()), ctx
	hold, began := s.hold, s.began
	list, err := client.List{TTL: s.ttl}, s.err
	for _, tool := range s.tools {
		d, _ := definition.Parse([]byte(tool))
		list.Tools = append(list.Tools, client.Definition{Name: d.Name, Raw: []byte(tool)})
	}
	s.mu.Unlock()
	if began != nil {
		began <- struct{}{}
	}
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return list, ctx.Err()
		}
	}
	return list, err
}

func (s *server) set(tools ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = tools
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lists)
}

const (
	create = `{"name":"create_issue","title":"Create","description":"Opens an issue.","inputSchema":` +
		`{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]},` +
		`"annotations":{"destructiveHint":false}}`
	get = `{"name":"get_issue","description":"Reads an issue.","inputSchema":{"type":"object"}}`
)

// begin returns a monitor of two tools that are used, with one session.
func begin(t testing.TB, s *server, o drift.Options) (*drift.Monitor, *drift.Session) {
	t.Helper()
	o.Pins = definitiontest.File(t, create, get)
	if o.Refresh == 0 {
		o.Refresh = 5 * time.Minute
	}
	m := drift.New(o)
	for _, tool := range []string{"create_issue", "get_issue"} {
		t.Cleanup(m.Use(tool, nil))
	}
	session := m.NewSession()
	session.Begin(t.Context(), s.list)
	t.Cleanup(session.Close)
	return m, session
}

const withdrawn = "This tool is withdrawn: the server behind it has changed since its review. Nothing was sent."

// admit returns "ok", or the failure with its cause.
func admit(s *drift.Session, tool string) string {
	err := s.Admit(context.Background(), tool)
	fault, ok := errors.AsType[*adapters.Fault](err)
	switch {
	case err == nil:
		return "ok"
	case !ok:
		return err.Error()
	case !fault.NotSent:
		return "sent: " + err.Error()
	case err.Error() == withdrawn:
		return "withdrawn: " + fault.Cause.Error()
	}
	return err.Error()
}

func TestEachDifferenceRefusesItsToolAlone(t *testing.T) {
	replace := func(old, with string) string {
		if !strings.Contains(create, old) {
			t.Fatal(old)
		}
		return strings.Replace(create, old, with, 1)
	}
	for _, c := range []struct {
		name  string
		tools []string
		want  string // of create_issue; empty for ok
	}{
		{"equal", []string{create, get}, ""},
		{"another order, spaces and members that no review covers", []string{get, strings.Replace(strings.Replace(create,
			`{"name"`, `{ "icons": [], "_meta": {"a":1}, "name"`, 1), `"required":["title"]`, ` "required" : [ "title" ]`, 1)}, ""},
		{"a tool that no block uses", []string{create, get, `{"name":"new","inputSchema":{"type":"object"}}`}, ""},
		{"tools that no block uses and that cannot be pinned", []string{
			`{"name":"large","description":"` + strings.Repeat("x", definition.MaxSize) + `","inputSchema":{}}`, create,
			`{"name":"deep","inputSchema":` + strings.Repeat(`{"a":`, definition.MaxDepth) + "1" +
				strings.Repeat("}", definition.MaxDepth) + "}", get, "{}", "null",
		}, ""},
		{"title", []string{replace(`"Create"`, `"Make"`), get}, "create_issue has changed: title"},
		{"description", []string{replace("Opens", "Sends"), get}, "create_issue has changed: description"},
		{"missing", []string{get}, "create_issue is missing"},
		{"renamed", []string{get, replace("create_issue", "open_issue")}, "create_issue is missing"},
		{"twice", []string{create, get, create}, "create_issue is listed more than once"},
		{"not readable", []string{`{"name":"create_issue","inputSchema":7}`, get}, "create_issue has changed: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{tools: c.tools, ttl: -1}
				m, session := begin(t, s, drift.Options{})
				if c.name == "not readable" { // the client names what it lists
					s.tools = nil
					list := func(context.Context) (client.List, error) {
						return client.List{TTL: -1, Tools: []client.Definition{
							{Name: "create_issue", Raw: []byte(c.tools[0])}, {Name: "get_issue", Raw: []byte(get)},
						}}, nil
					}
					session = m.NewSession()
					session.Begin(t.Context(), list)
					defer session.Close()
				}
				got := admit(session, "create_issue")
				if c.want == "" && got != "ok" || c.want != "" && !strings.HasPrefix(got, "withdrawn: "+c.want) {
					t.Errorf("got %q, want %q", got, c.want)
				}
				if got := admit(session, "get_issue"); got != "ok" {
					t.Errorf("the other tool is refused: %s", got)
				}
				state := m.State()
				if c.want == "" {
					if len(state.Drift) != 0 || m.Withdrawn("create_issue") != nil {
						t.Errorf("the state is %+v", state)
					}
					return
				}
				if len(state.Drift) != 1 || !strings.HasPrefix(state.Drift[0].String(), c.want) || state.Drift[0].Served ||
					!strings.Contains(state.Drift[0].Pinned, "description: \"Opens an issue.\"\n") {
					t.Errorf("the state is %+v", state)
				}
				if fault := m.Withdrawn("create_issue"); fault == nil || fault.Error() != withdrawn {
					t.Errorf("known as %v", fault)
				}
			})
		})
	}
}

func TestCompatibleDifferencesAreServedOnRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{tools: []string{strings.Replace(create, "Opens", "Makes", 1), get}, ttl: -1}
		m, session := begin(t, s, drift.Options{Compatible: true})
		if got := admit(session, "create_issue"); got != "ok" {
			t.Error(got)
		}
		if state := m.State(); len(state.Drift) != 1 || !state.Drift[0].Served || m.Withdrawn("create_issue") != nil {
			t.Errorf("the state is %+v", state)
		}
		s.set(strings.Replace(create, `"destructiveHint":false`, `"destructiveHint":true`, 1), get)
		session.Changed()
		if got := admit(session, "create_issue"); !strings.HasPrefix(got, "withdrawn: ") {
			t.Error(got)
		}
	})
}

func TestAListIsReadBeforeTheFirstCallAndWhenItIsOutOfDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{tools: []string{create, get}, ttl: -1}
		_, session := begin(t, s, drift.Options{})
		expect := func(lists int, when string) {
			t.Helper()
			synctest.Wait()
			if n := s.count(); n != lists {
				t.Errorf("%s: listed %d times, want %d", when, n, lists)
			}
		}
		expect(0, "before the first call")
		admit(session, "create_issue")
		admit(session, "get_issue")
		expect(1, "after two calls")
		session.Changed()
		time.Sleep(time.Second)
		session.Changed()
		time.Sleep(time.Second)
		expect(1, "before the list was quiet for 2 s")
		admit(session, "create_issue")
		expect(2, "a call after a change does not wait for quiet")
		time.Sleep(time.Minute)
		expect(2, "the change was listed")
		session.Changed()
		time.Sleep(1999 * time.Millisecond)
		expect(2, "before the list was quiet for 2 s")
		time.Sleep(time.Millisecond)
		expect(3, "after 2 s without a call")
		for range 100 {
			session.Changed()
			time.Sleep(500 * time.Millisecond)
		}
		if n := s.count(); n < 7 || n > 9 {
			t.Errorf("50 s of changes made %d lists", n-3)
		}
		time.Sleep(time.Minute)
		before := s.count()
		time.Sleep(5 * time.Minute)
		expect(before+1, "after refresh")
	})
}

func TestATTLShortensRefreshButNotBelowTenSeconds(t *testing.T) {
	for _, c := range []struct {
		ttl     time.Duration
		seconds int
		lists   int
	}{{-1, 120, 1}, {0, 95, 10}, {time.Second, 95, 10}, {time.Minute, 130, 3}, {time.Hour, 310, 2}} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{tools: []string{create, get}, ttl: c.ttl}
			_, session := begin(t, s, drift.Options{})
			admit(session, "create_issue")
			time.Sleep(time.Duration(c.seconds) * time.Second)
			synctest.Wait()
			if n := s.count(); n != c.lists {
				t.Errorf("with %v there were %d lists in %d s, want %d", c.ttl, n, c.seconds, c.lists)
			}
		})
	}
}

func TestWithoutRefreshEachCallHasItsOwnList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{tools: []string{create, get}, ttl: -1, hold: make(chan struct{}), began: make(chan struct{}, 10)}
		m := drift.New(drift.Options{Pins: definitiontest.File(t, create, get)})
		defer m.Use("create_issue", nil)()
		session := m.NewSession()
		session.Begin(t.Context(), s.list)
		defer session.Close()
		var calls sync.WaitGroup
		results := make(chan string, 10)
		calls.Go(func() { results <- admit(session, "create_issue") })
		<-s.began
		for range 9 { // they come while the tools are listed: the next list is theirs, all together
			calls.Go(func() { results <- admit(session, "create_issue") })
		}
		synctest.Wait()
		s.set(strings.Replace(create, "Opens", "Makes", 1))
		close(s.hold)
		calls.Wait()
		close(results)
		var got []string
		for r := range results {
			got = append(got, r)
		}
		refused := len(slices.DeleteFunc(slices.Clone(got), func(r string) bool { return r == "ok" }))
		if refused < 9 || s.count() != 2 { // the first call may see the list of the others
			t.Errorf("%d lists, %q", s.count(), got)
		}
	})
}

func TestAToolThatComesAfterTheBeginningIsWaitedForOnce(t *testing.T) {
	for name, c := range map[string]struct {
		after     time.Duration // when the tool comes; negative for never
		notifies  bool
		want      string
		perCaller bool
	}{
		"with a notification":    {after: time.Second, notifies: true, want: "ok"},
		"without a notification": {after: time.Second, want: "ok"},
		"too late":               {after: 6 * time.Second, want: "withdrawn: create_issue is missing"},
		"never":                  {after: -1, want: "withdrawn: create_issue is missing"},
		"never for this caller": {after: -1, perCaller: true,
			want: "The server behind this tool does not offer it to you. Nothing was sent."},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{tools: []string{get}, ttl: -1}
				reports := 0
				var m *drift.Monitor
				m, session := begin(t, s, drift.Options{PerCaller: c.perCaller, Changed: func() {
					if m != nil && len(m.State().Drift) > 0 {
						reports++
					}
				}})
				if c.after >= 0 {
					time.AfterFunc(c.after, func() {
						s.set(get, create)
						if c.notifies {
							session.Changed()
						}
					})
				}
				began := time.Now()
				if got := admit(session, "get_issue"); got != "ok" || time.Since(began) != 0 {
					t.Errorf("the other tool: %s after %v", got, time.Since(began))
				}
				got, took := admit(session, "create_issue"), time.Since(began)
				if got != c.want || took > 5*time.Second || c.notifies && took != time.Second {
					t.Errorf("%s after %v, want %s", got, took, c.want)
				}
				if c.want == "ok" && reports > 0 || c.perCaller && (reports > 0 || len(m.State().Drift) > 0) {
					t.Errorf("%d reports of drift", reports)
				}
				began = time.Now()
				if admit(session, "create_issue"); time.Since(began) != 0 {
					t.Errorf("it is waited for again: %v", time.Since(began))
				}
			})
		})
	}
}

func TestAMissingToolIsReportedWithoutACallOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{tools: []string{get}, ttl: -1}
		m, session := begin(t, s, drift.Options{})
		admit(session, "get_issue")
		if state := m.State(); len(state.Drift) != 0 {
			t.Errorf("at once: %+v", state)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if state := m.State(); len(state.Drift) != 1 || state.Drift[0].String() != "create_issue is missing" {
			t.Errorf("after 5 s: %+v", state)
		}
	})
}

func TestACallDoesNotRelyOnAListThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{tools: []string{create, get}, ttl: -1, err: errors.New("too many tools")}
		m, session := begin(t, s, drift.Options{})
		const want = "the tools of the server cannot be listed: too many tools"
		for range 2 {
			if got := admit(session, "create_issue"); got != want {
				t.Error(got)
			}
		}
		if state := m.State(); state.Failure != "too many tools" {
			t.Errorf("%+v", state)
		}
		s.mu.Lock()
		s.err = nil
		s.mu.Unlock()
		if got := admit(session, "create_issue"); got != "ok" || m.State().Failure != "" {
			t.Errorf("%s, %+v", got, m.State())
		}
	})
}

func TestACallThatEndsDoesNotEndTheListOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		s := &server{tools: []string{create, get}, ttl: -1, hold: make(chan struct{}), began: make(chan struct{}, 10)}
		_, session := begin(t, s, drift.Options{})
		first, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "of the first call"))
		var calls sync.WaitGroup
		calls.Go(func() {
			var failed *drift.ListError
			if err := session.Admit(first, "create_issue"); !errors.As(err, &failed) || !errors.Is(err, context.Canceled) {
				t.Errorf("the first call: %v", err)
			}
		})
		<-s.began
		calls.Go(func() {
			if got := admit(session, "create_issue"); got != "ok" {
				t.Errorf("the second call: %s", got)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		s.mu.Lock()
		if s.ctx.Value(key{}) != "of the first call" || s.ctx.Err() != nil {
			t.Errorf("the list has the value %v and the error %v", s.ctx.Value(key{}), s.ctx.Err())
		}
		s.mu.Unlock()
		close(s.hold)
		calls.Wait()
	})
}

func TestSessionsAreComparedByThemselvesAndReportedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, bad := &server{tools: []string{create, get}, ttl: -1},
			&server{tools: []string{strings.Replace(create, "Opens", "Makes", 1), get}, ttl: -1}
		m, session := begin(t, good, drift.Options{})
		other := m.NewSession()
		other.Begin(t.Context(), bad.list)
		if got := admit(session, "create_issue") + " " + admit(other, "create_issue"); got !=
			"ok withdrawn: create_issue has changed: description" {
			t.Error(got)
		}
		if n := len(m.State().Drift); n != 1 {
			t.Errorf("%d drifts", n)
		}
		other.Close()
		if n := len(m.State().Drift); n != 1 {
			t.Errorf("what the last list has shown is forgotten with its session: %d drifts", n)
		}
		session.Changed()
		admit(session, "create_issue")
		if n := len(m.State().Drift); n != 0 {
			t.Errorf("%d drifts after another list", n)
		}
		if got := admit(other, "create_issue"); !strings.Contains(got, "the session has ended") &&
			!strings.HasPrefix(got, "withdrawn") {
			t.Errorf("a session that has ended: %s", got)
		}
	})
}

func TestCloseEndsAListThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{tools: []string{create, get}, ttl: -1, hold: make(chan struct{}), began: make(chan struct{}, 1)}
		_, session := begin(t, s, drift.Options{})
		var calls sync.WaitGroup
		calls.Go(func() {
			if got := admit(session, "create_issue"); !strings.Contains(got, "context canceled") {
				t.Error(got)
			}
		})
		<-s.began
		session.Close()
		calls.Wait()
		session.Changed()
		time.Sleep(time.Hour)
		if s.count() != 1 {
			t.Errorf("a session that has ended lists")
		}
	})
}

func TestAToolThatIsUsedFromNowOnIsCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const third = `{"name":"third","inputSchema":{"type":"object"}}`
		m := drift.New(drift.Options{Pins: definitiontest.File(t, create, third), Refresh: time.Hour})
		defer m.Use("create_issue", nil)()
		s := &server{tools: []string{create, strings.Replace(third, `"inputSchema"`, `"title":"x","inputSchema"`, 1)}, ttl: -1}
		session := m.NewSession()
		session.Begin(t.Context(), s.list)
		defer session.Close()
		if got := admit(session, "create_issue"); got != "ok" || m.State().Unused != 1 {
			t.Errorf("%s, %+v", got, m.State())
		}
		release := m.Use("third", nil)
		if got := admit(session, "third"); got != "withdrawn: third has changed: title" || len(m.State().Drift) != 1 {
			t.Errorf("%s, %+v", got, m.State())
		}
		m.Use("third", nil)()
		release()
		if state := m.State(); len(state.Drift) != 0 {
			t.Errorf("a tool that no block uses any more: %+v", state)
		}
		if lists := s.count(); admit(session, "create_issue") != "ok" || s.count() != lists {
			t.Error("the end of a use has the tools listed again")
		}
	})
}

func TestACallDoesNotRelyOnAListThatTheServerHasTakenBackMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{tools: []string{create, get}, ttl: -1, hold: make(chan struct{}), began: make(chan struct{}, 10)}
		_, session := begin(t, s, drift.Options{})
		got := make(chan string, 1)
		go func() { got <- admit(session, "create_issue") }()
		<-s.began
		s.set(strings.Replace(create, "Opens", "Sends", 1), get)
		session.Changed()
		close(s.hold)
		if text := <-got; text != "withdrawn: create_issue has changed: description" {
			t.Error(text)
		}
	})
	synctest.Test(t, func(t *testing.T) { // a server that never stops saying so
		s := &server{tools: []string{create, get}, ttl: -1}
		m := drift.New(drift.Options{Pins: definitiontest.File(t, create, get), Refresh: time.Hour})
		defer m.Use("create_issue", nil)()
		session := m.NewSession()
		session.Begin(t.Context(), func(ctx context.Context) (client.List, error) {
			session.Changed()
			return s.list(ctx)
		})
		defer session.Close()
		if text := admit(session, "create_issue"); text != "ok" || s.count() != 4 {
			t.Errorf("%s after %d lists", text, s.count())
		}
	})
}

// TestADifferenceIsNamedAsItIsNow lists a tool as it was in a list between, and uses it again.
func TestADifferenceIsNamedAsItIsNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed := strings.Replace(create, "Opens", "Sends", 1)
		s := &server{tools: []string{changed, get}, ttl: -1}
		m, session := begin(t, s, drift.Options{})
		expect := func(want string, tools ...string) {
			t.Helper()
			s.set(tools...)
			session.Changed()
			got := admit(session, "create_issue")
			if state := m.State(); got != "withdrawn: "+want || len(state.Drift) != 1 || state.Drift[0].String() != want {
				t.Errorf("%s, %+v, want %s", got, state.Drift, want)
			}
		}
		expect("create_issue has changed: description", changed, get)
		expect("create_issue is listed more than once", changed, get, create)
		expect("create_issue has changed: description", changed, get)
		expect("create_issue is missing", get)
		expect("create_issue has changed: description", changed, get)
	})
	synctest.Test(t, func(t *testing.T) {
		s := &server{tools: []string{strings.Replace(create, "Opens", "Sends", 1), get}, ttl: -1}
		m := drift.New(drift.Options{Pins: definitiontest.File(t, create, get), Refresh: time.Hour})
		defer m.Use("get_issue", nil)()
		session := m.NewSession()
		session.Begin(t.Context(), s.list)
		defer session.Close()
		release := m.Use("create_issue", nil)
		admit(session, "create_issue")
		release()
		defer m.Use("create_issue", nil)() // a reload has removed the block, and the next one has it again
		for _, d := range m.State().Drift {
			if d.Name != "create_issue" {
				t.Errorf("a difference has no name: %+v", d)
			}
		}
		if f := m.Withdrawn("create_issue"); f == nil || f.Cause.Error() != "create_issue has changed: description" {
			t.Errorf("known as %v", f)
		}
	})
}

func BenchmarkCheckOf200(b *testing.B) {
	var tools []string
	for i := range 200 {
		tools = append(tools, fmt.Sprintf(`{"name":"tool_%d","description":"%s","inputSchema":{"type":"object","properties":`+
			`{"a":{"type":"string","description":"%[2]s"},"b":{"type":"integer","minimum":%[1]d}},"required":["a"]}}`, i,
			strings.Repeat("A text. ", 40)))
	}
	list := client.List{TTL: -1}
	for i, tool := range tools {
		list.Tools = append(list.Tools, client.Definition{Name: fmt.Sprintf("tool_%d", i), Raw: []byte(tool)})
	}
	file := definitiontest.File(b, tools...)
	for _, again := range []bool{false, true} {
		b.Run(map[bool]string{false: "first", true: "again"}[again], func(b *testing.B) {
			m := drift.New(drift.Options{Pins: file})
			for i := range tools {
				defer m.Use(fmt.Sprintf("tool_%d", i), nil)()
			}
			for b.Loop() {
				if !again {
					b.StopTimer()
					m = drift.New(drift.Options{Pins: file})
					for i := range tools {
						m.Use(fmt.Sprintf("tool_%d", i), nil)
					}
					b.StartTimer()
				}
				session := m.NewSession()
				session.Begin(b.Context(), func(context.Context) (client.List, error) { return list, nil })
				if err := session.Admit(b.Context(), "tool_7"); err != nil {
					b.Fatal(err)
				}
				session.Close()
			}
		})
	}
}
