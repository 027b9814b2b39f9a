package sql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
)

// mariaDB is a server that a test may stop and start.
type mariaDB struct {
	dir, address string
	options      []string
	process      *exec.Cmd
	root         *sql.DB
}

// smallLog keeps the redo log of a server from taking 96 MiB of the disk.
const smallLog = "--innodb-log-file-size=8M"

// installMariaDB returns the data of a server that has never run, which each server of the tests begins with a copy of.
var installMariaDB = sync.OnceValues(func() (data string, err error) {
	dir, err := os.MkdirTemp("", "hatchel-mariadb")
	if err != nil {
		return "", err
	}
	removeInstalled = func() { os.RemoveAll(dir) }
	data = filepath.Join(dir, "data")
	install := exec.Command("mariadb-install-db", "--no-defaults", "--datadir="+data,
		"--skip-test-db", "--auth-root-authentication-method=normal", "--user="+currentUser(), smallLog)
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return data, nil
})

var removeInstalled = func() {}

func TestMain(m *testing.M) {
	code := m.Run()
	removeInstalled()
	os.Exit(code)
}

// startMariaDB starts a server of its own with a table t of the column a.
func startMariaDB(t testing.TB, options ...string) *mariaDB {
	t.Helper()
	connect(t, "mysql")                             // skips the test where there is no server
	dir, err := os.MkdirTemp("", "hatchel-mariadb") // a short path for the socket
	if err != nil {
		t.Fatal(err)
	}
	m := &mariaDB{dir: dir, options: options}
	t.Cleanup(func() { os.RemoveAll(dir) })
	installed, err := installMariaDB()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "data"), os.DirFS(installed)); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.address = listener.Addr().String()
	listener.Close()
	config := driver.NewConfig()
	config.User, config.Net, config.Addr, config.Logger = "root", "unix", filepath.Join(dir, "socket"), &driver.NopLogger{}
	config.Params = map[string]string{"tx_read_only": "0", "sql_mode": "''"}
	connector, err := driver.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	m.root = sql.OpenDB(connector)
	t.Cleanup(func() { m.root.Close() })
	t.Cleanup(m.stop)
	m.start(t)
	for _, text := range []string{
		"CREATE DATABASE hatchel", "CREATE USER hatchel@'127.0.0.1' IDENTIFIED BY 'hatchel'",
		"GRANT ALL ON hatchel.* TO hatchel@'127.0.0.1'", "CREATE TABLE hatchel.t (a INTEGER)",
	} {
		m.exec(t, text)
	}
	return m
}

func currentUser() string {
	if os.Getuid() == 0 {
		return "root"
	}
	return os.Getenv("USER")
}

// start starts the server and waits until it answers.
func (m *mariaDB) start(t testing.TB) {
	t.Helper()
	_, port, _ := net.SplitHostPort(m.address)
	m.process = exec.Command("mariadbd", append([]string{"--no-defaults", "--datadir=" + filepath.Join(m.dir, "data"),
		"--socket=" + filepath.Join(m.dir, "socket"), "--pid-file=" + filepath.Join(m.dir, "pid"),
		"--bind-address=127.0.0.1", "--port=" + port, "--user=" + currentUser(), smallLog}, m.options...)...)
	m.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := m.process.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); m.root.Ping() != nil; {
		if time.Now().After(deadline) {
			t.Fatal("the server does not start")
		}
	}
}

// stop kills the server, as a crash does.
func (m *mariaDB) stop() {
	if m.process != nil {
		_ = m.process.Process.Kill()
		_ = m.process.Wait()
		m.process = nil
	}
}

