package sql

import (
	"errors"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"hatchel/adapters"
	"hatchel/hcl/template/sqltext"
)

// Under a mask, a failure has no words of the database that may be values of rows, in its message and in its cause.
func TestFailuresAreToldWithoutTheWordsOfTheDatabase(t *testing.T) {
	const value = "ada@example.com"
	state := func(text string) (s [5]byte) { copy(s[:], text); return s }
	for _, x := range []struct {
		err            error
		dialect        sqltext.Dialect
		message, cause string // as they are under a mask; empty if they stay
	}{
		{&pgconn.PgError{Code: "22P02", Message: `invalid input syntax for type integer: "` + value + `"`}, sqltext.PostgreSQL,
			"a value does not have the type that the database requires (SQLSTATE 22P02)", "SQLSTATE 22P02"},
		{&pgconn.PgError{Code: "23505", Message: "duplicate key", Detail: "Key (email)=(" + value + ") already exists.",
			ConstraintName: "people_email", TableName: "people"}, sqltext.PostgreSQL,
			"a row with the same email already exists (constraint people_email, table people)", "SQLSTATE 23505"},
		{&pgconn.PgError{Code: "2201B", Message: "invalid regular expression: " + value}, sqltext.PostgreSQL, msgToolMistake, "SQLSTATE 2201B"},
		{&pgconn.PgError{Code: "P0001", Message: value + " is blocked", Routine: raiseRoutine}, sqltext.PostgreSQL,
			"the database rejected it (SQLSTATE P0001)", "SQLSTATE P0001"},
		{&pgconn.PgError{Code: "42P01", Message: value + " is blocked", Routine: raiseRoutine}, sqltext.PostgreSQL,
			"the database rejected it (SQLSTATE 42P01)", "SQLSTATE 42P01"},
		{&pgconn.PgError{Code: "XX000", Message: "cache lookup failed for " + value}, sqltext.PostgreSQL, msgRejected, "SQLSTATE XX000"},
		{&pgconn.PgError{Code: "42703", Message: `column "idd" does not exist`}, sqltext.PostgreSQL, "", ""},
		{&pgconn.PgError{Code: "40P01", Message: "deadlock detected"}, sqltext.PostgreSQL, "", ""},
		{&mysql.MySQLError{Number: 1062, SQLState: state("23000"), Message: "Duplicate entry '" + value + "' for key 'email'"}, sqltext.MySQL,
			"a row with the same email already exists", "error 1062, SQLSTATE 23000"},
		{&mysql.MySQLError{Number: 1292, SQLState: state("22007"), Message: "Truncated incorrect INTEGER value: '" + value + "'"}, sqltext.MySQL,
			mysqlWrongType, "error 1292, SQLSTATE 22007"},
		{&mysql.MySQLError{Number: 1690, SQLState: state("22003"), Message: "BIGINT value is out of range in '~" + value + "'"}, sqltext.MySQL,
			msgNumberRange, "error 1690, SQLSTATE 22003"},
		{&mysql.MySQLError{Number: 1105, SQLState: state("HY000"), Message: "XPATH syntax error: '~" + value + "'"}, sqltext.MySQL,
			msgRejected, "error 1105, SQLSTATE HY000"},
		{&mysql.MySQLError{Number: 1644, SQLState: state("45000"), Message: value + " is blocked"}, sqltext.MySQL,
			"the database rejected it (error 1644, SQLSTATE 45000)", "error 1644, SQLSTATE 45000"},
		{&mysql.MySQLError{Number: 1205, SQLState: state("HY000"), Message: "Lock wait timeout exceeded"}, sqltext.MySQL, "", ""},
		{&mockedSQLiteError{result: sqliteConstraintTrigger, text: value + " is blocked"}, sqltext.SQLite,
			"the database rejected the change (result 1811 of SQLite)", "result 1811 of SQLite"},
		{&mockedSQLiteError{result: sqliteError, text: "JSON path error near '" + value + "'"}, sqltext.SQLite, msgToolMistake, "result 1 of SQLite"},
		{&mockedSQLiteError{result: sqliteError, text: "no such column: idd"}, sqltext.SQLite, "", ""},
		{&mockedSQLiteError{result: sqliteBusy, text: "database is locked"}, sqltext.SQLite, "", ""},
	} {
		plain := toFault(x.err, x.dialect, false).Unquoted
		if plain == nil {
			plain = new(adapters.Unquoted)
		}
		if plain.Message != x.message || plain.Cause != x.cause {
			t.Errorf("%v: %+v", x.err, plain)
		}
	}
	if f := toFault(errors.New("the network is down"), sqltext.PostgreSQL, false); f.Unquoted != nil {
		t.Errorf("a failure of the network: %+v", f.Unquoted)
	}
}
