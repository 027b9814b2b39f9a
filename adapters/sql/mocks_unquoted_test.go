package sql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"hatchel/hcl/mock"
	"hatchel/hcl/template/sqltext"
)

// A rejection on a tape under a mask has no values, and is replayed with the message of the original for callers to whom
// the mask applies.
func TestTheRejectionOfATapeQuotesNothing(t *testing.T) {
	state := func(s string) (out [5]byte) { copy(out[:], s); return out }
	for _, err := range []error{
		&pgconn.PgError{Code: "23505", Message: `duplicate key value violates unique constraint "people_email"`, Detail: "Key (email)=(raw.value) already exists.",
			ConstraintName: "people_email", TableName: "people"},
		&pgconn.PgError{Code: "22P02", Message: `invalid input syntax for type integer: "raw.value"`, Hint: "raw.value"},
		&pgconn.PgError{Code: "P0001", Message: "raw.value is taken", Routine: raiseRoutine},
		&pgconn.PgError{Code: "23503", Message: `insert or update on table "orders" violates foreign key constraint "orders_email"`,
			Detail: `Key (email)=(raw.value) is not present in table "people".`, ConstraintName: "orders_email", TableName: "orders"},
		&pgconn.PgError{Code: "42703", Message: `column "emial" does not exist`},
		&mysql.MySQLError{Number: 1062, SQLState: state("23000"), Message: "Duplicate entry 'raw.value' for key 'people.email'"},
		&mysql.MySQLError{Number: 1366, SQLState: state("22007"), Message: "Incorrect integer value: 'raw.value' for column `x`.`people`.`salary` at row 1"},
		&mysql.MySQLError{Number: 1048, SQLState: state("23000"), Message: "Column 'email' cannot be null"},
		&mysql.MySQLError{Number: 1644, SQLState: state("45000"), Message: "raw.value is taken"},
		&mysql.MySQLError{Number: 1054, SQLState: state("42S22"), Message: "Unknown column 'emial' in 'SELECT'"},
		&mockedSQLiteError{"UNIQUE constraint failed: people.email", 2067},
		&mockedSQLiteError{"CHECK constraint failed: email <> 'raw.value'", 275},
		&mockedSQLiteError{"cannot store TEXT value in INTEGER column people.salary", 3091},
	} {
		reply := rejection(err)
		if lite, ok := err.(*mockedSQLiteError); ok {
			reply = map[string]any{"error": lite.text, "code": fmt.Sprint(int(lite.result))}
		}
		reply = unquotedRejection(reply)
		if text := fmt.Sprint(reply); strings.Contains(text, "raw.value") {
			t.Errorf("%v: the tape has %s", err, text)
		}
		var replayed error
		for kind, dialect := range dialects {
			_, isPostgres := err.(*pgconn.PgError)
			_, isMySQL := err.(*mysql.MySQLError)
			if isPostgres == (dialect == sqltext.PostgreSQL) && isMySQL == (dialect == sqltext.MySQL) {
				replayed = (&mockedDatabase{kind: kind}).engineError(&mock.Reply{Args: reply})
				want, got := toFault(err, dialect, false), toFault(replayed, dialect, false)
				if want.Unquoted == nil {
					if got.Message != want.Message {
						t.Errorf("got %q, want %q", got.Message, want.Message)
					}
				} else if got.Unquoted == nil || *got.Unquoted != *want.Unquoted {
					t.Errorf("got %+v, want %+v", got.Unquoted, want.Unquoted)
				}
			}
		}
	}
}
