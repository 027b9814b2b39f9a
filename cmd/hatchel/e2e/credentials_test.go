package e2e_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// identityEndpoint is the endpoint of managed identities on App Service. Its token is the password of a database user.
type identityEndpoint struct {
	mu    sync.Mutex
	token string // guarded by mu
	asked int    // guarded by mu
	fails bool   // guarded by mu
}

func (e *identityEndpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked++
	switch {
	case r.Header.Get("X-Identity-Header") != "header-of-the-app" || r.FormValue("resource") != "https://ossrdbms-aad.database.windows.net":
		http.Error(w, "another question", http.StatusForbidden)
	case e.fails:
		http.Error(w, "text-of-the-endpoint", http.StatusInternalServerError)
	default:
		fmt.Fprintf(w, `{"access_token": %q, "token_type": "Bearer", "expires_on": "4102444800"}`, e.token)
	}
}

// A server signs in to PostgreSQL with the token of its machine. Open connections stay when the password changes, and
// new ones get the new token. No token is in an answer, /readyz, the log or the audit log, which says whose it was.
func TestAServerSignsInToItsDatabaseWithTheTokenOfItsMachine(t *testing.T) {
	t.Parallel()
	super, authority := os.Getenv("HATCHEL_TEST_POSTGRES_SUPERUSER"), os.Getenv("HATCHEL_TEST_AUTHORITY")
	if super == "" || authority == "" {
		t.Skip("HATCHEL_TEST_POSTGRES_SUPERUSER or HATCHEL_TEST_AUTHORITY is not set")
	}
	ctx := context.WithoutCancel(t.Context())
	admin, err := pgx.Connect(ctx, super)
	if err != nil {
		t.Fatal(err)
	}
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := admin.Exec(ctx, statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	role, endpoint, tokens := "token_"+strings.ToLower(rand.Text()), new(identityEndpoint), []string{}
	exec("CREATE ROLE " + role + " LOGIN IN ROLE passwords")
	t.Cleanup(func() {
		exec("DROP ROLE " + role)
		admin.Close(ctx)
	})
	rotate := func() {
		token := "token-" + rand.Text()
		tokens = append(tokens, token)
		exec("ALTER ROLE " + role + " PASSWORD '" + token + "'")
		endpoint.mu.Lock()
		defer endpoint.mu.Unlock()
		endpoint.token = token
	}
	rotate()
	service := httptest.NewServer(endpoint)
	defer service.Close()
	address, err := url.Parse(super)
	if err != nil {
		t.Fatal(err)
	}
	address.User, address.Host, address.RawQuery = url.User(role), "localhost:"+address.Port(), "sslmode=verify-full"
	dir := t.TempDir()
	config := fmt.Sprintf(`
audit { file = "audit.jsonl" }
connection "postgres" "ledger" {
  url     = %q
  ca_file = %q
  auth {
    entra {}
  }
}
tool "session" {
  description = "What names the session."
  sql "ledger" { query = "SELECT 'session-' || pg_backend_pid() AS session" }
}
`, address, authority)
	if err := os.WriteFile(filepath.Join(dir, "tools.hcl"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	r := startReplicaIn(t, dir, []string{"IDENTITY_ENDPOINT=" + service.URL + "/msi/token", "IDENTITY_HEADER=header-of-the-app"})
	var seen strings.Builder
	call := func() string {
		t.Helper()
		answer, err := postCall(http.DefaultClient, r.url+"/mcp", callBody("session", "{}"), "session")
		if err != nil {
			t.Fatal(err)
		}
		status, body := readyz(t, r.url)
		fmt.Fprintln(&seen, answer, status, body)
		return answer
	}
	first := call()
	checkContains(t, first, "session-")
	rotate()
	if again := call(); again != first {
		t.Errorf("the open connection did not stay: %s", again)
	}
	terminate := func() { exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", role) }
	terminate()
	if next := call(); next == first || !strings.Contains(next, "session-") {
		t.Errorf("the next connection: %s", next)
	}
	endpoint.mu.Lock()
	if endpoint.fails = true; endpoint.asked != 2 {
		t.Errorf("the endpoint was asked %d times", endpoint.asked)
	}
	endpoint.mu.Unlock()
	rotate() // and the token that the server has is not the password
	terminate()
	failed := call()
	checkContains(t, failed, `the database \"ledger\" is unavailable: signing in failed: `, "500 Internal Server Error")
	r.kill()
	records, err := os.ReadFile(filepath.Join(dir, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	checkContains(t, string(records), `"as":[{"connection":"postgres.ledger","credential":"managed identity (App Service)"}]`)
	for _, token := range append(tokens, "text-of-the-endpoint", "header-of-the-app") {
		if strings.Contains(seen.String()+r.log.String()+string(records), token) {
			t.Errorf("%q is in an answer or a log", token)
		}
	}
}
