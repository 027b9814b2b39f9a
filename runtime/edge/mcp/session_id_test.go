package mcp_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/mcp/legacy"
	"hatchel/runtime/edge/mcp/legacy/handover"
)

// memorySessions is a handover.Store in memory.
type memorySessions struct {
	mu      sync.Mutex
	records map[string]memorySession       // guarded by mu
	deleted [][]byte                       // guarded by mu
	uses    int                            // of records; guarded by mu
	calls   map[string]handover.StoredCall // guarded by mu
}

type memorySession struct {
	body    []byte
	version int
}

func (m *memorySessions) LoadSession(_ context.Context, name string) ([]byte, int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.uses++
	r := m.records[name]
	return r.body, r.version, nil
}

func (m *memorySessions) SaveSession(
	_ context.Context, name, _ string, body []byte, version int, _ time.Time,
) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.uses++
	if m.records[name].version != version {
		return false, nil
	}
	if m.records == nil {
		m.records = map[string]memorySession{}
	}
	m.records[name] = memorySession{bytes.Clone(body), version + 1}
	return true, nil
}

func (m *memorySessions) LoadCall(_ context.Context, name string) (handover.StoredCall, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls[name], nil
}

func (m *memorySessions) ListCalls(_ context.Context, session string) (calls []handover.StoredCall, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(m.calls)) {
		if strings.HasPrefix(name, session) {
			calls = append(calls, m.calls[name])
		}
	}
	return calls, nil
}

func (m *memorySessions) SaveCall(_ context.Context, _ string, call handover.StoredCall, _ time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls[call.Name].Version != call.Version {
		return false, nil
	}
	if m.calls == nil {
		m.calls = map[string]handover.StoredCall{}
	}
	call.Version++
	m.calls[call.Name] = call
	return true, nil
}

func (m *memorySessions) RemoveCall(_ context.Context, call handover.StoredCall) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.calls[call.Name].Version == call.Version
	if found {
		delete(m.calls, call.Name)
	}
	return found, nil
}

func (m *memorySessions) RemoveSession(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.records, name)
	return nil
}

func (m *memorySessions) SaveDeleted(_ context.Context, names []byte, _ time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deleted = append(m.deleted, bytes.Clone(names))
	return nil
}

func (m *memorySessions) LoadDeleted(_ context.Context, add func(names []byte) bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, names := range slices.Backward(m.deleted) {
		if !add(names) {
			break
		}
	}
	return nil
}

// sharedOptions are those of processes of one server with a store.
func sharedOptions(store handover.Store) mcp.Options {
	return withLegacy(legacy.Options{Key: bytes.Repeat([]byte{7}, 32), Store: store})
}

// withProcesses starts two processes of one server.
func withProcesses(t *testing.T, f func(t *testing.T, a, b *testClient)) {
	options := sharedOptions(new(memorySessions))
	withServer(t, options, func(t *testing.T, a *testClient) {
		b := &testClient{t: t, handler: newFakeHandler(), log: new(bytes.Buffer)}
		b.server = newServer(b.handler, options)
		client, stop := startHTTP(t, withToolsets(b.server))
		b.client = client
		f(t, a, b)
		if err := b.server.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		stop()
	})
}

const pingMessage = `{"jsonrpc":"2.0","id":2,"method":"ping"}`

func TestSessionGoesOnInAnotherProcess(t *testing.T) {
	withProcesses(t, func(t *testing.T, a, b *testClient) {
		session := a.sessionHeaders()
		if reply := b.send(t.Context(), "POST", pingMessage, session...); reply.StatusCode != http.StatusOK {
			t.Errorf("the other process answers with %s, %s", reply.Status, readAll(reply))
		}
	})
}

func TestSessionInAnotherProcessHasItsRevision(t *testing.T) {
	withProcesses(t, func(t *testing.T, a, b *testClient) {
		for revision, batches := range map[string]bool{"2024-11-05": true, "2025-03-26": true, "2025-06-18": false} {
			got := readAll(b.send(t.Context(), "POST", "["+pingMessage+"]", a.sessionHeadersFor(revision)...))
			if strings.Contains(got, `"result":{}`) != batches {
				t.Errorf("%s: %s", revision, got)
			}
		}
	})
}

