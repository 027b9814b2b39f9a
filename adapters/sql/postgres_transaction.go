package sql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// pgTransaction sends BEGIN and the settings together with a statement, and ROLLBACK together with the last
// statement of a read-only transaction, so that a query takes one round trip. Only the first execution of a
// statement, one of a caller and one that binds bytes or a time with an offset take another one, in which the server
// describes it or converts the time.
type pgTransaction struct {
	*pgSession
	database  *postgresDatabase
	conn      *pgconn.PgConn
	as        identity
	beginText string
	readOnly  bool

	begun    bool     // BEGIN was sent
	answered bool     // and the server has answered
	set      bool     // the settings are in effect: no statement has run since
	before   []string // the sessionSettings at the beginning, behind a pooler
	mayLock  bool     // a statement may have taken advisory locks of the session
	rows     bool     // the last statement has a parameter of a composite type, whose attributes may have changed
}

// Rows beyond the limits of the result are read and discarded up to these limits. Beyond them the server
// is asked to stop.
const (
	maxDrainedRows  = 4096
	maxDrainedBytes = 1 << 20
)

// isInterruption reports whether a transaction failed because its connection was lost, or leads to a server that
// accepts no changes any more. Then nothing of the transaction remains. It is also an interruption if somebody ends a
// connection that is being made.
func isInterruption(err error) bool {
	if err == nil {
		return false
	}
	var interrupted *interruptedError
	var report *pgconn.PgError
	return errors.As(err, &interrupted) ||
		errors.As(err, &report) && report.Code == adminShutdown && errors.As(err, new(*pgconn.ConnectError))
}

// adminShutdown is the SQLSTATE of a connection that somebody ends.
const adminShutdown = "57P01"

// interruptedError is the error of a transaction of which nothing remains, so that it can run again.
type interruptedError struct {
	cause   error
	begun   bool // the server has begun the transaction
	standby bool // the server accepts no changes
}

func (e *interruptedError) Error() string { return e.cause.Error() }
func (e *interruptedError) Unwrap() error { return e.cause }

// markInterruption marks an error of a connection if it is an interruption. No commit was sent.
func markInterruption(ctx context.Context, conn *pgconn.PgConn, err error) error {
	if err == nil || ctx.Err() != nil || errors.As(err, new(*pgproto3.ExceededMaxBodyLenErr)) {
		return err
	}
	interrupted := conn.IsClosed()
	if report := new(pgconn.PgError); errors.As(err, &report) {
		interrupted = interrupted && (strings.HasPrefix(report.Code, "57P") || strings.HasPrefix(report.Code, "08"))
	}
	if !interrupted {
		return err
	}
	return &interruptedError{cause: err}
}

// interruption marks an error of the transaction if it is an interruption.
func (tx *pgTransaction) interruption(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if report := new(pgconn.PgError); !tx.readOnly && errors.As(err, &report) && isStandby(report) {
		return &interruptedError{cause: err, standby: true, begun: true}
	}
	err = markInterruption(ctx, tx.conn, err)
	if interrupted := new(interruptedError); errors.As(err, &interrupted) {
		interrupted.begun = tx.answered
	}
	return err
}

// isStandby reports whether a server accepts no changes, such as one that was the primary before a failover.
func isStandby(e *pgconn.PgError) bool {
	return e.Code == "25006" || e.Code == "0A000" && strings.HasPrefix(e.Routine, "check_")
}

func (tx *pgTransaction) run(ctx context.Context, e *execution) error {
	first := !tx.begun
	err := tx.runOnce(ctx, e)
	if tx.isStale(err) {
		if tx.direct {
			tx.statements.Remove(tx.statementKey(e.text))
		}
		tx.database.types.forget(tx.statementKey(e.text))
		if first { // nothing has happened in the transaction yet
			if err := tx.rollback(ctx, nil); err != nil {
				return err
			}
			err = tx.runOnce(ctx, e)
		}
	}
	return tx.interruption(ctx, err)
}

// isStale reports whether a statement must be described or prepared again, because the schema has changed, or because
// the session does not know it any more.
func (tx *pgTransaction) isStale(err error) bool {
	var report *pgconn.PgError
	switch {
	case err == errStale || tx.rows && errors.As(err, new(*unknownMemberError)):
		return true
	case !errors.As(err, &report):
		return false
	}
	return tx.rows && report.Routine == "record_in" || // of a value, before the statement is executed
		tx.direct && (report.Code == "26000" || report.Code == "0A000" && report.Routine == "RevalidateCachedQuery")
}

