package state_test

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"hatchel/runtime/postgres/postgrestest"
	"hatchel/runtime/state"
)

// formerTables are those of the version before.
const formerTables = `
	CREATE TABLE hatchel_state (version integer NOT NULL);
	CREATE TABLE hatchel_secrets (name text PRIMARY KEY, value bytea NOT NULL);
	CREATE TABLE hatchel_claims (name text PRIMARY KEY, expires bigint NOT NULL);
	CREATE TABLE hatchel_kept (name text PRIMARY KEY, value bytea NOT NULL, expires bigint NOT NULL);
	CREATE TABLE hatchel_tasks (id text PRIMARY KEY, version integer NOT NULL, owner text NOT NULL, expires bigint NOT NULL, body bytea NOT NULL);
	CREATE TABLE hatchel_owners (name text PRIMARY KEY, expires bigint NOT NULL);
	CREATE TABLE hatchel_deeds (name text PRIMARY KEY, owner text NOT NULL, expires bigint NOT NULL, body bytea NOT NULL);
	CREATE TABLE hatchel_records (kind text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, slot text COLLATE "C" NOT NULL, grp text COLLATE "C" NOT NULL,
		version integer NOT NULL, due bigint NOT NULL, expires bigint NOT NULL, body bytea NOT NULL, PRIMARY KEY (kind, name));
	CREATE UNIQUE INDEX hatchel_records_held ON hatchel_records (kind, slot) WHERE slot <> '';
	CREATE INDEX hatchel_records_due ON hatchel_records (kind, due, name);
	CREATE INDEX hatchel_records_grouped ON hatchel_records (kind, grp, due, name);
	CREATE INDEX hatchel_records_expire ON hatchel_records (expires);
	CREATE TABLE hatchel_paces (name text PRIMARY KEY, next bigint NOT NULL, early bigint NOT NULL);
	INSERT INTO hatchel_state VALUES (2);
	INSERT INTO hatchel_records VALUES ('k', 'one', 'slot', '', 7, 5, 9999999999999, 'body');`

func TestTablesOfTheVersionBeforeAreGoneOnWith(t *testing.T) {
	address, db := postgrestest.Schema(t)
	execute(t, db, formerTables+former("hatchel_", "decode('", "', 'hex')"))
	check(t, state.CheckPostgres(t.Context(), address))
	openedAtOnce(t, func() (state.Store, error) { return state.OpenPostgres(t.Context(), address) })
	s := openDatabase(t, address)
	defer s.Close()
	goneOnWith(t, s)
	left(t, db, map[string]int{"state": 1, "records": 8})
}

func TestAProcessWhoseTablesWereMadeAnewSaysSo(t *testing.T) {
	address, db := postgrestest.Schema(t)
	s := openDatabase(t, address)
	defer s.Close()
	check(t, s.Ping(t.Context()))
	execute(t, db, "UPDATE hatchel_state SET version = 99; ALTER TABLE hatchel_records RENAME TO hatchel_others")
	_, err := s.Add(t.Context(), recordOf("x", time.Now()))
	for did, err := range map[string]error{"asked": s.Ping(t.Context()), "told": err} {
		if err == nil || !strings.Contains(err.Error(), "a later version of this program has written it, in version 99") {
			t.Errorf("when it is %s: %v", did, err)
		}
	}
	execute(t, db, "DROP TABLE hatchel_state")
	if err := s.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "not there any more") {
		t.Errorf("without any: %v", err)
	}
}

// A process of the version before may remember something in the moment in which another one makes the tables anew, and that one may be killed while it does. It takes as long as it takes.
func TestWhatIsRememberedWhileTablesAreMadeAnewIsThere(t *testing.T) {
	address, db := postgrestest.Schema(t)
	execute(t, db, formerTables+former("hatchel_", "decode('", "', 'hex')"))
	lateName := strings.Repeat("2a", 32)
	lateDeed := `{"id":"` + lateName + `","state":"begun"}`
	before, err := pgx.Connect(t.Context(), address)
	check(t, err)
	defer before.Close(context.WithoutCancel(t.Context()))
	execute(t, before, "BEGIN; INSERT INTO hatchel_deeds VALUES ('late', 'me', 9999999999999, decode('"+hex.EncodeToString([]byte(lateDeed))+"', 'hex'))")
	opened := make(chan error, 1)
	open := func() {
		s, err := state.OpenPostgres(t.Context(), address+"&statement_timeout=3s")
		if err == nil {
			s.Close()
		}
		opened <- err
	}
	go open()
	const stuck = " FROM pg_stat_activity WHERE application_name = current_schema() AND wait_event_type = 'Lock'"
	waits := func(interval string) bool {
		var n int
		check(t, db.QueryRow(t.Context(), "SELECT count(*)"+stuck+" AND query_start < clock_timestamp() - interval '"+interval+"'").Scan(&n))
		return n == 1
	}
	eventually(t, func() bool { return waits("0s") })
	execute(t, db, "SELECT pg_terminate_backend(pid)"+stuck)
	if err := <-opened; err == nil {
		t.Fatal("it was opened")
	}
	left(t, db, map[string]int{"deeds": 3, "records": 1})
	go open()
	eventually(t, func() bool { return waits("4s") })
	execute(t, before, "COMMIT")
	check(t, <-opened)
	s := openDatabase(t, address)
	defer s.Close()
	goneOnWith(t, s)
	if late := must[*state.Record](t)(s.Record(t.Context(), "deed", lateName)); late == nil || late.Slot != "late" {
		t.Errorf("of what was begun late there is %+v", late)
	}
}
