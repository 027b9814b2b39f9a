package audit

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"hatchel/runtime/postgres"
)

// row is a row of the table.
type row struct {
	sequence int64
	time     time.Time
	hash     string
	line     []byte
}

func scanRow(from pgx.Row) (r row, err error) {
	err = from.Scan(&r.sequence, &r.time, &r.hash, &r.line)
	return r, err
}

// agrees reports whether the columns say what the line says.
func (r *row) agrees() bool {
	_, at, ok := read(r.line)
	_, members, _ := bytes.Cut(r.line, []byte{','})
	return ok && at.sequence == r.sequence && string(at.hash[:]) == r.hash && writtenAt(members) == r.time.UTC().Format(timeForm)
}

// pageSize is how many rows are read at once.
const pageSize = 1000

// ReadTable gives every record of the log in a database to each, in the order in which they were written, until each reports false. The File of a line is the table, and its Number is the
// column seq.
func ReadTable(ctx context.Context, address string, each func(*Line) bool) error {
	conn, err := reach(ctx, address)
	if err != nil {
		return err
	}
	defer leave(ctx, conn)
	_, _, err = readRows(ctx, conn, 0, each)
	return err
}

func leave(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	conn.Close(ctx)
}

// readRows gives the rows behind one, and returns the last that it gave.
func readRows(ctx context.Context, conn *pgx.Conn, after int64, each func(*Line) bool) (last int64, goOn bool, err error) {
	for {
		rows, err := conn.Query(ctx, "SELECT seq, time, hash, line FROM hatchel_audit WHERE seq > $1 ORDER BY seq LIMIT $2", after, pageSize)
		if err != nil {
			return after, false, postgres.Fault(ctx, err)
		}
		page, err := pgx.CollectRows(rows, func(from pgx.CollectableRow) (row, error) { return scanRow(from) })
		if err != nil {
			return after, false, unread(ctx, err)
		}
		for i := range page {
			r := &page[i]
			after = r.sequence
			if !each(&Line{File: table, Number: int(r.sequence), Text: r.line, Ended: true, apart: !r.agrees()}) {
				return after, false, nil
			}
		}
		if len(page) < pageSize {
			return after, true, nil
		}
	}
}

// unread says why the table cannot be read.
func unread(ctx context.Context, err error) error {
	if told := new(pgconn.PgError); errors.As(err, &told) && told.Code == "42P01" {
		return postgres.Refused("it has no table hatchel_audit: no server has written there yet")
	}
	return postgres.Fault(ctx, err)
}

// FollowTable is ReadTable, and then gives the records that are written later, until ctx ends or each reports false. A database that goes away meanwhile is waited for.
func FollowTable(ctx context.Context, address string, each func(*Line) bool) error {
	conn, err := reach(ctx, address)
	if err != nil {
		return err
	}
	defer func() { leave(ctx, conn) }()
	last, began := int64(0), false
	for {
		var goOn bool
		last, goOn, err = readRows(ctx, conn, last, each)
		switch {
		case ctx.Err() != nil || err == nil && !goOn:
			return nil
		case err != nil && (!began || !errors.Is(err, postgres.ErrAway)):
			return err
		}
		began = true
		if err := again(ctx, pause); err != nil {
			return nil
		}
		if conn.IsClosed() {
			if next, err := reach(ctx, address); err == nil {
				conn = next
			}
		}
	}
}

// again waits before the next look.
func again(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// VerifyTable reads the log in a database, and compares every record with its hash, with the columns beside it and with the record before it. The error is of what cannot be read.
func VerifyTable(ctx context.Context, address string) (*Verdict, error) {
	v := &verifier{open: map[string]bool{}}
	v.Table = true
	err := ReadTable(ctx, address, v.line)
	return v.verdict(), err
}
