package sql

import (
	"context"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
)

// pgTransaction sends BEGIN together with its first statement, and ROLLBACK together with a last one that only reads: a query is one round trip.
type pgTransaction struct {
	database *postgres
	conn     *pgconn.PgConn
	begin    string
	reads    bool
	begun    bool
	asked    bool // a caller's own statement was run
}

const (
	overrun     = 4096    // rows beyond the limit that are read to the end
	overrunSize = 1 << 20 // and their bytes; beyond either the server is asked to stop
)

func (tx *pgTransaction) run(ctx context.Context, e *execution) error {
	first := !tx.begun
	err := tx.once(ctx, e)
	if first && stale(err) && e.rows.rows == 0 {
		// the schema changed since the statement was prepared on this connection; nothing has happened yet
		cacheOf(tx.conn).forget(e.text)
		if err := tx.rollback(ctx, nil); err != nil {
			return err
		}
		err = tx.once(ctx, e)
	}
	return err
}

// stale reports whether a prepared statement must be prepared again.
func stale(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "26000" || e.Code == "0A000" && e.Routine == "RevalidateCachedQuery")
}

// errSuperuser says why a caller's statement is not run. A read-only transaction keeps nobody from the functions that only a superuser may call: they
// read and write files of the server and end its processes.
var errSuperuser = errors.New("statements are not run here, because the database role of this tool is a superuser, which no read-only mode holds back; " +
	"whoever runs the server must give the connection a role that may only read")

func (tx *pgTransaction) once(ctx context.Context, e *execution) error {
	if e.once && tx.conn.ParameterStatus("is_superuser") == "on" {
		return refusal{errSuperuser}
	}
	st, err := tx.prepared(ctx, e)
	if err != nil {
		return err
	}
	tx.asked = tx.asked || e.once
	pipe := tx.conn.StartPipeline(ctx)
	first := !tx.begun
	if first {
		pipe.SendQueryParams(tx.begin, nil, nil, nil, nil)
		tx.begun = true
	}
	if st == nil {
		pipe.SendQueryParams(e.text, nil, nil, nil, nil)
	} else {
		values, formats := pgArguments(st.description.ParamOIDs, e.args)
		pipe.SendQueryStatement(st.description, values, formats, nil)
	}
	ends := tx.reads && e.last
	if ends {
		pipe.SendQueryParams("ROLLBACK", nil, nil, nil, nil)
	}
	err = pipe.Sync()
	if err == nil && first {
		err = skip(pipe)
	}
	if err == nil {
		err = tx.take(ctx, pipe, st, e)
	}
	if err == nil && ends && tx.conn.TxStatus() != 'E' {
		err = skip(pipe)
	}
	if closed := pipe.Close(); err == nil {
		err = closed
	}
	if err == errStopped {
		err = nil
	}
	return err
}

// skip reads the answer of a statement without rows.
func skip(pipe *pgconn.Pipeline) error {
	result, err := pipe.GetResults()
	if err != nil {
		return err
	}
	if r, ok := result.(*pgconn.ResultReader); ok {
		_, err = r.Close()
	}
	return err
}

var errStopped = errors.New("stopped at the limit")

// take reads the rows. When far more come than are wanted the server is asked to stop; it answers that with an error, which
// is waited for, so that the request can hit nothing that comes later.
func (tx *pgTransaction) take(ctx context.Context, pipe *pgconn.Pipeline, st *pgPrepared, e *execution) error {
	answer, err := pipe.GetResults()
	if err != nil {
		return err
	}
	result, ok := answer.(*pgconn.ResultReader)
	if !ok {
		return errors.New("the server answered out of turn")
	}
	fields := result.FieldDescriptions()
	h := tx.database.types.heading(st, fields)
	if len(fields) > 0 {
		err = e.rows.head(&h.heading)
	}
	beyond, bytes, asked := 0, 0, false
	for result.NextRow() {
		if err != nil || asked {
			continue
		}
		if row := e.rows.take(); row != nil {
			for i, raw := range result.Values() {
				if raw != nil {
					e.rows.size += len(raw)
					row[i] = h.types[i].read(raw)
				}
			}
			continue
		}
		beyond++
		for _, raw := range result.Values() {
			bytes += len(raw)
		}
		if tx.reads && (beyond > overrun || bytes > overrunSize) {
			asked = true
			err = tx.conn.CancelRequest(ctx)
		}
	}
	tag, closed := result.Close()
	switch {
	case asked && err == nil:
		var e *pgconn.PgError
		if errors.As(closed, &e) && e.Code == "57014" && ctx.Err() == nil {
			return errStopped
		}
		// the request came too late and could hit the next statement: this connection must go
		if closed == nil {
			closed = tx.conn.Close(ctx)
		}
		return closed
	case err == nil:
		err = closed
	}
	e.affected, e.lastID = 0, nil
	if changesRows[e.verb] || e.verb == "MERGE" {
		e.affected = int(tag.RowsAffected())
	}
	return err
}

// rollback ends the transaction if it is open still, and returns why it had to end.
func (tx *pgTransaction) rollback(ctx context.Context, why error) error {
	tx.begun = false
	if tx.conn.IsClosed() || tx.conn.TxStatus() == 'I' {
		return why
	}
	if _, err := tx.conn.Exec(ctx, "ROLLBACK").ReadAll(); why == nil {
		return err
	}
	return why // Release closes a connection that is still in a transaction
}

// A pgPrepared is a statement prepared on one connection.
type pgPrepared struct {
	description *pgconn.StatementDescription
	heading     *pgHeading
}

// pgCache is what is prepared on one connection.
type pgCache struct {
	statements map[string]*pgPrepared
	names      int
	dropped    []string // names to deallocate when the session is next used
}

func cacheOf(conn *pgconn.PgConn) *pgCache {
	data := conn.CustomData()
	c, ok := data["hatchel"].(*pgCache)
	if !ok {
		c = &pgCache{statements: map[string]*pgPrepared{}}
		data["hatchel"] = c
	}
	return c
}

func (c *pgCache) forget(text string) {
	if st := c.statements[text]; st != nil {
		delete(c.statements, text)
		c.dropped = append(c.dropped, st.description.Name)
	}
}

// prepared prepares a statement unless it is already; a caller's own is not kept.
func (tx *pgTransaction) prepared(ctx context.Context, e *execution) (*pgPrepared, error) {
	if e.once {
		return nil, nil
	}
	c := cacheOf(tx.conn)
	if st, ok := c.statements[e.text]; ok {
		return st, nil
	}
	if len(c.statements) >= statements {
		for text := range c.statements {
			c.forget(text)
			break
		}
	}
	if !tx.begun {
		for _, name := range c.dropped {
			if err := tx.conn.Deallocate(ctx, name); err != nil {
				return nil, err
			}
		}
		c.dropped = nil
	}
	c.names++
	d, err := tx.conn.Prepare(ctx, "h"+strconv.Itoa(c.names), e.text, nil)
	if err != nil {
		return nil, err
	}
	if err := tx.database.types.learn(ctx, tx.conn, d.Fields); err != nil {
		return nil, err
	}
	st := &pgPrepared{description: d}
	c.statements[e.text] = st
	return st, nil
}
