// Package poolertest starts PgBouncer in front of a PostgreSQL server for a test.
package poolertest

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Start starts a PgBouncer until the test ends, which connects to the database of an address with at most three
// connections, used in turn. With a search_path in the address, each of them has it. Settings are lines of the section
// pgbouncer, such as "pool_mode = transaction". It returns the address of the pooler. Without HATCHEL_TEST_PGBOUNCER it
// skips the test.
func Start(t testing.TB, address string, settings ...string) string {
	t.Helper()
	program := os.Getenv("HATCHEL_TEST_PGBOUNCER")
	if program == "" {
		t.Skip("HATCHEL_TEST_PGBOUNCER is not set")
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pooled := free.Addr().String()
	free.Close()
	_, port, _ := net.SplitHostPort(pooled)
	connectQuery := ""
	if path := u.Query().Get("search_path"); path != "" {
		connectQuery = "connect_query='SET search_path TO " + path + "'"
	}
	config := filepath.Join(t.TempDir(), "pgbouncer.ini")
	text := fmt.Appendf(nil, `[databases]
hatchel = host=%s port=%s dbname=%s user=%s %s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
default_pool_size = 3
server_round_robin = 1
server_login_retry = 1
%s
`, u.Hostname(), u.Port(), strings.TrimPrefix(u.Path, "/"), u.User.Username(), connectQuery, port,
		strings.Join(settings, "\n"))
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, config)
	if os.Getuid() == 0 {
		command.Args = []string{program, "-u", "nobody", config}
	}
	var log bytes.Buffer
	command.Stdout, command.Stderr = &log, &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Kill()
		command.Wait()
		if t.Failed() {
			t.Logf("%s", &log)
		}
	})
	for deadline := time.Now().Add(10 * time.Second); ; {
		conn, err := net.Dial("tcp", pooled)
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	return "postgres://hatchel@" + pooled + "/hatchel?sslmode=disable"
}
