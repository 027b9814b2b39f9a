package state

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// recordStore implements [Records] for both databases.
type recordStore struct {
	*statements
	db            database
	reservesAhead bool         // processes on several machines share the rates
	quota         atomic.Int64 // bytes
	paces         paces
	sweeps
}

// database is one of the two databases of a recordStore.
type database interface {
	// run runs do, which may be called again after an error that has changed nothing. In SQLite all
	// that do writes is one transaction, in PostgreSQL each statement is.
	run(ctx context.Context, a access, do func(context.Context, session) error) error
}

// access says what a function does with a database.
type access int

const (
	reads   access = iota // it changes nothing
	writes                // what it writes is on the disk afterwards
	relaxed               // what it writes survives the process, but not the machine
)

// session runs statements.
type session interface {
	// execute reports whether a statement has changed or returned a row.
	execute(ctx context.Context, statement string, arguments ...any) (bool, error)

	// change executes a statement that changes r, announces the change unless it is quiet, and reports
	// whether a row was changed.
	change(ctx context.Context, r *Record, statement string, arguments ...any) (bool, error)

	queryRow(ctx context.Context, query string, arguments ...any) scanner
	list(ctx context.Context, query string, arguments ...any) ([]*Record, error)

	// withClock returns the arguments of a statement on rates, with those that say the time.
	withClock(arguments ...any) []any

	// reserveBytes returns ErrFull when the store has limit bytes or more, even without expired rows.
	// Otherwise n bytes may be added.
	reserveBytes(ctx context.Context, limit int64, n int) error
}

// statements are the statements that differ. Placeholders are numbered in the order of their first
// use, so that both databases read them alike; in those that select records $1 is the current time.
type statements struct {
	ownerAlive, reserve, reserveFirst, ahead, postpone string

	selectAll string // without conditions
	selectName, selectKey, selectConflict,
	insert, update, remove, removeConflicts, removeKey, bodySize, count string
}

func newStatements(table, ownerAlive, reserve, reserveFirst, ahead, postpone string) *statements {
	const (
		conflicting = " $1 AND kind = $2 AND (name = $3 OR unique_key = $4 AND unique_key <> '')"
		columns     = "kind, name, unique_key, grp, version, due, expires, owner, body"
	)
	selectAll := "SELECT " + columns + ", owner <> '' AND " + ownerAlive + " FROM " + table
	remove := "DELETE FROM " + table + " WHERE "
	return &statements{
		ownerAlive:     ownerAlive,
		reserve:        reserve,
		reserveFirst:   reserveFirst,
		ahead:          ahead,
		postpone:       postpone,
		selectAll:      selectAll,
		selectName:     selectAll + " WHERE expires > $1 AND kind = $2 AND name = $3",
		selectKey:      selectAll + " WHERE expires > $1 AND kind = $2 AND unique_key = $3 AND unique_key <> ''",
		selectConflict: selectAll + " WHERE expires >" + conflicting + " ORDER BY name <> $3 LIMIT 1",
		insert: "INSERT INTO " + table + " (" + columns + ") VALUES ($1, $2, $3, $4, 1, $5, $6, $7, $8) " +
			"ON CONFLICT DO NOTHING",
		update: "UPDATE " + table + " SET unique_key = $1, grp = $2, version = version + 1, due = $3, expires = $4, " +
			"owner = $5, body = $6 WHERE kind = $7 AND name = $8 AND version = $9 AND expires > $10",
		remove:          remove + "kind = $1 AND name = $2 AND version = $3 AND expires > $4",
		removeConflicts: remove + "expires <=" + conflicting,
		removeKey:       remove + "kind = $1 AND unique_key = $2 AND unique_key <> '' AND name <> $3 AND expires <= $4",
		bodySize:        "SELECT length(body) FROM " + table + " WHERE kind = $1 AND name = $2",
		count:           "SELECT count(*) FROM " + table + " WHERE kind = $1 AND grp = $2 AND due > 0 AND expires > $3",
	}
}

const (
	defaultQuotaBytes = 1 << 30
	recordRowSize     = 256     // approximate bytes of a record without its body
	smallBody         = 4 << 10 // bytes up to which Replace accepts a body even when the store is full
	sweepInterval     = time.Minute
	sweepBatch        = 10000 // records
)

// SetQuota sets the quota in bytes: Add fails when the store is larger. The default is 1 GiB. As much
// again is reserved for changes and follow-up records.
func (s *recordStore) SetQuota(bytes int64) { s.quota.Store(bytes) }

