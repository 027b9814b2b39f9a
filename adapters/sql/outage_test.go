package sql

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
)

// illServer is the address of a server that treats each new connection as the test says.
type illServer struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	greet []byte // is sent to a new connection instead of what the server says; guarded by mu
	limit int    // the answers of a connection are cut after so many bytes, once; 0 for never; guarded by mu
	mute  bool   // nothing is answered; guarded by mu
}

func newIllServer(t *testing.T, target string) *illServer {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &illServer{listener: listener, target: target}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { s.serve(client) })
		}
	})
	t.Cleanup(func() { listener.Close() })
	return s
}

// set changes how the server behaves.
func (s *illServer) set(greet []byte, limit int, mute bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.greet, s.limit, s.mute = greet, limit, mute
}

func (s *illServer) serve(client net.Conn) {
	defer client.Close()
	s.mu.Lock()
	greet, mute := s.greet, s.mute
	s.mu.Unlock()
	if mute {
		_, _ = io.Copy(io.Discard, client)
		return
	}
	if greet != nil {
		if greet[0] == 'E' { // PostgreSQL answers to the first message of the client
			_, _ = client.Read(make([]byte, 4096))
		}
		_, _ = client.Write(greet)
		return
	}
	backend, err := net.Dial("tcp", s.target)
	if err != nil {
		return
	}
	defer backend.Close()
	go func() {
		_, _ = io.Copy(backend, client)
		backend.Close()
	}()
	for buffer := make([]byte, 512); ; {
		n, err := backend.Read(buffer)
		if err != nil {
			return
		}
		s.mu.Lock()
		cut := s.limit > 0 && n > s.limit
		if cut {
			n, s.limit = s.limit, 0
		}
		s.mu.Unlock()
		if _, err := client.Write(buffer[:n]); err != nil || cut {
			return
		}
	}
}

// postgresRefusal is the message with which PostgreSQL refuses a connection.
func postgresRefusal(code, message string) []byte {
	fields := "SFATAL\x00VFATAL\x00C" + code + "\x00M" + message + "\x00\x00"
	return append([]byte{'E', 0, 0, 0, byte(4 + len(fields))}, fields...)
}

// mysqlRefusal is the packet with which MariaDB refuses a connection.
func mysqlRefusal(code int, message string) []byte {
	body := append([]byte{0xff, byte(code), byte(code >> 8)}, message...)
	return append([]byte{byte(len(body)), 0, 0, 0}, body...)
}

// A server that cannot serve now is used by the first call after it can, whatever it has said meanwhile.
func TestAServerThatRefusesConnectionsIsUsedAgain(t *testing.T) {
	check := func(t *testing.T, s server, ill *illServer, name string, refusals map[string][]byte) {
		for reason, refusal := range refusals {
			connectTimeout := `connect_timeout = "30s"`
			if refusal == nil { // it never answers
				connectTimeout = `connect_timeout = "1s"`
			}
			for _, tool := range []struct{ kind, body string }{
				{"read", `query = "SELECT 1 AS a"`}, {"write", `exec = "INSERT INTO ` + name + ` VALUES (1)"`},
			} {
				for _, warm := range []bool{false, true} {
					ill.set(nil, 0, false)
					b := adaptertest.Bind(t, s.sourceWith(connectTimeout, "", tool.body))
					if warm {
						mustCall(t, b, `{}`)
					}
					ill.set(refusal, 0, refusal == nil)
					if warm { // the connection that is idle ends with the server
						closeIdleConns(b.Handle("db"))
					}
					var f *adapters.Fault
					_, err := b.Do(t.Context(), `{}`)
					if !errors.As(err, &f) || !f.NotSent || !strings.Contains(f.Message, "unavailable") {
						t.Errorf("%s, %s, warm %v: %v", reason, tool.kind, warm, err)
					}
					if err := b.Handle("db").(adapters.Health).Ping(t.Context()); err == nil {
						t.Errorf("%s, %s: the readiness says that it is well", reason, tool.kind)
					}
					ill.set(nil, 0, false)
					for err := b.Handle("db").(adapters.Health).Ping(t.Context()); err != nil; {
						var down *unreachableError
						if !errors.As(err, &down) || !down.repeated { // after a short pause
							t.Fatalf("%s: the readiness says: %v", reason, err)
						}
						err = b.Handle("db").(adapters.Health).Ping(t.Context())
					}
					mustCall(t, b, `{}`)
					b.Close()
				}
			}
		}
	}
	t.Run("postgres", func(t *testing.T) {
		o := ownDatabase(t)
		name := o.createTable(t, "n INTEGER")
		u, err := url.Parse(o.url)
		if err != nil {
			t.Fatal(err)
		}
		ill := newIllServer(t, u.Host)
		u.Host = ill.listener.Addr().String()
		s := o.server
		s.url = u.String()
		check(t, s, ill, name, map[string][]byte{
			"starting up": postgresRefusal("57P03", "the database system is starting up"),
			"in recovery": postgresRefusal("57P03", "the database system is not yet accepting connections"),
			"full":        postgresRefusal("53300", "sorry, too many clients already"),
			"shutdown":    postgresRefusal("57P03", "the database system is shutting down"),
			"closed":      postgresRefusal("08006", "server closed the connection"), "silent": nil,
		})
	})
	t.Run("mysql", func(t *testing.T) {
		m := startMariaDB(t)
		ill := newIllServer(t, m.address)
		check(t, m.server(ill.listener.Addr().String()), ill, "t", map[string][]byte{
			"full": mysqlRefusal(1040, "Too many connections"), "shutdown": mysqlRefusal(1053, "Server shutdown in progress"), "silent": nil,
		})
	})
}

