package state

import (
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"
)

// Query says which records are listed: those of a kind, by Due and then by Name.
type Query struct {
	Kind     string
	Group    string    // only those; empty for all
	Until    time.Time // only those that are due until then; zero for all
	After    *Record   // only those that come after this one; nil for all
	Orphaned bool      // only those that have an owner who is not present any more, and those of them without a Due, too
	Limit    int       // how many at most; at least 1
}

// clauses are the query in SQL, with its arguments, of which the first is the time. All of them are used for the first time in their order, so that all databases read it in the same
// way. Present says whether an owner is.
func (q *Query) clauses(present string) (clauses string, arguments []any) {
	var b strings.Builder
	arguments = []any{now()}
	add := func(text string, values ...any) {
		for _, value := range values {
			arguments = append(arguments, value)
			text = strings.Replace(text, "?", "$"+strconv.Itoa(len(arguments)), 1)
		}
		b.WriteString(text)
	}
	add(" WHERE expires > $1 AND kind = ?", q.Kind)
	if q.Orphaned {
		add(" AND owner <> '' AND NOT " + present)
	} else {
		add(" AND due > 0")
	}
	if q.Group != "" {
		add(" AND grp = ?", q.Group)
	}
	if !q.Until.IsZero() {
		add(" AND due <= ?", q.Until.UnixMilli())
	}
	if q.After != nil {
		add(" AND (due, name) > (?, ?)", q.After.Due.UnixMilli(), q.After.Name)
	}
	add(" ORDER BY due, name LIMIT ?", max(q.Limit, 1))
	return b.String(), arguments
}

// columns are what of a record is read, in SQL: what comes next says whether its owner is present, and in which table it is.
const columns = "SELECT kind, name, slot, grp, version, due, expires, body, owner, owner <> '' AND "

// scanRecord reads a record from a row, of either database; without a row it is nil.
func scanRecord(row interface{ Scan(...any) error }) (*Record, error) {
	var r Record
	var due, expires int64
	err := row.Scan(&r.Kind, &r.Name, &r.Slot, &r.Group, &r.Version, &due, &expires, &r.Body, &r.Owner, &r.Alive)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.Due, r.Expires = time.UnixMilli(due), time.UnixMilli(expires)
	return &r, nil
}

// twice reports whether a statement, in either database, would have given to two what one may have.
func twice(err error) bool {
	const uniqueViolation = "23505"
	var file sqlite3.Error
	var told *pgconn.PgError
	return errors.As(err, &file) && file.ExtendedCode == sqlite3.ErrConstraintUnique || errors.As(err, &told) && told.Code == uniqueViolation
}

// small is the size of a body that there is room for in any case.
const small = 4 << 10

// bodyOf is the body of a record, which is no null.
func (r *Record) bodyOf() []byte {
	if r.Body == nil {
		return []byte{}
	}
	return r.Body
}