// errStale is the error of a statement whose columns have types that it did not have before.
var errStale = modelError{errors.New("the schema of the database has changed")}

// errSuperuser is returned for every statement of a caller if the role is a superuser. Even in a read-only
// transaction a superuser can read and write files of the server and end its processes.
var errSuperuser = errors.New("statements of callers are disabled, because the database role of this tool is a " +
	"superuser and read-only mode does not restrict it; the operator must use a role that can only read")

func (tx *pgTransaction) runOnce(ctx context.Context, e *execution) error {
	known, err := tx.known(ctx, e)
	if err != nil {
		return err
	}
	tx.mayLock = tx.mayLock || known.mayLock
	if e.byCaller && tx.superuser {
		return modelError{errSuperuser}
	}
	tx.rows = known.catalog.hasComposites()
	args, err := tx.convertOffsets(ctx, known, e.args)
	if err != nil {
		return err
	}
	values, oids, formats, err := pgArguments(known, args)
	if err != nil {
		return err
	}
	pipe := tx.start(ctx)
	looksUp := known.looksUp()
	if looksUp {
		pipe.send(known.lookup)
	}
	if known.description != nil {
		pipe.SendQueryStatement(known.description, values, formats, nil)
	} else {
		pipe.SendQueryParams(e.text, values, oids, formats, nil)
	}
	rollsBack := tx.readOnly && e.last
	if rollsBack {
		pipe.send("ROLLBACK")
		if tx.mayLock {
			pipe.send(unlockAll)
		}
	}
	tx.set = false
	err = pipe.begin()
	catalog := known.catalog
	if err == nil && looksUp {
		catalog, err = readCatalog(pipe)
	}
	if err == nil {
		err = tx.readRows(ctx, pipe, known, catalog, e)
	}
	for n := pipe.unread(rollsBack, tx.mayLock); n > 0 && err == nil && tx.conn.TxStatus() != 'E'; n-- {
		err = skipResult(pipe.Pipeline)
	}
	if closeErr := pipe.Close(); err == nil {
		err = closeErr
	}
	if err == errRowLimit {
		err = nil
	}
	return err
}

const unlockAll = "SELECT pg_catalog.pg_advisory_unlock_all()"

// pgPipeline sends statements in one round trip.
type pgPipeline struct {
	*pgconn.Pipeline
	tx         *pgTransaction
	begins     bool // it begins the transaction
	sets       bool // it has the settings
	identifies bool // it has the identity
}

// statementKey is what a statement is known by: its text, and the role, under which names may mean other tables.
func (tx *pgTransaction) statementKey(text string) string {
	if tx.as.role == "" {
		return text
	}
	return tx.as.role + "\x00" + text
}

// start starts a pipeline with what has to be sent before a statement: BEGIN, the settings, and as whom the transaction
// runs. All of it is sent before one Sync, so that
// the statement is skipped if BEGIN fails, and a pooler changes no connection in between.
func (tx *pgTransaction) start(ctx context.Context) *pgPipeline {
	p := &pgPipeline{Pipeline: tx.conn.StartPipeline(ctx), tx: tx, begins: !tx.begun}
	p.sets = !tx.set && !(tx.direct && p.begins) // a direct session has the settings before each transaction
	if p.begins {
		p.send(tx.beginText)
	}
	if p.sets {
		p.send(tx.database.settings)
	}
	if p.begins {
		p.identifies = tx.sendIdentity(p)
	}
	tx.begun, tx.set = true, true
	return p
}

// sendIdentity sends the statement that sets the values and the role of the identity for the transaction, and reports
// whether there are any. The role comes last.
func (tx *pgTransaction) sendIdentity(p *pgPipeline) bool {
	params := tx.database.identityParams(tx.as)
	if params == nil {
		return false
	}
	p.SendQueryParams(setIdentityTexts[len(params)/2], params, nil, nil, nil)
	return true
}

func (p *pgPipeline) send(text string) { p.SendQueryParams(text, nil, nil, nil, nil) }

