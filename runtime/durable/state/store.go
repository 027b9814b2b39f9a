package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"hatchel/internal/operator"
	"hatchel/runtime/durable/postgres"
)

// ErrFull is returned when the quota of the store is used up. Add fails first; [Records.Reserve] of a new name,
// and Replace with a body that has grown beyond a few KiB, fail at twice the quota.
var ErrFull error = operator.Error("the state store is full")

// ErrUnavailable is returned while the store is unavailable. Whether the operation took effect is not known.
var ErrUnavailable = postgres.ErrUnavailable

// ErrNeedsOperator is ErrUnavailable until somebody changes something, such as a full disk.
var ErrNeedsOperator error = operator.Error("the state store is unavailable until an operator repairs it")

// ErrKeyTaken is returned when the unique key of a record belongs to another record.
var ErrKeyTaken error = operator.Error("the unique key belongs to another record")

// MaxClockSkew is more than the clocks of processes that share a Store may differ by. Records expire by these
// clocks, so a record that every process must see until a time has to expire that much later.
const MaxClockSkew = time.Hour

// RemoteStore is a Store that is reached over a network.
type RemoteStore interface {
	Store

	// Ping returns why the store is unavailable, in a sentence for the operator.
	Ping(ctx context.Context) error

	// Versions returns the versions of the records of a kind that have one of these names.
	Versions(ctx context.Context, kind string, names []string) (map[string]int, error)
}

// SQLiteVersion is the version of the schema of a state in a file, in user_version.
const SQLiteVersion = 5

// Store keeps records. Its methods may be called concurrently, by all processes that share the store.
// An expired record reads as if it had never existed. Times have a resolution of a millisecond.
type Store interface {
	Records

	// Heartbeat reports the owner of records alive until a time.
	Heartbeat(ctx context.Context, owner string, until time.Time) error

	// Watch calls changed with the kind and the name of each record that another process adds,
	// replaces or removes, one after the other, until ctx ends. An empty kind means that any record
	// may have changed: at the beginning, and after Watch has missed changes. Changes with [Record.NoNotify] and
	// expired records are not announced, nor is anything in a store that no other process can open. The last
	// changes of a process that dies may not be announced either.
	// It calls attempted with the error of each attempt to notice changes, and nil after one that succeeded.
	Watch(ctx context.Context, changed func(kind, name string), attempted func(error))

	// Close closes the store. No method may be called afterwards.
	Close() error
}

// Record is a versioned document with a kind and a name.
type Record struct {
	Kind       string    // such as "approval", "task", "file"
	Name       string    // unique in its kind
	UniqueKey  string    // unique key: no two records of a kind have the same one; empty for none
	Group      string    // for lists and counts, such as a status; may be empty
	Version    int       // 1 for an added record, also when its name was used before
	Due        time.Time // order of lists; a record with the zero time is neither listed nor counted
	Expires    time.Time // when the record is removed
	Owner      string    // process that works on it; empty for none
	OwnerAlive bool      // the owner is alive by the clock of the store; set on returned records
	Body       []byte

	// Options of one change. They are not stored.
	Priority Priority
	NoNotify bool // the change is not announced by Watch
}

// Priority says up to which part of the quota a record is added.
type Priority int

// The priorities.
const (
	Normal   Priority = iota // up to the quota
	Low                      // up to half of the quota; the rest is left to others
	FollowUp                 // up to twice the quota: the record belongs to work that was accepted
)

// limit returns the size of the store up to which a record of the priority is added.
func (p Priority) limit(quota int64) int64 {
	switch p {
	case Low:
		return quota / 2
	case FollowUp:
		return 2 * quota
	}
	return quota
}