func (m *mariaDB) exec(t testing.TB, text string) {
	t.Helper()
	if _, err := m.root.Exec(text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// scan returns the integers of the first column of a query.
func (m *mariaDB) scan(t *testing.T, query string) (all []int) {
	t.Helper()
	rows, err := m.root.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var n int
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

const clientConnections = "SELECT id FROM information_schema.processlist WHERE user = 'hatchel'"

// waitUntilGone waits until the server has no connection of the tools.
func (m *mariaDB) waitUntilGone(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); len(m.scan(t, clientConnections)) > 0; {
		if time.Now().After(deadline) {
			t.Fatal("the server keeps its connections")
		}
	}
}

// server returns what tools need to reach the server at an address.
func (m *mariaDB) server(address string) server {
	return server{kind: "mysql", url: "mysql://hatchel:hatchel@" + address + "/hatchel"}
}

// cuttingProxy passes bytes on between clients and a server.
type cuttingProxy struct {
	listener net.Listener

	mu     sync.Mutex
	target string                 // guarded by mu
	cuts   func(sent string) bool // cuts a connection instead of sending something to the server; guarded by mu
	sends  bool                   // it is sent, and its answer is lost; guarded by mu
	conns  []net.Conn             // guarded by mu
}

func newCuttingProxy(t *testing.T, target string) *cuttingProxy {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &cuttingProxy{listener: listener, target: target}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	return p
}

func (p *cuttingProxy) address() string { return p.listener.Addr().String() }

// set changes the server and the cuts. It resets the connections to the former server.
func (p *cuttingProxy) set(target string, cuts func(string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if target != p.target {
		for _, c := range p.conns {
			c.Close()
		}
		p.conns = nil
	}
	p.target, p.cuts = target, cuts
}

func (p *cuttingProxy) serve(client net.Conn) {
	defer client.Close()
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	backend, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer backend.Close()
	p.mu.Lock()
	p.conns = append(p.conns, client, backend)
	p.mu.Unlock()
	go func() {
		_, _ = io.Copy(client, backend)
		client.Close()
	}()
	for buffer := make([]byte, 64<<10); ; {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		p.mu.Lock()
		cut := p.cuts != nil && p.cuts(string(buffer[:n]))
		if sends := p.sends; cut && sends {
			client.Close()
			_, _ = backend.Write(buffer[:n])
		}
		p.mu.Unlock()
		if cut {
			return
		}
		if _, err := backend.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// once returns a cut at the first text that has a part.
func once(part string) func(string) bool {
	done := false
	return func(sent string) bool {
		if done || !strings.Contains(sent, part) {
			return false
		}
		done = true
		return true
	}
}

const (
	countRows = `query = "SELECT count(*) AS n FROM t"`
	addRow    = `exec = "INSERT INTO t VALUES (1)"`
)

// fillPool opens several connections, so that more than one of them can be dead.
func fillPool(t *testing.T, b *adaptertest.BoundTool, n int) {
	t.Helper()
	if n == 0 {
		return
	}
	holdConnection(t, b.Handle("db"), func() { fillPool(t, b, n-1) })
}

func TestMariaDBThatWasAwayIsUsedAgain(t *testing.T) {
	first, second := startMariaDB(t), startMariaDB(t)
	for name, goAway := range map[string]func(*testing.T, *cuttingProxy, *adaptertest.BoundTool){
		"after a restart": func(t *testing.T, _ *cuttingProxy, _ *adaptertest.BoundTool) {
			first.stop()
			first.start(t)
		},
		"after a restart that a call has noticed": func(t *testing.T, _ *cuttingProxy, b *adaptertest.BoundTool) {
			first.stop()
			if got := mustFail(t, b, `{}`); got != `the database "db" is unavailable` {
				t.Error(got)
			}
			first.start(t)
		},
		"after its connections were killed": func(t *testing.T, _ *cuttingProxy, _ *adaptertest.BoundTool) {
			for _, id := range first.scan(t, clientConnections) {
				first.exec(t, "KILL "+strconv.Itoa(id))
			}
			first.waitUntilGone(t)
		},
		"after the time limit for idle connections": func(t *testing.T, _ *cuttingProxy, b *adaptertest.BoundTool) {
			first.exec(t, "SET GLOBAL wait_timeout = 1")
			defer first.exec(t, "SET GLOBAL wait_timeout = DEFAULT")
			b.Handle("db").(*mysqlDatabase).pool.discardIdle()
			fillPool(t, b, 3)
			first.waitUntilGone(t)
		},
		"at another address": func(_ *testing.T, p *cuttingProxy, _ *adaptertest.BoundTool) { p.set(second.address, nil) },
		"after it has become a replica": func(t *testing.T, p *cuttingProxy, _ *adaptertest.BoundTool) {
			first.exec(t, "SET GLOBAL read_only = 1")
			t.Cleanup(func() { first.exec(t, "SET GLOBAL read_only = 0") })
			p.mu.Lock()
			p.target = second.address // for new connections
			p.mu.Unlock()
		},
		"when it breaks the connection before a transaction": func(_ *testing.T, p *cuttingProxy, _ *adaptertest.BoundTool) {
			p.set(first.address, once("START TRANSACTION"))
		},
		"when it breaks the connection before the settings": func(_ *testing.T, p *cuttingProxy, _ *adaptertest.BoundTool) {
			p.set(first.address, once("SET NAMES utf8mb4, "))
		},
	} {
		for kind, body := range map[string]string{"read": countRows, "write": addRow} {
			t.Run(kind+" "+name, func(t *testing.T) {
				proxy := newCuttingProxy(t, first.address)
				b := first.server(proxy.address()).bind(t, "", body)
				fillPool(t, b, 3)
				goAway(t, proxy, b)
				for range 5 {
					mustCall(t, b, `{}`)
				}
				if idle := len(b.Handle("db").(*mysqlDatabase).pool.idle); kind == "write" && idle != 1 {
					t.Errorf("%d connections are left in the pool", idle)
				}
			})
		}
	}
	if first, second := first.scan(t, "SELECT count(*) FROM hatchel.t"), second.scan(t, "SELECT count(*) FROM hatchel.t"); first[0]+second[0] != 8*5 {
		t.Errorf("%d and %d rows were added, want 40", first, second)
	}
}

func TestLostMariaDBConnectionRepeatsReadsOnly(t *testing.T) {
	m := startMariaDB(t)
	proxy := newCuttingProxy(t, m.address)
	const execute = "\x17" // the command that executes a prepared statement
	isExecute := func() func(string) bool {
		done := false
		return func(sent string) bool {
			if done || len(sent) < 5 || sent[4:5] != execute {
				return false
			}
			done = true
			return true
		}
	}
	t.Run("a read", func(t *testing.T) {
		b := m.server(proxy.address()).bind(t, "", countRows)
		mustCall(t, b, `{}`)
		proxy.set(m.address, isExecute())
		wantEqual(t, mustCall(t, b, `{}`), oneRow(`{"n":0}`))
	})
	t.Run("a write", func(t *testing.T) {
		b := m.server(proxy.address()).bind(t, "", addRow)
		mustCall(t, b, `{}`)
		proxy.set(m.address, isExecute())
		wantEqual(t, mustFail(t, b, `{}`), msgLost)
		proxy.set(m.address, once("COMMIT"))
		wantEqual(t, mustFail(t, b, `{}`), msgCommitUnknown)
		mustCall(t, b, `{}`)
		if n := m.scan(t, "SELECT count(*) FROM hatchel.t"); n[0] != 2 {
			t.Errorf("there are %d rows, want 2", n)
		}
	})
	t.Run("a read whose connection is killed", func(t *testing.T) {
		b := m.server(m.address).bind(t, "", `query = "SELECT a, SLEEP(0.2) AS s FROM t LIMIT 1"`)
		ended := make(chan string, 1)
		go func() { ended <- mustCall(t, b, `{}`) }()
		for len(m.scan(t, clientConnections+" AND info LIKE '%SLEEP%'")) == 0 {
		}
		for _, id := range m.scan(t, clientConnections) {
			m.exec(t, "KILL "+strconv.Itoa(id))
		}
		wantEqual(t, <-ended, oneRow(`{"a":1,"s":0}`))
	})
}

func TestWrongSettingsOfAServerAreNotCalledUnavailable(t *testing.T) {
	s := connect(t, "mysql")
	config, err := parseMySQLURL(s.url)
	if err != nil {
		t.Fatal(err)
	}
	for name, url := range map[string]string{
		"the password":       fmt.Sprintf("mysql://%s:wrong@%s/hatchel", config.User, config.Addr),
		"the database":       fmt.Sprintf("mysql://%s:%s@%s/nothing", config.User, config.Passwd, config.Addr),
		"TLS":                fmt.Sprintf("mysql://%s:%s@%s/hatchel?tls=true", config.User, config.Passwd, config.Addr),
		"a variable":         fmt.Sprintf("mysql://%s:%s@%s/hatchel?no_such_variable=1", config.User, config.Passwd, config.Addr),
		"a variable's value": fmt.Sprintf("mysql://%s:%s@%s/hatchel?time_zone=%%27nowhere%%27", config.User, config.Passwd, config.Addr),
	} {
		t.Run(name, func(t *testing.T) {
			b := server{kind: "mysql", url: url}.bind(t, "", `query = "SELECT 1 AS a"`)
			var f *adapters.Fault
			if _, err := b.Do(t.Context(), `{}`); !errors.As(err, &f) || f.Unavailable || !f.NotSent ||
				!strings.Contains(f.Message, "trying again does not help") {
				t.Errorf("got %+v, %v", f, err)
			}
			if err := b.Handle("db").(adapters.Health).Ping(context.Background()); err == nil || strings.Contains(err.Error(), "wrong") {
				t.Errorf("Ping returned %v", err)
			}
		})
	}
}
