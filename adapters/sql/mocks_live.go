package sql

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"hatchel/adapters"
	"hatchel/hcl/eval"
	"hatchel/hcl/mock"
	"hatchel/internal/lazyregexp"
)

// checkBegun reports that the real database has not begun the transaction.
func (tx *mockedTransaction) checkBegun(err error) {
	if err != nil && tx.executed == nil {
		tx.database.mocks.FailRecording(nil, "the database %s cannot be reached: %s", tx.database.connection, err)
	}
}

// runLive executes a statement in the real database, and records its answer.
func (tx *mockedTransaction) runLive(ctx context.Context, q *mock.Question, e *execution) error {
	known := e.result.rows
	var kept *keptRows
	if stream := e.result.stream; stream != nil {
		kept = &keptRows{RowReader: stream.reader}
		stream.reader = kept
	}
	err := tx.executed.run(ctx, e)
	var answer *mockedResult
	switch {
	case kept != nil:
		e.result.stream.flush()
		answer = kept.answer()
	case !e.result.truncated:
		answer = e.answer(known)
	}
	mocks := tx.database.mocks
	switch rejected := rejection(err); {
	case rejected != nil:
		mocks.Record(q, rejected)
	case err != nil:
		mocks.FailRecording(nil, "%s has failed: %s", q.Name, err)
	case answer == nil:
		mocks.FailRecording(nil, "the rows of %s are not complete: they were cut, or are too many for a tape", q.Name)
	default:
		mocks.Record(q, answer.taped())
	}
	return err
}

// taped returns the result as a tape has it. It is the inverse of newMockedResult.
func (r *mockedResult) taped() map[string]any {
	reply := map[string]any{}
	if r.affected != 0 {
		reply["affected"] = r.affected
	}
	if r.columns != nil {
		columns, rows := make([]any, len(r.columns)), make([]any, len(r.rows))
		for i, name := range r.columns {
			columns[i] = name
		}
		for i, row := range r.rows {
			rows[i] = row
		}
		reply["columns"], reply["cells"] = columns, rows
	}
	if r.lastID != nil {
		reply["last_id"] = r.lastID
	}
	return reply
}

// maxKept is the size in bytes from which streamed rows are not kept.
const maxKept = 8 << 20

// keptRows passes rows on to a reader, and keeps them.
type keptRows struct {
	adapters.RowReader
	result mockedResult
	size   int
}

// Begin implements adapters.RowReader.
func (k *keptRows) Begin(columns []string) error {
	k.result.columns = slices.Clone(columns)
	return k.RowReader.Begin(columns)
}

// Row implements adapters.RowReader.
func (k *keptRows) Row(cells []any) error {
	for _, v := range cells {
		text, _ := v.(string)
		k.size += 16 + len(text)
	}
	if k.size <= maxKept {
		k.result.rows = append(k.result.rows, slices.Clone(cells))
	}
	return k.RowReader.Row(cells)
}

// answer returns the rows, or nil if they are too many.
func (k *keptRows) answer() *mockedResult {
	if k.size > maxKept {
		return nil
	}
	return &k.result
}

// answer returns what the execution has added to its result, which had known rows before.
func (e *execution) answer(known int) *mockedResult {
	out := &mockedResult{affected: e.affected, lastID: e.lastID}
	if e.result.columns == nil {
		return out
	}
	for _, c := range e.result.columns.columns {
		out.columns = append(out.columns, c.name)
	}
	n := len(out.columns)
	for i := known; i < e.result.rows; i++ {
		row := slices.Clone(e.result.cells[i*n : i*n+n])
		for k, v := range row {
			if number, ok := v.(int64); ok {
				row[k] = int(number)
			}
		}
		out.rows = append(out.rows, row)
	}
	return out
}

// unquotedRejection returns the reply of a rejection without what may be values in its texts, and with the names that a
// report reads from them.
func unquotedRejection(reply map[string]any) map[string]any {
	message, rejected := reply["error"].(string)
	if !rejected {
		return reply
	}
	code, _ := reply["code"].(string)
	state, isMySQL := reply["state"].(string)
	routine, _ := reply["routine"].(string)
	name, _ := reply["name"].(string)
	number, err := strconv.ParseUint(code, 10, 16)
	var r report
	kept := ""
	switch {
	case isMySQL:
		e := &mysql.MySQLError{Number: uint16(number), Message: message}
		copy(e.SQLState[:], state)
		r = readMySQLReport(e)
		if pattern := mysqlNames[r.message]; pattern != nil {
			kept = pattern.FindString(message)
		}
	case err != nil || len(code) == sqlStateLength:
		r = readPostgresReport(&pgconn.PgError{Code: code, Message: message, Routine: routine})
		if r.message == msgReferenced || r.message == msgViewCheck {
			kept = strconv.Quote(name)
		}
		for _, prefix := range []string{"insert or update on table ", "update or delete on table "} {
			if strings.HasPrefix(message, prefix) && r.message != msgRaised {
				kept = prefix + kept
			}
		}
	default:
		r = readSQLiteReport(sqliteResult(number), message)
		if kept = sqliteRefused.FindString(message); r.violated != nil && isSafeName(r.name) {
			return reply
		}
	}
	if !r.quotes {
		return reply
	}
	out := maps.Clone(reply)
	delete(out, "hint")
	out["error"] = cmp.Or(kept, eval.MaskedText)
	return out
}

// sqlStateLength is the length of the codes of PostgreSQL.
const sqlStateLength = 5

// mysqlNames are the parts of messages that a report reads.
var mysqlNames = map[string]*lazyregexp.Regexp{
	msgUnique: duplicateKey, msgNotNull: nameInMessage, msgCheck: failedCheck,
	msgMissing: foreignKey, msgReferenced: foreignKey,
}

// rejection returns the error of a database that rejects a statement as a tape has it, or nil. It is the inverse of
// engineError.
func rejection(err error) map[string]any {
	var postgres *pgconn.PgError
	var maria *mysql.MySQLError
	reply := map[string]any{}
	switch {
	case errors.As(err, &postgres):
		reply["error"], reply["code"], reply["hint"] = postgres.Message, postgres.Code, postgres.Hint
		r := readPostgresReport(postgres)
		reply["name"], reply["constraint"], reply["table"] = r.name, postgres.ConstraintName, postgres.TableName
		if r.violated != nil && r.violated.Columns != nil {
			reply["column"] = strings.Join(r.violated.Columns, ", ")
		}
		if postgres.Routine == raiseRoutine {
			reply["routine"] = raiseRoutine
		}
	case errors.As(err, &maria):
		reply["error"], reply["code"] = maria.Message, strconv.Itoa(int(maria.Number))
		reply["state"] = strings.TrimRight(string(maria.SQLState[:]), "\x00")
	default:
		result := engineResultOf(err)
		if result == 0 {
			return nil
		}
		reply["error"], reply["code"] = err.Error(), strconv.Itoa(int(result))
	}
	maps.DeleteFunc(reply, func(name string, text any) bool { return name != "error" && text == "" })
	return reply
}