// Add implements Records.
func (s *recordStore) Add(ctx context.Context, r *Record) (existing *Record, err error) {
	err = s.db.run(ctx, writes, func(ctx context.Context, t session) (err error) {
		for { // again when the existing record has expired or was removed meanwhile
			full := t.reserveBytes(ctx, r.Priority.limit(s.quota.Load()), len(r.Body)+recordRowSize)
			if full == nil {
				added, err := t.change(ctx, r, s.insert, r.Kind, r.Name, r.UniqueKey, r.Group,
					r.Due.UnixMilli(), r.Expires.UnixMilli(), r.Owner, r.nonNullBody())
				if err != nil || added {
					return err
				}
			} else if !errors.Is(full, ErrFull) {
				return full
			}
			row := t.queryRow(ctx, s.selectConflict, now(), r.Kind, r.Name, r.UniqueKey)
			if existing, err = scanRecord(row); err != nil || existing != nil {
				return err
			}
			if full != nil {
				return full
			}
			if _, err := t.execute(ctx, s.removeConflicts, now(), r.Kind, r.Name, r.UniqueKey); err != nil {
				return err
			}
		}
	})
	if existing == nil && err == nil {
		r.Version = 1
	}
	return existing, err
}

// Record implements Records.
func (s *recordStore) Record(ctx context.Context, kind, name string) (*Record, error) {
	if !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		return nil, nil // clients ask for any name, and PostgreSQL rejects a statement with this one
	}
	return s.findRecord(ctx, s.selectName, kind, name)
}

// ByUniqueKey implements Records.
func (s *recordStore) ByUniqueKey(ctx context.Context, kind, key string) (*Record, error) {
	return s.findRecord(ctx, s.selectKey, kind, key)
}

func (s *recordStore) findRecord(ctx context.Context, query, kind, key string) (r *Record, err error) {
	err = s.db.run(ctx, reads, func(ctx context.Context, t session) (err error) {
		r, err = scanRecord(t.queryRow(ctx, query, now(), kind, key))
		return err
	})
	return r, err
}

// Replace implements Records.
func (s *recordStore) Replace(ctx context.Context, r *Record) (replaced bool, err error) {
	err = s.db.run(ctx, writes, func(ctx context.Context, t session) (err error) {
		if err := s.checkGrowth(ctx, t, r); err != nil {
			return err
		}
		for {
			replaced, err = t.change(ctx, r, s.update, r.UniqueKey, r.Group, r.Due.UnixMilli(), r.Expires.UnixMilli(),
				r.Owner, r.nonNullBody(), r.Kind, r.Name, r.Version, now())
			if !isUniqueViolation(err) {
				return err
			}
			switch removed, err := t.execute(ctx, s.removeKey, r.Kind, r.UniqueKey, r.Name, now()); {
			case err != nil:
				return err
			case !removed:
				return ErrKeyTaken
			}
		}
	})
	if err != nil || !replaced {
		return false, err
	}
	r.Version++
	return true, nil
}

// checkGrowth returns ErrFull when the body of a record grows and the store is full.
func (s *recordStore) checkGrowth(ctx context.Context, t session, r *Record) error {
	if len(r.Body) <= smallBody {
		return nil
	}
	full := t.reserveBytes(ctx, 2*s.quota.Load(), 0)
	if !errors.Is(full, ErrFull) {
		return full
	}
	var before int
	err := t.queryRow(ctx, s.bodySize, r.Kind, r.Name).Scan(&before)
	if errors.Is(err, sql.ErrNoRows) || err == nil && len(r.Body) <= before {
		return nil
	}
	return errors.Join(err, full)
}

// Remove implements Records.
func (s *recordStore) Remove(ctx context.Context, r *Record) (removed bool, err error) {
	err = s.db.run(ctx, writes, func(ctx context.Context, t session) (err error) {
		removed, err = t.change(ctx, r, s.remove, r.Kind, r.Name, r.Version, now())
		return err
	})
	return removed && err == nil, err
}

// List implements Records.
func (s *recordStore) List(ctx context.Context, q Query) (list []*Record, err error) {
	clauses, arguments := q.clauses(s.ownerAlive)
	err = s.db.run(ctx, reads, func(ctx context.Context, t session) (err error) {
		list, err = t.list(ctx, s.selectAll+clauses, arguments...)
		return err
	})
	return list, err
}

// Count implements Records.
func (s *recordStore) Count(ctx context.Context, kind, group string) (n int, err error) {
	err = s.db.run(ctx, reads, func(ctx context.Context, t session) error {
		return t.queryRow(ctx, s.count, kind, group, now()).Scan(&n)
	})
	return n, err
}

// sweeps says when to remove expired rows.
type sweeps struct {
	mu        sync.Mutex
	nextSweep time.Time // zero before there are tables; guarded by mu
}

// sweepDue reports true once per interval.
func (s *sweeps) sweepDue() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.nextSweep.IsZero() || now.Before(s.nextSweep) {
		return false
	}
	s.nextSweep = now.Add(sweepInterval)
	return true
}

// sweepSoon makes a sweep due, because there are tables now, or more rows have expired than one sweep
// removes.
func (s *sweeps) sweepSoon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextSweep = time.Now()
}