// closeIdleConns empties the pool of a database.
func closeIdleConns(db any) {
	switch db := db.(type) {
	case *postgresDatabase:
		db.pool.Reset()
	case *mysqlDatabase:
		db.pool.discardIdle()
	}
}

// A connection that breaks in the middle of an answer repeats what has surely done nothing.
func TestAnswersThatAreCutAreNoAnswers(t *testing.T) {
	const rows = 400
	check := func(t *testing.T, s server, ill *illServer, table string, count func() int) {
		read := s.bind(t, "", `query = "SELECT n, 'some text to fill the answer' AS filler FROM `+table+` ORDER BY n"`)
		write := s.bind(t, "", fmt.Sprintf(`exec = "INSERT INTO %s SELECT n + %d FROM %[1]s WHERE n < 40 RETURNING n"`, table, 10*rows))
		want := mustCall(t, read, `{}`)
		mustCall(t, write, `{}`)
		undo := s.bind(t, "", fmt.Sprintf(`exec = "DELETE FROM %s WHERE n > %d"`, table, 2*rows))
		for limit := 1; limit < 500; limit += 83 {
			mustCall(t, undo, `{}`)
			ill.set(nil, limit, false)
			wantEqual(t, mustCall(t, read, `{}`), want)
			ill.set(nil, limit, false)
			_, err := write.Do(t.Context(), `{}`)
			ill.set(nil, 0, false)
			change, n := adapters.ChangeOf(err), count()
			switch {
			case err == nil && n != rows+39, err != nil && change != adapters.ChangeUnknown && n != rows,
				err != nil && (change == adapters.ChangeAnswered || change == adapters.ChangeDone):
				t.Errorf("cut after %d bytes: %d rows, and the change is said to be %v: %v", limit, n, change, err)
			}
		}
	}
	t.Run("postgres", func(t *testing.T) {
		o := ownDatabase(t)
		o.run(t, "CREATE TABLE numbers (n INTEGER)")
		o.run(t, fmt.Sprintf("INSERT INTO numbers SELECT generate_series(1, %d)", rows))
		u, err := url.Parse(o.url)
		if err != nil {
			t.Fatal(err)
		}
		ill := newIllServer(t, u.Host)
		u.Host = ill.listener.Addr().String()
		s := o.server
		s.url = u.String()
		observer := connectTo(t, o.url)
		check(t, s, ill, "numbers", func() (n int) {
			if err := observer.QueryRow(t.Context(), "SELECT count(*) FROM numbers").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		})
	})
	t.Run("mysql", func(t *testing.T) {
		m := startMariaDB(t)
		m.exec(t, "CREATE TABLE hatchel.numbers (n INTEGER)")
		m.exec(t, fmt.Sprintf("INSERT INTO hatchel.numbers SELECT seq FROM hatchel.seq_1_to_%d", rows))
		ill := newIllServer(t, m.address)
		check(t, m.server(ill.listener.Addr().String()), ill, "numbers", func() int { return m.scan(t, "SELECT count(*) FROM hatchel.numbers")[0] })
	})
}