// Records is the part of a Store that keeps records.
type Records interface {
	// Add adds a record durably, sets its Version to 1 and returns nil. If another record has its
	// name or unique key, Add changes nothing and returns that record: exactly one of any number of
	// callers adds.
	Add(ctx context.Context, r *Record) (*Record, error)

	// Record returns the record with a name, or nil when there is none.
	Record(ctx context.Context, kind, name string) (*Record, error)

	// ByUniqueKey returns the record with a unique key, or nil when there is none.
	ByUniqueKey(ctx context.Context, kind, key string) (*Record, error)

	// Replace replaces a record, including its unique key and group, and increments r.Version. It
	// reports false, and changes nothing, when the stored record is gone or no longer has the version
	// of r: of two callers that have read the same version one wins. It fails with [ErrKeyTaken] when
	// another record has the unique key.
	Replace(ctx context.Context, r *Record) (bool, error)

	// Remove removes a record, and reports false when the stored record is gone or no longer has the
	// version of r.
	Remove(ctx context.Context, r *Record) (bool, error)

	// List returns the records that a query selects.
	List(ctx context.Context, q Query) ([]*Record, error)

	// Count returns how many records of a kind and group List would return.
	Count(ctx context.Context, kind, group string) (int, error)

	// Reserve reserves the next event of a name under a rate, and returns how long the event has to
	// wait. If that is longer than maxWait, it reserves nothing and reports false with the same wait.
	// It uses the clock of the store, in microseconds. Reservations outlive the process; the last
	// ones may be lost when the machine fails. A store that many processes share reserves some events
	// ahead under a fast rate, which are lost when they are not used in time: no period has more events
	// than Burst and one for each Interval, but a burst may have half as many.
	Reserve(ctx context.Context, name string, rate Rate, maxWait time.Duration) (wait time.Duration, ok bool, err error)

	// Available returns how many events of a name may happen at once now. It reserves nothing, and counts those as used
	// that a process has reserved ahead.
	Available(ctx context.Context, name string, rate Rate) (int, error)

	// Postpone lets the events of a name that were not reserved yet happen after a pause at the
	// earliest, and not in a burst. The name must have had a reservation.
	Postpone(ctx context.Context, name string, rate Rate, pause time.Duration) error
}

// Put writes a record that only this process writes, whether or not it is there.
func Put(ctx context.Context, store Store, r *Record) error {
	if r.Version > 0 {
		if replaced, err := store.Replace(ctx, r); replaced || err != nil {
			return err
		}
	}
	_, err := store.Add(ctx, r) // nobody else adds a record of this name
	return err
}

// Rate is how often events may happen.
type Rate struct {
	Interval time.Duration // one event per interval
	Burst    int           // events that may happen at once

	// MaxWait is the longest wait in use. A stored reservation that is further ahead was made
	// under another rate, or before the clock was set back, and is moved closer.
	MaxWait time.Duration
}

// interval is Interval in the resolution of the store.
func (r Rate) interval() time.Duration {
	return max(r.Interval.Truncate(time.Microsecond), time.Microsecond)
}

// tolerance returns how long before its turn an event may happen.
func (r Rate) tolerance() time.Duration { return time.Duration(r.Burst-1) * r.interval() }

// Query selects records of a kind, ordered by Due and Name.
type Query struct {
	Kind     string
	Group    string    // empty for all
	Until    time.Time // only records due until then; zero for all
	After    *Record   // only records that sort after this one; nil for all
	Before   *Record   // only records that sort before this one, for the next page of a reversed list; nil for all
	Orphaned bool      // only records whose owner is dead, including those without Due
	Reverse  bool      // in the reverse order; After and Before still select by the order itself
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
	if q.Before != nil {
		add(" AND (due, name) < (?, ?)", q.Before.Due.UnixMilli(), q.Before.Name)
	}
	order := " ORDER BY due, name"
	if q.Reverse {
		order = " ORDER BY due DESC, name DESC"
	}
	add(order+" LIMIT ?", max(q.Limit, 1))
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
	var inPostgres *pgconn.PgError
	return isUniqueInSQLite(err) || errors.As(err, &inPostgres) && inPostgres.Code == uniqueViolation
}

// checkVersion returns an error unless the version of a schema is the supported one.
func checkVersion(found, supported int) error {
	switch {
	case found > supported:
		return operator.Error(fmt.Sprintf(
			"it was written by a newer version of this program (schema %d, supported is %d)", found, supported))
	case found < supported:
		return operator.Error(fmt.Sprintf("it was written by an older version of this program (schema %d, "+
			"supported is %d): remove it, or configure another location", found, supported))
	}
	return nil
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
