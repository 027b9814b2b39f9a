package audit

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"hatchel/runtime/durable/postgres"
	"hatchel/runtime/durable/postgres/postgrestest"
)

// relay passes on what is said to a database and by it, until it is cut.
type relay struct {
	net.Listener
	to string

	mu    sync.Mutex
	conns map[net.Conn]bool // guarded by mu
	gone  bool              // guarded by mu

	mute atomic.Int64 // commits after which the answers are lost; 0 for none
}

func relayed(t *testing.T, address string) (*relay, string) {
	t.Helper()
	u, err := url.Parse(address)
	check(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	r := &relay{Listener: l, to: u.Host, conns: map[net.Conn]bool{}}
	t.Cleanup(func() { l.Close(); r.cut(true) })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go r.pass(client)
		}
	}()
	return r, changed(t, address, func(u *url.URL, _ url.Values) { u.Host = l.Addr().String() })
}

func (r *relay) pass(client net.Conn) {
	server, err := net.Dial("tcp", r.to)
	r.mu.Lock()
	if err != nil || r.gone {
		r.mu.Unlock()
		client.Close()
		if err == nil {
			server.Close()
		}
		return
	}
	r.conns[client], r.conns[server] = true, true
	r.mu.Unlock()
	go func() {
		defer client.Close()
		defer server.Close()
		copyAll(client, server, func([]byte) bool { return true })
	}()
	defer client.Close()
	defer server.Close()
	copyAll(server, client, func(said []byte) bool {
		if !strings.Contains(string(said), "COMMIT") && !strings.Contains(string(said), "INSERT") && len(said) < 300 {
			return true
		}
		if n := r.mute.Load(); n > 0 && r.mute.Add(-1) == 0 {
			server.Write(said) // the database does it, and its answer is lost
			client.Close()
			return false
		}
		return true
	})
}

func copyAll(to, from net.Conn, may func([]byte) bool) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if err != nil || !may(b[:n]) {
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// cut ends all connections; when the database is gone, no others are made.
func (r *relay) cut(gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = gone
	for c := range r.conns {
		c.Close()
	}
	clear(r.conns)
}

func TestUnavailableDatabaseComesBack(t *testing.T) {
	direct, _ := postgrestest.Schema(t)
	r, address := relayed(t, direct)
	r.cut(true)
	l := openTable(t, address) // a server starts without it, and does nothing
	away := func() {
		t.Helper()
		if err := l.Append(call("lost"), true); !errors.Is(err, postgres.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		if err := l.Check(t.Context()); err == nil || l.LastError() == nil {
			t.Error("all is said to be well")
		}
	}
	away()
	r.cut(false)
	retryNow(l)
	check(t, l.Check(t.Context()))
	check(t, l.Append(call("a"), true))
	r.cut(false) // a connection that was lost in between is replaced
	check(t, l.Append(call("b"), true))
	r.cut(true)
	if err := l.Check(t.Context()); err == nil {
		t.Error("a database is not missed before something is written")
	}
	away()
	r.cut(false)
	retryNow(l)
	check(t, l.Append(call("c"), true))
	check(t, l.Check(t.Context()))
	if v := verified(t, direct); v.Broken != nil || v.Records != 5 {
		t.Error(v)
	}
}

// The connection is lost when the records were sent, and nobody knows what became of them.
func TestRecordIsWrittenOnceOverLostConnections(t *testing.T) {
	direct, _ := postgrestest.Schema(t)
	r, address := relayed(t, direct)
	l, other := openTable(t, address), openTable(t, direct)
	const rounds, callers = 40, 4
	var mu sync.Mutex
	written := map[string]bool{}
	for round := range rounds {
		r.mute.Store(int64(round%5 + 1))
		retryNow(l)
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				name := fmt.Sprintf("%d.%d", round, i)
				if err := l.Append(call(name), true); err != nil {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				written[name] = true
			})
		}
		all.Go(func() {
			if err := other.Append(call(fmt.Sprintf("%d.other", round)), true); err != nil {
				t.Error(err)
			}
		})
		if round%3 == 0 {
			r.cut(false)
		}
		all.Wait()
	}
	r.mute.Store(0)
	retryNow(l)
	check(t, l.Append(call("end"), true))
	if v := verified(t, direct); v.Broken != nil {
		t.Fatal(v)
	}
	seen := map[string]bool{}
	check(t, Database(direct).Read(t.Context(), func(line *Line) bool {
		if rec, _ := line.Record(); rec.Event == EventCall {
			if seen[rec.Name] {
				t.Errorf("%s is there twice", rec.Name)
			}
			seen[rec.Name] = true
		}
		return true
	}))
	for name := range written {
		if !seen[name] {
			t.Errorf("%s was said to be written", name)
		}
	}
	if len(written) < rounds*callers/2 {
		t.Errorf("only %d of %d were written", len(written), rounds*callers)
	}
	t.Logf("%d of %d were said to be written, %d are there", len(written), rounds*callers, len(seen)-rounds-1)
}
