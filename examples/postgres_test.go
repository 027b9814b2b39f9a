package examples_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

var helpdesks atomic.Int64 // that were made

// helpdesk is the postgres example with its tables in a schema of their own.
func helpdesk(t *testing.T) *folder {
	t.Helper()
	dsn := os.Getenv("HATCHEL_TEST_POSTGRES")
	if dsn == "" {
		t.Skip("HATCHEL_TEST_POSTGRES names no server")
	}
	f := example(t, "postgres")
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	schema := fmt.Sprintf("helpdesk_%d_%d", os.Getpid(), helpdesks.Add(1))
	admin := f.desk(dsn)
	mustExec(t, admin, "DROP SCHEMA IF EXISTS "+schema+" CASCADE")
	mustExec(t, admin, "CREATE SCHEMA "+schema)
	t.Cleanup(func() { mustExec(t, admin, "DROP SCHEMA "+schema+" CASCADE") })
	query := address.Query()
	query.Set("search_path", schema)
	address.RawQuery = query.Encode()
	f.env = []string{"HELPDESK_DSN=" + address.String()}
	mustExec(t, f.desk(address.String()), f.read("schema.sql"))
	return f
}

// desk connects a driver of our own.
func (f *folder) desk(dsn string) *pgx.Conn {
	f.t.Helper()
	db, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { db.Close(context.Background()) })
	return db
}

// own is the address of the schema that the server of the folder uses.
func (f *folder) own() *pgx.Conn {
	f.t.Helper()
	return f.desk(strings.TrimPrefix(f.env[0], "HELPDESK_DSN="))
}

func mustExec(t *testing.T, db *pgx.Conn, statements string) {
	t.Helper()
	if _, err := db.Exec(context.Background(), statements, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
}

func one(t *testing.T, db *pgx.Conn, query string) (answer string) {
	t.Helper()
	if err := db.QueryRow(context.Background(), query).Scan(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestStatementsOfTheHelpDeskAreKnownToItsDatabase(t *testing.T) {
	t.Parallel()
	f := helpdesk(t)
	if o := f.run("validate", ".", "--connect"); o.code != 0 || o.stdout != "this directory: 4 tools, no errors\n" {
		t.Errorf("%+v", o)
	}
	f.write("postgres.hcl", strings.Replace(f.read("postgres.hcl"), "ORDER BY opened DESC", "ORDER BY openend DESC", 1))
	if o := f.run("validate", ".", "--connect"); o.code != 1 || !strings.Contains(o.stdout, "openend") {
		t.Errorf("a column that does not exist: %+v", o)
	}
}

func TestTicketsAreOpenedFoundAndClosed(t *testing.T) {
	t.Parallel()
	f := helpdesk(t)
	s, db := f.serve(), f.own()
	type ticket struct {
		ID            int
		Title, Status string
		Tags          []string
		Opened        string
		Details       object
	}
	var found []ticket
	s.call("search_tickets", object{"words": "VPN"}).into(t, &found)
	if len(found) != 1 || found[0].Status != "open" || strings.Join(found[0].Tags, " ") != "network urgent" || found[0].Details == nil || !strings.Contains(found[0].Opened, "T") {
		t.Errorf("found is %+v", found)
	}
	s.call("search_tickets", object{"tags": []string{"urgent", "network"}, "status": []string{"closed", "open"}, "limit": 1}).into(t, &found)
	if len(found) != 1 || found[0].ID != 2 {
		t.Errorf("found is %+v", found)
	}
	expectText(t, s.call("open_ticket", object{"title": "Chair squeaks", "tags": []string{"office"}, "details": object{"room": 12, "by": "Ö'Neil"}}), false, "Ticket 3 opened.")
	if got := one(t, db, "SELECT title || '|' || tags::text || '|' || (details->>'by') || '|' || (details->'room') FROM tickets WHERE id = 3"); got != "Chair squeaks|{office}|Ö'Neil|12" {
		t.Errorf("the row holds %q", got)
	}
	expectText(t, s.call("close_tickets", object{"ids": []int{1, 3}, "remark": "done"}), false, "Closed 2 tickets.")
	if got := one(t, db, "SELECT string_agg(ticket::text || text, ',' ORDER BY ticket) FROM remarks"); got != "1done,3done" {
		t.Errorf("remarks are %q", got)
	}
}

func TestTicketsAreClosedAllOrNone(t *testing.T) {
	t.Parallel()
	f := helpdesk(t)
	s, db := f.serve(), f.own()
	expectText(t, s.call("close_tickets", object{"ids": []int{1, 99}, "remark": "done"}), true, "some of these tickets do not exist or are closed already")
	if got := one(t, db, "SELECT count(*) FILTER (WHERE status = 'open') || ' open, ' || (SELECT count(*) FROM remarks) || ' remarks' FROM tickets"); got != "2 open, 0 remarks" {
		t.Errorf("what was rolled back has left %s", got)
	}
}

func TestCallersStatementsReadOnly(t *testing.T) {
	t.Parallel()
	f := helpdesk(t)
	s, db := f.serve(), f.own()
	var rows []object
	s.call("query", object{"sql": "SELECT id, title FROM tickets WHERE 'urgent' = ANY (tags)"}).into(t, &rows)
	if len(rows) != 1 || rows[0]["title"] != "VPN drops every hour" {
		t.Errorf("rows are %v", rows)
	}
	for _, statement := range []string{
		"DELETE FROM tickets",
		"WITH gone AS (DELETE FROM tickets RETURNING id) SELECT * FROM gone",
		"SELECT 1; DELETE FROM tickets",
		"COMMIT; DELETE FROM tickets",
		"SET TRANSACTION READ WRITE",
		"SET default_transaction_read_only = off",
		"BEGIN; DELETE FROM tickets; COMMIT",
		"CREATE TABLE x (y int)",
		"COPY tickets TO PROGRAM 'touch /tmp/hatchel-was-here'",
		"SELECT nextval('tickets_id_seq')",
		"DO $$ BEGIN DELETE FROM tickets; END $$",
		"EXPLAIN ANALYZE DELETE FROM tickets",
	} {
		if r := s.call("query", object{"sql": statement}); !r.Failed || r.text() == "" || r.refused != "" {
			t.Errorf("%s: %s", statement, r.text())
		}
	}
	if r := s.call("query", object{"sql": "SELECT nothing FROM tickets"}); !r.Failed || !strings.Contains(r.text(), "nothing") {
		t.Errorf("a mistake of the caller's reads %q", r.text())
	}
	if got := one(t, db, "SELECT count(*)::text FROM tickets"); got != "2" {
		t.Errorf("%s tickets are left", got)
	}
}