func TestSessionWithALargeClientInfoGoesOnInAnotherProcess(t *testing.T) {
	withProcesses(t, func(t *testing.T, a, b *testClient) {
		reply := a.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"`+strings.Repeat("x", 3<<10)+`"}}}`)
		readAll(reply)
		id := reply.Header.Get("Mcp-Session-Id")
		if len(id) == 0 || len(id) > 200 {
			t.Fatalf("the id has %d characters", len(id))
		}
		if reply := b.send(t.Context(), "POST", pingMessage, "Mcp-Session-Id", id); reply.StatusCode != http.StatusOK {
			t.Errorf("the other process answers with %s, %s", reply.Status, readAll(reply))
		}
	})
}

// A record is stored for 30 days, so that a client does not determine its size.
func TestRecordOfASessionHasALimit(t *testing.T) {
	store := new(memorySessions)
	withServer(t, sharedOptions(store), func(t *testing.T, v *testClient) {
		initialize := func(info string) (string, string) {
			reply := v.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":`+info+`}}`)
			return readAll(reply), reply.Header.Get("Mcp-Session-Id")
		}
		for _, info := range []string{`{"name":"` + strings.Repeat("x", 5<<10) + `"}`, `{"name":"a","extra":["` + strings.Repeat("x", 60<<10) + `"]}`} {
			if got, id := initialize(info); id != "" || !strings.Contains(got, "params.clientInfo, without its icons, and params.capabilities have more than 4096 bytes") {
				t.Errorf("%.60s: %.300s", info, got)
			}
		}
		got, id := initialize(`{"name":"a","version":"1","icons":[{"src":"data:image/png;base64,` + strings.Repeat("A", 50<<10) + `"}]}`)
		if id == "" || len(id) > 500 {
			t.Errorf("icons: %.300s, an id of %d bytes", got, len(id))
		}
		for name, body := range store.records {
			t.Errorf("the record %s has %d bytes", name, len(body.body))
		}
	})
}

// A record that an earlier version has stored is used, and can become smaller.
func TestLargerRecordOfAnEarlierVersionIsUsed(t *testing.T) {
	r := handover.SessionRecord{Info: []byte(`"` + strings.Repeat("x", 60<<10) + `"`), Resources: []string{"a", "b"}}
	if err := r.Change(func(r *handover.SessionRecord) error { r.Level = "error"; return nil }); err != nil {
		t.Error(err)
	}
	if err := r.Change(func(r *handover.SessionRecord) error { r.Resources = r.Resources[:1]; return nil }); err != nil {
		t.Error(err)
	}
	err := r.Change(func(r *handover.SessionRecord) error { r.Resources = append(r.Resources, "c"); return nil })
	if !errors.Is(err, handover.ErrRecordTooLarge) || len(r.Resources) != 1 || r.Level != "error" {
		t.Errorf("%v, %v", err, r.Resources)
	}
}

func TestSubscriptionsAndLevelOfASessionGoOnInAnotherProcess(t *testing.T) {
	withProcesses(t, func(t *testing.T, a, b *testClient) {
		session := a.sessionHeaders()
		a.subscribe(session, "note://a")
		readAll(a.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"error"}}`, session...))
		b.read(session)
		b.expectFollowed(1, "returning")
		got := readAll(b.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"steps"}}`, session...))
		if !strings.Contains(got, "done") || strings.Contains(got, `"low":true`) {
			t.Errorf("at the level error: %s", got)
		}
	})
}

func TestDeletedSessionIsNotFoundAfterARestart(t *testing.T) {
	store := new(memorySessions)
	options := sharedOptions(store)
	var session []string
	withServer(t, options, func(t *testing.T, v *testClient) {
		session = v.sessionHeaders()
		v.subscribe(session, "note://a")
		readAll(v.send(t.Context(), "DELETE", "", session...))
	})
	withServer(t, options, func(t *testing.T, v *testClient) {
		if reply := v.send(t.Context(), "POST", pingMessage, session...); reply.StatusCode != http.StatusNotFound {
			t.Errorf("got %s", reply.Status)
		}
		if n := len(store.records); n > 0 {
			t.Errorf("%d records are left", n)
		}
	})
}

func TestSessionsThatWereForgottenGoOn(t *testing.T) {
	withServer(t, withLegacy(legacy.Options{Sessions: 2}), func(t *testing.T, v *testClient) {
		var sessions [][]string
		for range 5 {
			sessions = append(sessions, v.sessionHeaders())
		}
		for i, session := range sessions {
			if reply := v.send(t.Context(), "POST", pingMessage, session...); reply.StatusCode != http.StatusOK {
				t.Errorf("session %d got %s", i, reply.Status)
			}
		}
	})
}

func TestSessionWithACallIsNotForgotten(t *testing.T) {
	withHandler(t, func() *fakeHandler {
		h := newFakeHandler()
		h.started, h.release = make(chan string, 1), make(chan struct{})
		return h
	}, withLegacy(legacy.Options{Sessions: 1}), func(t *testing.T, v *testClient) {
		busy := v.openSession("2025-11-25")
		replies := make(chan string, 1)
		go func() { replies <- readAll(busy.call(t.Context(), 2, "wait")) }()
		<-v.handler.started
		for range 3 {
			v.sessionHeaders()
		}
		synctest.Wait()
		close(v.handler.release)
		if got := <-replies; !strings.Contains(got, "waited") {
			t.Errorf("the call got %s", got)
		}
	})
}