// begin sends the pipeline and reads the results of what start has added.
func (p *pgPipeline) begin() error {
	err := p.Sync()
	if err == nil && p.begins {
		err = skipResult(p.Pipeline)
		p.tx.answered = err == nil
	}
	if err == nil && p.sets {
		err = readResult(p.Pipeline, p.readSettings)
	}
	if err == nil && p.identifies {
		err = markIdentity(skipResult(p.Pipeline))
	}
	return err
}

// readSettings reads what the settings of a transaction were before it.
func (p *pgPipeline) readSettings(values [][]byte) {
	p.tx.superuser = string(values[0]) == "on"
	if p.begins && !p.tx.readOnly && !p.tx.direct {
		p.tx.before = p.tx.before[:0] // the transaction may begin again
		for _, v := range values[1 : 1+len(p.tx.database.sessionNames)] {
			p.tx.before = append(p.tx.before, string(v))
		}
	}
}

// unread returns how many results follow that of the statement.
func (p *pgPipeline) unread(rollsBack, unlocks bool) int {
	switch {
	case !rollsBack:
		return 0
	case unlocks:
		return 2
	}
	return 1
}

// skipResult reads the result of a statement that returns no rows.
func skipResult(pipe *pgconn.Pipeline) error { return readResult(pipe, func([][]byte) {}) }

// readResult reads the next result of a pipeline.
func readResult(pipe *pgconn.Pipeline, read func(values [][]byte)) error {
	result, err := pipe.GetResults()
	if err != nil {
		return err
	}
	r, ok := result.(*pgconn.ResultReader)
	if !ok {
		return errUnexpected
	}
	for r.NextRow() {
		read(r.Values())
	}
	_, err = r.Close()
	return err
}

var errUnexpected = errors.New("the server sent an unexpected message")

var errRowLimit = errors.New("stopped at the row limit")

