package sqltext

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"os"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	_ "github.com/mattn/go-sqlite3"
)

// A server says how many parameters it finds in a statement, or refuses the statement.
type server func(text string) (params int, err error)

var testTables = []string{
	"CREATE TABLE t (a text, b integer, c text, d date)",
	"CREATE TABLE u (a text, b integer)",
}

// servers are the real ones: SQLite always, the others where the environment names them.
func servers(t *testing.T) map[Dialect]server {
	all := map[Dialect]server{SQLite: viaSQL(t, "sqlite3", ":memory:", testTables)}
	if dsn := os.Getenv("HATCHEL_TEST_MYSQL"); dsn != "" {
		all[MySQL] = viaSQL(t, "mysql", dsn, temporary(testTables))
	}
	if dsn := os.Getenv("HATCHEL_TEST_POSTGRES"); dsn != "" {
		all[PostgreSQL] = viaPgx(t, dsn)
	}
	return all
}

func temporary(list []string) []string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = "CREATE TEMPORARY" + t[len("CREATE"):]
	}
	return out
}

func viaSQL(t *testing.T, name, dsn string, setup []string) server {
	db, err := sql.Open(name, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range setup {
		if _, err := conn.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	return func(text string) (n int, err error) {
		err = conn.Raw(func(raw any) error {
			stmt, err := raw.(driver.Conn).Prepare(text)
			if err == nil {
				n = stmt.NumInput()
				err = stmt.Close()
			}
			return err
		})
		return n, err
	}
}

func viaPgx(t *testing.T, dsn string) server {
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	for _, s := range temporary(testTables) {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	return func(text string) (int, error) {
		d, err := conn.PgConn().Prepare(t.Context(), "", text, nil)
		if err != nil {
			return 0, err
		}
		return len(d.ParamOIDs), nil
	}
}
