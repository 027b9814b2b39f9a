package test_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/test"
	"hatchel/hcl/mock"
)

// TestNothingGoesOut asks every kind of backend, with a mock, without one and for its health, while all addresses lead
// to a listener.
func TestNothingGoesOut(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan bool, 1)
	go func() {
		if conn, err := listener.Accept(); err == nil {
			conn.Close()
			accepted <- true
		}
		close(accepted)
	}()
	dir, address := t.TempDir(), listener.Addr().String()
	connections := fmt.Sprintf(`
secret "web" { env = "WEB" }
connection "http" "web" {
  base_url  = "http://%[1]s"
  ca_file   = "not-there.pem"
  auth {
    oauth2 {
      token_url     = "http://%[1]s/token"
      client_id     = "me"
      client_secret = secret.web
    }
  }
}
connection "postgres" "pg" { url = "postgres://me@%[1]s/x" }
connection "mysql" "my" { url = "mysql://me@%[1]s/x" }
connection "sqlite" "lite" {
  file = "lite.db"
  init = "CREATE TABLE t (x)"
}
tool "t" {
  description = "Tests."
`, address)
	for block, mock := range map[string]string{
		`http "web" { get = "/x" }`:                            `mock "http" "web" { get = "/x" }`,
		`http { get = "http://` + address + `/x" }`:            `mock "http" { get = "http://*/x" }`,
		`sql "pg" { query = "SELECT 1 AS x" }`:                 `mock "sql" "pg" { statement = "*" }`,
		`sql "my" { query = "SELECT 1 AS x" }`:                 `mock "sql" "my" { statement = "*" }`,
		`sql "lite" { exec = "INSERT INTO t VALUES (1)" }`:     `mock "sql" "lite" { init = "" }`,
		`shell { command = ["touch", "` + dir + `/touched"] }`: `mock "shell" { command = ["touch", "*"] }`,
		`file {
			directory = "."
			write     = "written"
			content   = "x"
		}`: "",
	} {
		for _, mocks := range []string{"", mock} {
			m := test.NewMocks(test.Setup{Kinds: kinds, Mocks: parse(t, mocks), Dir: dir})
			b := adaptertest.Bind(t, adaptertest.Source{Set: all.Set(), Dir: dir, Mocks: m,
				Env: map[string]string{"WEB": "hush-hush-1"},
				HCL: connections + block + "\n}"})
			for _, name := range []string{"web", "pg", "my", "lite"} {
				if err := b.Handle(name).(adapters.Health).Ping(t.Context()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			_, err := b.Do(t.Context(), `{}`)
			if isMissing := err != nil && strings.Contains(err.Error(), "no mock"); mocks == "" && mock != "" && !isMissing {
				t.Errorf("%s: error %v", block, err)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	listener.Close()
	if <-accepted {
		t.Error("a connection was opened")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("files were made: %v", left)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}

func BenchmarkDatabaseInMemoryOf1000Rows(b *testing.B) {
	seed := "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) " +
		"INSERT INTO invoices SELECT i, i FROM n"
	for b.Loop() {
		m := test.NewMocks(test.Setup{Kinds: kinds, Dir: "/", Mocks: []*mock.Mock{
			{Kind: "sql", Connection: "ledger", Request: map[string]any{"init": seed}, Times: 1},
		}})
		bound := adaptertest.Bind(b, adaptertest.Source{Set: all.Set(), Dir: "/", Mocks: m, HCL: ledger})
		if _, err := bound.Do(b.Context(), `{}`); err != nil {
			b.Fatal(err)
		}
		if err := bound.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMockedRequest(b *testing.B) {
	for b.Loop() {
		m := test.NewMocks(test.Setup{Kinds: kinds, Dir: "/", Secrets: hush, Mocks: []*mock.Mock{{
			Kind: "http", Connection: "shop", Request: map[string]any{"get": "/orders/*"}, Times: 1,
			Replies: []map[string]any{{"json": map[string]any{"id": 7, "status": "paid"}}},
		}}})
		bound := adaptertest.Bind(b, adaptertest.Source{Set: all.Set(), Dir: "/", Mocks: m, HCL: readOrder,
			Env: map[string]string{"TOKEN": "hush-hush-1"}})
		if _, err := bound.Do(b.Context(), `{}`); err != nil {
			b.Fatal(err)
		}
		if err := bound.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