// readRows reads rows up to the limits of the result. If many more rows follow in a read-only transaction,
// it sends a cancel request and waits for the resulting error, so that the request cannot hit a later
// statement.
func (tx *pgTransaction) readRows(
	ctx context.Context, pipe *pgPipeline, known *pgStatement, catalog pgCatalog, e *execution,
) error {
	results, err := pipe.GetResults()
	if err != nil {
		return err
	}
	reader, ok := results.(*pgconn.ResultReader)
	if !ok {
		return errUnexpected
	}
	fields := reader.FieldDescriptions()
	columns := tx.database.types.columnsOf(known, fields, catalog)
	stale := columns == nil
	if !stale && len(fields) > 0 {
		err = e.result.setColumns(&columns.resultColumns)
	}
	drainedRows, drainedBytes, canceled := 0, 0, false
	for reader.NextRow() {
		if err != nil || canceled {
			continue
		}
		if !stale {
			if row := e.result.addRow(); row != nil {
				for i, raw := range reader.Values() {
					if raw != nil {
						e.result.size += len(raw)
						row[i] = columns.types[i].convert(raw)
					}
				}
				continue
			}
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
	case stale:
		return errStale
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

// known returns what is known of the statement of an execution. A direct session prepares it. Behind a pooler the
// server describes the first execution of a statement, one that a caller wrote, and one that binds bytes or a time with
// an offset, whose form depends on the type of the parameter.
func (tx *pgTransaction) known(ctx context.Context, e *execution) (*pgStatement, error) {
	if tx.direct && !e.byCaller {
		key := tx.statementKey(e.text)
		// Before it takes the role, PostgreSQL would check and find tables as the login does.
		if (tx.begun && !tx.set || !tx.begun && tx.as.role != "") && !tx.statements.Contains(key) {
			if err := tx.setSettings(ctx); err != nil {
				return nil, err
			}
		}
		return tx.prepare(ctx, tx.conn, key, e.text)
	}
	dependsOnType := func(v any) bool { _, isBytes := v.([]byte); return isBytes || mayHaveOffset(v) }
	if !e.byCaller && !slices.ContainsFunc(e.args, dependsOnType) {
		if known := tx.database.types.get(tx.statementKey(e.text)); known != nil {
			return known, nil
		}
	}
	described, err := tx.describeText(ctx, e.text)
	if err != nil {
		return nil, err
	}
	known := newPgStatement(described, e.text)
	if lookup := catalogLookup(known.params); lookup != "" {
		if known.catalog, err = tx.lookUp(ctx, lookup); err != nil {
			return nil, err
		}
	}
	if !e.byCaller {
		tx.database.types.add(tx.statementKey(e.text), known)
	}
	return known, nil
}

// setSettings sets the settings in the transaction.
func (tx *pgTransaction) setSettings(ctx context.Context) error {
	pipe := tx.start(ctx)
	err := pipe.begin()
	if closeErr := pipe.Close(); err == nil {
		err = closeErr
	}
	return err
}

// describeText lets the server describe a statement in the transaction.
func (tx *pgTransaction) describeText(ctx context.Context, text string) (*pgconn.StatementDescription, error) {
	pipe := tx.start(ctx)
	pipe.SendPrepare("", text, nil)
	err := pipe.begin()
	var result any
	if err == nil {
		result, err = pipe.GetResults()
	}
	if closeErr := pipe.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	described, ok := result.(*pgconn.StatementDescription)
	if !ok {
		return nil, errUnexpected
	}
	return described, nil
}

// describe returns the parameters and the columns of a statement.
func (tx *pgTransaction) describe(ctx context.Context, text string) (info statementInfo, err error) {
	described, err := tx.describeText(ctx, text)
	if err != nil {
		return info, tx.interruption(ctx, err)
	}
	info.params = len(described.ParamOIDs)
	known := newPgStatement(described, text)
	var catalog pgCatalog
	if known.lookup != "" {
		catalog, err = tx.lookUp(ctx, known.lookup)
	}
	for _, f := range described.Fields {
		info.columns = append(info.columns, column{f.Name, tx.database.types.typeOf(f.DataTypeOID, catalog).schema})
	}
	return info, tx.interruption(ctx, err)
}

// lookUp reads types in the catalog.
func (tx *pgTransaction) lookUp(ctx context.Context, lookup string) (catalog pgCatalog, err error) {
	pipe := tx.start(ctx)
	pipe.send(lookup)
	if err = pipe.begin(); err == nil {
		catalog, err = readCatalog(pipe)
	}
	if closeErr := pipe.Close(); err == nil {
		err = closeErr
	}
	return catalog, err
}

// commit commits the transaction if it has begun. The statements after COMMIT are sent in the same message, so that a
// pooler does not give them another connection: they remove what the transaction has put into the session.
func (tx *pgTransaction) commit(ctx context.Context) error {
	if !tx.begun {
		return nil
	}
	committed, err := tx.exec(ctx, "COMMIT; "+tx.cleanUp())
	if err != nil && !tx.conn.IsClosed() {
		if _, failed := tx.exec(ctx, tx.cleanUp()); failed != nil {
			defer tx.conn.Close(context.WithoutCancel(ctx))
		}
	}
	switch {
	case committed == "COMMIT":
		return nil
	case committed != "":
		return errNotCommitted
	case tx.conn.IsClosed():
		return fmt.Errorf("%w: %w", errCommitLost, err)
	}
	return err
}

// exec executes statements, and returns the tag of the first one; empty if it has failed.
func (tx *pgTransaction) exec(ctx context.Context, text string) (tag string, err error) {
	results := tx.conn.Exec(ctx, text)
	for first := true; results.NextResult(); first = false {
		done, err := results.ResultReader().Close()
		if first && err == nil {
			tag = done.String()
		}
	}
	return tag, results.Close()
}

// cleanUp returns the statements after the end of a transaction, which remove what it has put into the session.
func (tx *pgTransaction) cleanUp() string {
	if tx.direct {
		return tx.database.resetSession
	}
	text := cleanSession
	if tx.mayLock {
		text += "; " + unlockAll
	}
	if tx.before != nil {
		text += "; " + restoreSettings(tx.database.sessionNames, tx.before)
	}
	return text
}

// rollback ends the transaction if it is open and returns the cause of the rollback. If ROLLBACK fails
// too, the pool closes the connection, because it is still in a transaction.
func (tx *pgTransaction) rollback(ctx context.Context, cause error) error {
	tx.begun, tx.set = false, false
	if tx.conn.IsClosed() || tx.conn.TxStatus() == 'I' {
		return cause
	}
	text := "ROLLBACK"
	if !tx.readOnly {
		text += "; " + tx.cleanUp()
	} else if tx.mayLock {
		text += "; " + unlockAll
	}
	if _, err := tx.conn.Exec(ctx, text).ReadAll(); cause == nil {
		return tx.interruption(ctx, err)
	}
	return cause
}