// Whatever is not the id that a server has given to this caller in this toolset is refused alike.
func TestIDsThatWereNotGivenOutAreNotFound(t *testing.T) {
	withIdentities(t, func(t *testing.T, v *testClient) {
		open := func(v *testClient, headers ...string) string {
			reply := v.send(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`, headers...)
			readAll(reply)
			return reply.Header.Get("Mcp-Session-Id")
		}
		foreign := &testClient{t: t, handler: newFakeHandler(), log: new(bytes.Buffer)}
		foreign.server = newServer(foreign.handler, mcp.Options{})
		client, stop := startHTTP(t, withToolsets(foreign.server))
		defer stop()
		foreign.client = client

		id := open(v, "X-Who", "ada")
		sealed, _ := base64.RawURLEncoding.DecodeString(id)
		changed := func(i int) string {
			b := bytes.Clone(sealed)
			b[i] ^= 1
			return base64.RawURLEncoding.EncodeToString(b)
		}
		for name, bad := range map[string]string{
			"foreign":                          open(foreign, "X-Who", "ada"),
			"truncated":                        id[:len(id)-1],
			"cut in the middle":                id[:len(id)/2],
			"with padding":                     base64.URLEncoding.EncodeToString(sealed) + "=",
			"in the other alphabet":            "+" + base64.StdEncoding.EncodeToString(sealed),
			"with something after it":          id + "A",
			"twice":                            id + id,
			"in capitals":                      strings.ToUpper(id),
			"of another form":                  changed(0),
			"with another nonce":               changed(1),
			"with another name":                changed(13),
			"with another tag":                 changed(len(sealed) - 1),
			"of one character":                 "A",
			"made up":                          "0000",
			"larger than any":                  strings.Repeat("A", 60<<10),
			"of the process":                   base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{1}, 80)),
			"with trailing bits that are used": id[:len(id)-1] + "_",
		} {
			for _, method := range []string{"POST", "GET", "DELETE"} {
				reply := v.send(t.Context(), method, pingMessage, "X-Who", "ada", "Mcp-Session-Id", bad)
				if readAll(reply); reply.StatusCode != http.StatusNotFound {
					t.Errorf("%s with an id %s: %s", method, name, reply.Status)
				}
			}
		}
		for name, headers := range map[string][]string{
			"another caller":            {"X-Who", "eve"},
			"another key of the caller": {"X-Who", "ada", "X-Key", "other"},
			"no caller":                 nil,
		} {
			for _, method := range []string{"POST", "GET", "DELETE"} {
				reply := v.send(t.Context(), method, pingMessage, append(headers, "Mcp-Session-Id", id)...)
				if readAll(reply); reply.StatusCode != http.StatusNotFound {
					t.Errorf("%s of %s: %s", method, name, reply.Status)
				}
			}
		}
		if reply := v.send(t.Context(), "POST", pingMessage, "X-Who", "ada", "Mcp-Session-Id", id); reply.StatusCode != http.StatusOK {
			t.Errorf("the id itself: %s", reply.Status)
		}
	})
}

func TestIDOfAnotherToolsetIsNotFound(t *testing.T) {
	withServer(t, mcp.Options{}, func(t *testing.T, v *testClient) {
		session := v.sessionHeaders()
		r, _ := http.NewRequestWithContext(t.Context(), "POST", "http://localhost/mcp/notes", strings.NewReader(pingMessage))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Mcp-Session-Id", session[1])
		reply, err := v.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if readAll(reply); reply.StatusCode != http.StatusNotFound {
			t.Errorf("got %s", reply.Status)
		}
	})
}

func TestSessionExpiresAfter30Days(t *testing.T) {
	withProcesses(t, func(t *testing.T, a, b *testClient) {
		session := a.sessionHeaders()
		for _, c := range []struct {
			sleep time.Duration
			want  int
		}{{29 * 24 * time.Hour, 200}, {25 * time.Hour, 404}} {
			time.Sleep(c.sleep)
			for name, v := range map[string]*testClient{"its process": a, "another process": b} {
				reply := v.send(t.Context(), "POST", pingMessage, session...)
				if readAll(reply); reply.StatusCode != c.want {
					t.Errorf("%s: got %s, want %d", name, reply.Status, c.want)
				}
			}
		}
	})
}

func TestDeletedSessionThatWasForgottenIsNotFound(t *testing.T) {
	withServer(t, withLegacy(legacy.Options{Sessions: 1}), func(t *testing.T, v *testClient) {
		session := v.sessionHeaders()
		readAll(v.send(t.Context(), "DELETE", "", session...))
		v.sessionHeaders()
		if reply := v.send(t.Context(), "POST", pingMessage, session...); reply.StatusCode != http.StatusNotFound {
			t.Errorf("got %s", reply.Status)
		}
	})
}
