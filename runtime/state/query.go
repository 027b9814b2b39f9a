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

// Query selects records of a kind, ordered by Due and Name.
type Query struct {
	Kind     string
	Group    string    // empty for all
	Until    time.Time // only records due until then; zero for all
	After    *Record   // only records that sort after this one; nil for all
	Orphaned bool      // only records whose owner is dead, including those without Due
	Limit    int       // maximum number of records; at least 1
}

// clauses returns the query as SQL with its arguments; the first argument is the current time.
// Placeholders are numbered in the order of their first use, so that both databases read them alike.
// The condition ownerAlive says whether the owner of a record is alive.
func (q *Query) clauses(ownerAlive string) (clauses string, arguments []any) {
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
		add(" AND owner <> '' AND NOT " + ownerAlive)
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

// scanner is a row of either database.
type scanner interface{ Scan(into ...any) error }

// scanRecord reads a record from a row. It returns nil when there is no row.
func scanRecord(row scanner) (*Record, error) {
	var r Record
	var due, expires int64
	err := row.Scan(
		&r.Kind, &r.Name, &r.UniqueKey, &r.Group, &r.Version, &due, &expires, &r.Owner, &r.Body, &r.OwnerAlive,
	)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.Due, r.Expires = time.UnixMilli(due), time.UnixMilli(expires)
	return &r, nil
}

// isUniqueViolation reports whether a unique index of either database has rejected a statement.
func isUniqueViolation(err error) bool {
	const uniqueViolation = "23505"
	var inSQLite sqlite3.Error
	var inPostgres *pgconn.PgError
	return errors.As(err, &inSQLite) && inSQLite.ExtendedCode == sqlite3.ErrConstraintUnique ||
		errors.As(err, &inPostgres) && inPostgres.Code == uniqueViolation
}

// nonNullBody returns the body for a column that does not accept NULL.
func (r *Record) nonNullBody() []byte {
	if r.Body == nil {
		return []byte{}
	}
	return r.Body
}

// now returns the clock of this process in milliseconds.
func now() int64 { return time.Now().UnixMilli() }
