package audit

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"hatchel/internal/ctxtime"
	"hatchel/runtime/durable/postgres"
	"hatchel/runtime/durable/postgres/postgrestest"
)

func changed(t testing.TB, address string, change func(*url.URL, url.Values)) string {
	t.Helper()
	u, err := url.Parse(address)
	check(t, err)
	q := u.Query()
	change(u, q)
	u.RawQuery = q.Encode()
	return u.String()
}

func execute(t testing.TB, db *pgx.Conn, statement string) {
	t.Helper()
	_, err := db.Exec(context.WithoutCancel(t.Context()), statement)
	check(t, err)
}

func openTable(t testing.TB, address string) *Table {
	t.Helper()
	l, err := OpenTable(t.Context(), address)
	check(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

func verified(t testing.TB, address string) *Verdict {
	t.Helper()
	v, err := Verify(t.Context(), Database(address))
	check(t, err)
	return v
}

func TestProcessesWriteOneChain(t *testing.T) {
	address, db := postgrestest.Schema(t)
	const processes, callers, each = 3, 8, 20
	tables := make([]*Table, processes)
	var opening, writing sync.WaitGroup
	for i := range tables { // of a table that none of them has found
		opening.Go(func() { tables[i] = openTable(t, address) })
	}
	opening.Wait()
	for i, l := range tables {
		for j := range callers {
			writing.Go(func() {
				for n := range each {
					if err := l.Append(call(fmt.Sprintf("%d.%d.%d", i, j, n)), true); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	writing.Wait()
	log := &logged{
		read: func(ctx context.Context, each func(*Line) bool) error { return Database(address).Read(ctx, each) },
	}
	once(t, log, processes*callers*each)
	if v := verified(t, address); v.Broken != nil || v.Records != processes*callers*each+processes || v.First != 1 || !strings.Contains(v.String(), "in the table hatchel_audit, from 1 to 483") {
		t.Error(v)
	}
	var transactions int
	check(t, db.QueryRow(t.Context(), "SELECT count(DISTINCT xmin::text) FROM hatchel_audit").Scan(&transactions))
	if transactions > processes*callers*each/2 {
		t.Errorf("%d records took %d transactions", processes*callers*each, transactions)
	}
}

func TestTableIsAppendOnly(t *testing.T) {
	address, db := postgrestest.Schema(t)
	l := openTable(t, address)
	for range 5 {
		check(t, l.Append(call("x"), true))
	}
	for _, statement := range []string{
		"UPDATE hatchel_audit SET line = '' WHERE seq = 2", "DELETE FROM hatchel_audit", "TRUNCATE hatchel_audit", "DELETE FROM hatchel_audit WHERE false",
		"INSERT INTO hatchel_audit SELECT * FROM hatchel_audit WHERE seq = 2 ON CONFLICT (seq) DO UPDATE SET line = ''",
	} {
		if _, err := db.Exec(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "hatchel_audit is append-only") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if v := verified(t, address); v.Broken != nil || v.Records != 6 {
		t.Error(v)
	}
}

// The owner of the table can disable the trigger.
func TestVerifyTableFindsEveryChange(t *testing.T) {
	for claim, c := range map[string]struct {
		change string
		row    int // at which the chain is broken; 0 when only the first rows are missing
	}{
		"a changed line":     {"UPDATE hatchel_audit SET line = replace(line, '\"ok\"', '\"no\"') WHERE seq = 3", 3},
		"a changed time":     {"UPDATE hatchel_audit SET time = time - interval '1 day' WHERE seq = 3", 3},
		"a changed hash":     {"UPDATE hatchel_audit SET hash = reverse(hash) WHERE seq = 3", 3},
		"a removed row":      {"DELETE FROM hatchel_audit WHERE seq = 3", 4},
		"removed first rows": {"DELETE FROM hatchel_audit WHERE seq < 3", 0},
		"swapped rows":       {"UPDATE hatchel_audit SET seq = CASE seq WHEN 3 THEN -4 WHEN 4 THEN -3 END WHERE seq IN (3, 4); UPDATE hatchel_audit SET seq = -seq WHERE seq < 0", 3},
		"an inserted row":    {"INSERT INTO hatchel_audit SELECT 100, time, hash, line FROM hatchel_audit WHERE seq = 3", 100},
	} {
		t.Run(claim, func(t *testing.T) {
			address, db := tableWithoutTrigger(t)
			execute(t, db, c.change)
			v := verified(t, address)
			switch {
			case c.row == 0 && (v.Broken != nil || v.First != 3 || !strings.Contains(v.String(), "older records were removed")):
				t.Error(v)
			case c.row > 0 && (v.Broken == nil || v.Broken.Line != c.row || v.Broken.File != tableName):
				t.Error(v)
			}
		})
	}
}

// tableWithoutTrigger returns a log of 5 calls whose trigger is disabled.
func tableWithoutTrigger(t *testing.T) (address string, db *pgx.Conn) {
	address, db = postgrestest.Schema(t)
	l := openTable(t, address)
	for range 5 {
		check(t, l.Append(call("x"), true))
	}
	check(t, l.Close())
	execute(t, db, "ALTER TABLE hatchel_audit DISABLE TRIGGER hatchel_audit_only_added")
	return address, db
}

func TestTableWithoutTriggerIsRejected(t *testing.T) {
	address, _ := tableWithoutTrigger(t)
	if _, err := OpenTable(t.Context(), address); !errors.Is(err, errUnguarded) {
		t.Errorf("OpenTable: %v", err)
	}
	if err := CheckTable(t.Context(), address); !errors.Is(err, errUnguarded) {
		t.Errorf("CheckTable: %v", err)
	}
}

func TestOpenTableRejects(t *testing.T) {
	for name, c := range map[string]struct{ statement, want string }{
		"the table of another program": {"CREATE TABLE hatchel_audit (id text)", "belongs to another program"},
		"a changed end":                {tableSchema + "INSERT INTO hatchel_audit VALUES (1, now(), '', '{}')", "the last record of its table hatchel_audit was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			address, db := postgrestest.Schema(t)
			execute(t, db, c.statement)
			if _, err := OpenTable(t.Context(), address); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestErrorsHoldNothingOfTheAddress(t *testing.T) {
	address, _ := postgrestest.Schema(t)
	secret := changed(t, address, func(u *url.URL, _ url.Values) { u.User, u.Path = url.UserPassword("ada", "hunter2"), "/hunter2" })
	for _, a := range []string{secret, "postgres://ada:hunter2@:::/x"} {
		if _, err := OpenTable(t.Context(), a); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v", err)
		}
		if err := Database(a).Read(t.Context(), func(*Line) bool { return true }); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v", err)
		}
	}
}

func TestInsertPrivilegeIsEnough(t *testing.T) {
	super := os.Getenv("HATCHEL_TEST_POSTGRES_SUPERUSER")
	if super == "" {
		t.Skip("HATCHEL_TEST_POSTGRES_SUPERUSER is not set")
	}
	address, db := postgrestest.Schema(t)
	check(t, openTable(t, address).Close())
	root, err := pgx.Connect(t.Context(), super)
	check(t, err)
	defer root.Close(context.WithoutCancel(t.Context()))
	var schema string
	check(t, db.QueryRow(t.Context(), "SELECT current_schema()").Scan(&schema))
	role := "only_" + schema
	execute(t, root, "CREATE ROLE "+role+" LOGIN; GRANT USAGE ON SCHEMA "+schema+" TO "+role+"; GRANT SELECT, INSERT ON "+schema+".hatchel_audit TO "+role)
	defer execute(t, root, "DROP OWNED BY "+role+"; DROP ROLE "+role)
	limited := changed(t, address, func(u *url.URL, _ url.Values) { u.User = url.User(role) })
	l := openTable(t, limited)
	check(t, l.Append(call("x"), true))
	check(t, l.Close())
	if v := verified(t, limited); v.Broken != nil || v.Records != 5 {
		t.Error(v)
	}
}

// A database that was put back to an earlier time has lost records: nobody goes on as if it had not.
func TestRemovedRecordsAreNoticed(t *testing.T) {
	address, db := postgrestest.Schema(t)
	l := openTable(t, address)
	for range 3 {
		check(t, l.Append(call("x"), true))
	}
	execute(t, db, "ALTER TABLE hatchel_audit DISABLE TRIGGER ALL; DELETE FROM hatchel_audit WHERE seq > 2; ALTER TABLE hatchel_audit ENABLE ALWAYS TRIGGER hatchel_audit_only_added")
	for range 2 {
		if err := l.Append(call("y"), true); err == nil || !strings.Contains(err.Error(), "removed from its table hatchel_audit: the last one is 2, and 4 was written") {
			t.Errorf("got %v", err)
		}
	}
}

func BenchmarkAppendToATable(b *testing.B) {
	address, _ := postgrestest.Schema(b)
	l := openTable(b, address)
	r := call("echo")
	r.Arguments = []byte(`{"name":"Ada","number":7}`)
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprint(callers, " at once"), func(b *testing.B) {
			began := time.Now()
			b.SetParallelism(callers)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if err := l.Append(r, true); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "records/s")
		})
	}
}

// Who runs the database may have parted the table, and may take old parts away.
func TestPartitionedTable(t *testing.T) {
	address, db := postgrestest.Schema(t)
	execute(t, db, strings.Replace(tableSchema, "line text NOT NULL);", "line text NOT NULL) PARTITION BY RANGE (seq); CREATE TABLE old PARTITION OF hatchel_audit FOR VALUES FROM (1) TO (5); CREATE TABLE new PARTITION OF hatchel_audit FOR VALUES FROM (5) TO (MAXVALUE);", 1))
	l := openTable(t, address)
	for range 9 {
		check(t, l.Append(call("x"), true))
	}
	if _, err := db.Exec(t.Context(), "DELETE FROM hatchel_audit"); err == nil {
		t.Error("records were removed")
	}
	if v := verified(t, address); v.Broken != nil || v.Records != 10 || v.First != 1 {
		t.Error(v)
	}
	execute(t, db, "ALTER TABLE hatchel_audit DETACH PARTITION old")
	check(t, l.Append(call("x"), true))
	if v := verified(t, address); v.Broken != nil || v.Records != 7 || v.First != 5 {
		t.Error(v)
	}
}

func TestLockTimeoutWritesNothing(t *testing.T) {
	address, db := postgrestest.Schema(t)
	l := openTable(t, changed(t, address, func(_ *url.URL, q url.Values) { q.Set("lock_timeout", "100ms") }))
	execute(t, db, fmt.Sprintf("BEGIN; SELECT pg_advisory_xact_lock(%d, 'hatchel_audit'::regclass::oid::integer)", writeLock))
	if err := l.Append(call("x"), true); !errors.Is(err, postgres.ErrUnavailable) || !strings.Contains(err.Error(), "in time") {
		t.Errorf("got %v", err)
	}
	execute(t, db, "ROLLBACK")
	retryNow(l)
	check(t, l.Append(call("y"), true))
	if v := verified(t, address); v.Broken != nil || v.Records != 2 {
		t.Error(v)
	}
}

// retryNow makes the next record try to write, instead of failing fast after a slow transaction.
func retryNow(l *Table) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.slowUntil = time.Now()
}

// A change of the table is noticed before the next record is written.
func TestChangedTableIsRejected(t *testing.T) {
	valid := func(sequence int64) string { // a record whose hash is right, and that nobody has written
		n := &rowBatch{head: chainHead{sequence: sequence - 1, hash: genesis}}
		n.add(call("forged").append(nil))
		return fmt.Sprintf("INSERT INTO hatchel_audit VALUES (%d, '%s', '%s', '%s')", n.sequences[0], n.times[0], n.hashes[0], n.lines[0])
	}
	const owned = "ALTER TABLE hatchel_audit DISABLE TRIGGER hatchel_audit_only_added; %s; ALTER TABLE hatchel_audit ENABLE ALWAYS TRIGGER hatchel_audit_only_added"
	for claim, c := range map[string]struct{ statement, want, back string }{
		"the trigger is removed":  {"DROP TRIGGER hatchel_audit_only_added ON hatchel_audit", errUnguarded.Error(), triggerSchema},
		"the trigger is disabled": {"ALTER TABLE hatchel_audit DISABLE TRIGGER hatchel_audit_only_added", errUnguarded.Error(), "ALTER TABLE hatchel_audit ENABLE ALWAYS TRIGGER hatchel_audit_only_added"},
		"the trigger is replaced": {
			"DROP TRIGGER hatchel_audit_only_added ON hatchel_audit; CREATE TRIGGER hatchel_audit_only_added BEFORE TRUNCATE ON hatchel_audit FOR EACH STATEMENT EXECUTE FUNCTION hatchel_audit_refuse()",
			errUnguarded.Error(), "DROP TRIGGER hatchel_audit_only_added ON hatchel_audit; " + triggerSchema,
		},
		"a rule keeps records out": {"CREATE RULE nothing AS ON INSERT TO hatchel_audit DO INSTEAD NOTHING", errNotAccepted.Error(), "DROP RULE nothing ON hatchel_audit"},
		"a trigger keeps records out": {
			"CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$; CREATE TRIGGER nothing BEFORE INSERT ON hatchel_audit FOR EACH ROW EXECUTE FUNCTION nothing()",
			errNotAccepted.Error(), "DROP TRIGGER nothing ON hatchel_audit",
		},
		"an inserted row is not a record":              {"INSERT INTO hatchel_audit VALUES (1000, now(), repeat('0', 64), '{}')", errChangedEnd.Error(), ""},
		"the sequence is exhausted":                    {valid(1<<63 - 1), errChangedEnd.Error(), ""},
		"the last record is forged":                    {fmt.Sprintf(owned, "DELETE FROM hatchel_audit WHERE seq = 4; "+valid(4)), errOther.Error(), ""},
		"another table precedes it in the search_path": {"CREATE SCHEMA %[1]s; CREATE TABLE %[1]s.hatchel_audit (LIKE hatchel_audit); " + strings.ReplaceAll(triggerSchema, " ON ", " ON %[1]s.") + strings.ReplaceAll(valid(1000), "INTO ", "INTO %[1]s."), errOther.Error(), "DROP SCHEMA %[1]s CASCADE"},
	} {
		t.Run(claim, func(t *testing.T) {
			address, db := postgrestest.Schema(t)
			var schema string
			check(t, db.QueryRow(t.Context(), "SELECT current_schema()").Scan(&schema))
			before := "before_" + schema
			address = changed(t, address, func(_ *url.URL, q url.Values) { q.Set("search_path", before+","+schema) })
			l := openTable(t, address)
			for range 3 {
				check(t, l.Append(call("x"), true))
			}
			execute(t, db, strings.ReplaceAll(c.statement, "%[1]s", before))
			if c.want != errNotAccepted.Error() {
				l.pool.Reset()
			}
			for range 2 {
				if err := l.Append(call("y"), true); err == nil || err.Error() != c.want {
					t.Errorf("got %v", err)
				}
				if err := l.Check(t.Context()); err == nil {
					t.Error("Check succeeds")
				}
			}
			if c.back == "" {
				return
			}
			execute(t, db, strings.ReplaceAll(c.back, "%[1]s", before))
			retryNow(l)
			check(t, l.Append(call("z"), true))
			if v := verified(t, address); v.Broken != nil || v.Records != 5 {
				t.Error(v)
			}
		})
	}
}

// Another session holds the lock of the writing process.
func TestSlowTableFailsFast(t *testing.T) {
	address, db := postgrestest.Schema(t)
	l := openTable(t, changed(t, address, func(_ *url.URL, q url.Values) { q.Set("lock_timeout", "3s") }))
	execute(t, db, fmt.Sprintf("BEGIN; SELECT pg_advisory_xact_lock(%d, 'hatchel_audit'::regclass::oid::integer)", writeLock))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := l.Append(call("x"), true); !errors.Is(err, postgres.ErrUnavailable) {
				t.Errorf("got %v", err)
			}
		})
	}
	for l.LastError() == nil && !l.isStuck(slowWrite) {
		check(t, ctxtime.Sleep(t.Context(), 100*time.Millisecond))
	}
	if err := l.Check(t.Context()); err == nil {
		t.Error("while they wait all is well")
	}
	all.Wait()
	l.writing.Lock()
	if l.slowError == nil {
		t.Error("it took long to find out, and that is forgotten")
	}
	l.slowUntil = time.Now().Add(time.Hour)
	l.writing.Unlock()
	bounded, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := l.Check(bounded); err == nil {
		t.Error("afterwards all is well")
	}
	execute(t, db, "ROLLBACK")
	if err := l.Append(call("at once"), true); !errors.Is(err, postgres.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	retryNow(l)
	for deadline := time.Now().Add(time.Minute); l.Check(t.Context()) != nil; {
		check(t, ctxtime.Sleep(t.Context(), 100*time.Millisecond))
		if time.Now().After(deadline) {
			t.Fatal("it is not written to again")
		}
	}
	check(t, l.Append(call("y"), true))
	if v := verified(t, address); v.Broken != nil {
		t.Error(v)
	}
}
