package sql

import (
	"context"
	"errors"
	"strconv"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/jackc/pgx/v5/pgconn"
)

// pgTransaction sends BEGIN together with its first statement, and ROLLBACK together with the last
// statement of a read-only transaction, so that a query takes one round trip.
type pgTransaction struct {
	database  *postgresDatabase
	conn      *pgconn.PgConn
	beginText string
	readOnly  bool
	begun     bool

	ranCallerStatement bool
}

// Rows beyond the limits of the result are read and discarded up to these limits. Beyond them the server
// is asked to stop.
const (
	maxDrainedRows  = 4096
	maxDrainedBytes = 1 << 20
)

func (tx *pgTransaction) run(ctx context.Context, e *execution) error {
	first := !tx.begun
	err := tx.runOnce(ctx, e)
	if first && isStale(err) && e.result.rows == 0 { // nothing has happened in the transaction yet
		statementCache(tx.conn).Remove(e.text)
		if err := tx.rollback(ctx, nil); err != nil {
			return err
		}
		err = tx.runOnce(ctx, e)
	}
	return err
}

// isStale reports whether a statement must be prepared again because the schema has changed.
func isStale(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "26000" || e.Code == "0A000" && e.Routine == "RevalidateCachedQuery")
}

// errSuperuser is returned for every statement of a caller if the role is a superuser. Even in a read-only
// transaction a superuser can read and write files of the server and end its processes.
var errSuperuser = errors.New("statements of callers are disabled, because the database role of this tool is a " +
	"superuser and read-only mode does not restrict it; the operator must use a role that can only read")

func (tx *pgTransaction) runOnce(ctx context.Context, e *execution) error {
	if e.byCaller && tx.conn.ParameterStatus("is_superuser") == "on" {
		return modelError{errSuperuser}
	}
	st, err := tx.prepare(ctx, e)
	if err != nil {
		return err
	}
	tx.ranCallerStatement = tx.ranCallerStatement || e.byCaller
	pipe := tx.conn.StartPipeline(ctx)
	first := !tx.begun
	if first {
		pipe.SendQueryParams(tx.beginText, nil, nil, nil, nil)
		tx.begun = true
	}
	if st == nil {
		pipe.SendQueryParams(e.text, nil, nil, nil, nil)
	} else {
		values, formats := pgArguments(st.description.ParamOIDs, e.args)
		pipe.SendQueryStatement(st.description, values, formats, nil)
	}
	rollsBack := tx.readOnly && e.last
	if rollsBack {
		pipe.SendQueryParams("ROLLBACK", nil, nil, nil, nil)
	}
	err = pipe.Sync()
	if err == nil && first {
		err = skipResult(pipe)
	}
	if err == nil {
		err = tx.readRows(ctx, pipe, st, e)
	}
	if err == nil && rollsBack && tx.conn.TxStatus() != 'E' {
		err = skipResult(pipe)
	}
	if closeErr := pipe.Close(); err == nil {
		err = closeErr
	}
	if err == errRowLimit {
		err = nil
	}
	return err
}

// skipResult reads the result of a statement that returns no rows.
func skipResult(pipe *pgconn.Pipeline) error {
	result, err := pipe.GetResults()
	if err != nil {
		return err
	}
	if r, ok := result.(*pgconn.ResultReader); ok {
		_, err = r.Close()
	}
	return err
}

var errRowLimit = errors.New("stopped at the row limit")

// readRows reads rows up to the limits of the result. If many more rows follow in a read-only transaction,
// it sends a cancel request and waits for the resulting error, so that the request cannot hit a later
// statement.
func (tx *pgTransaction) readRows(ctx context.Context, pipe *pgconn.Pipeline, st *pgStatement, e *execution) error {
	results, err := pipe.GetResults()
	if err != nil {
		return err
	}
	reader, ok := results.(*pgconn.ResultReader)
	if !ok {
		return errors.New("the server sent an unexpected message")
	}
	fields := reader.FieldDescriptions()
	columns := tx.database.types.columnsOf(st, fields)
	if len(fields) > 0 {
		err = e.result.setColumns(&columns.resultColumns)
	}
	drainedRows, drainedBytes, canceled := 0, 0, false
	for reader.NextRow() {
		if err != nil || canceled {
			continue
		}
		if row := e.result.addRow(); row != nil {
			for i, raw := range reader.Values() {
				if raw != nil {
					e.result.size += len(raw)
					row[i] = columns.types[i].convert(raw)
				}
			}
			continue
		}
		drainedRows++
		for _, raw := range reader.Values() {
			drainedBytes += len(raw)
		}
		if tx.readOnly && (drainedRows > maxDrainedRows || drainedBytes > maxDrainedBytes) {
			canceled = true
			err = tx.conn.CancelRequest(ctx)
		}
	}
	tag, closeErr := reader.Close()
	switch {
	case canceled && err == nil:
		var e *pgconn.PgError
		if errors.As(closeErr, &e) && e.Code == "57014" && ctx.Err() == nil {
			return errRowLimit
		}
		if closeErr == nil { // the request came too late and could hit the next statement
			closeErr = tx.conn.Close(ctx)
		}
		return closeErr
	case err == nil:
		err = closeErr
	}
	e.affected, e.lastID = 0, nil
	if e.changesRows() || e.kind.Verb == "MERGE" {
		e.affected = int(tag.RowsAffected())
	}
	return err
}

// rollback ends the transaction if it is open and returns the cause of the rollback. If ROLLBACK fails
// too, the pool closes the connection, because it is still in a transaction.
func (tx *pgTransaction) rollback(ctx context.Context, cause error) error {
	tx.begun = false
	if tx.conn.IsClosed() || tx.conn.TxStatus() == 'I' {
		return cause
	}
	if _, err := tx.conn.Exec(ctx, "ROLLBACK").ReadAll(); cause == nil {
		return err
	}
	return cause
}

// pgStatement is prepared on one connection.
type pgStatement struct {
	description *pgconn.StatementDescription
	columns     *typedColumns
}

// pgStatementCache holds the prepared statements of one connection by their text.
type pgStatementCache struct {
	*simplelru.LRU[string, *pgStatement]
	names   int
	evicted []string // names to deallocate before the next transaction
}

func statementCache(conn *pgconn.PgConn) *pgStatementCache {
	data := conn.CustomData()
	c, ok := data["hatchel"].(*pgStatementCache)
	if !ok {
		c = &pgStatementCache{}
		c.LRU = newLRU(func(_ string, st *pgStatement) { c.evicted = append(c.evicted, st.description.Name) })
		data["hatchel"] = c
	}
	return c
}

// prepare returns the prepared statement of an execution, or nil for a caller's statement.
func (tx *pgTransaction) prepare(ctx context.Context, e *execution) (*pgStatement, error) {
	if e.byCaller {
		return nil, nil
	}
	c := statementCache(tx.conn)
	if st, ok := c.Get(e.text); ok {
		return st, nil
	}
	if !tx.begun {
		for _, name := range c.evicted {
			if err := tx.conn.Deallocate(ctx, name); err != nil {
				return nil, err
			}
		}
		c.evicted = nil
	}
	c.names++
	d, err := tx.conn.Prepare(ctx, "h"+strconv.Itoa(c.names), e.text, nil)
	if err != nil {
		return nil, err
	}
	if err := tx.database.types.learn(ctx, tx.conn, d.Fields); err != nil {
		return nil, err
	}
	st := &pgStatement{description: d}
	c.Add(e.text, st)
	return st, nil
}
