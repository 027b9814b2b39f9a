// Package postgrestest gives a test a schema of its own in a real database.
package postgrestest

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Schema creates an empty schema in the database of HATCHEL_TEST_POSTGRES, until the test ends. It
// returns an address whose search_path and application_name are the schema, and a connection to it.
// Without the variable it skips the test.
func Schema(t testing.TB) (address string, db *pgx.Conn) {
	t.Helper()
	server := os.Getenv("HATCHEL_TEST_POSTGRES")
	if server == "" {
		t.Skip("HATCHEL_TEST_POSTGRES is not set")
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	schema, q := "test_"+strings.ToLower(rand.Text()), u.Query()
	q.Set("search_path", schema)
	q.Set("application_name", schema)
	u.RawQuery = q.Encode()
	ctx := context.WithoutCancel(t.Context())
	if db, err = pgx.Connect(ctx, u.String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		db.Exec(ctx, "SET client_min_messages = warning; DROP SCHEMA "+schema+" CASCADE") // best effort
		db.Close(ctx)
	})
	if _, err := db.Exec(ctx, "CREATE SCHEMA "+schema); err != nil {
		t.Fatal(err)
	}
	return u.String(), db
}
