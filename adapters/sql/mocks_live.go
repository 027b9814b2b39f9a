package sql

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"

	"hatchel/adapters"
)

// checkBegun tells a transaction that the real database has not begun it.
func (tx *mockedTransaction) checkBegun(err error) {
	if err != nil && tx.executed == nil {
		tx.Unreachable(err)
	}
}

// runLive executes a statement in the real database, and passes its answer on to the mocks.
func (tx *mockedTransaction) runLive(ctx context.Context, s *adapters.Statement, e *execution) error {
	known := e.result.rows
	var kept *keptRows
	if stream := e.result.stream; stream != nil {
		kept = &keptRows{RowReader: stream.reader}
		stream.reader = kept
	}
	err := tx.executed.run(ctx, e)
	var answer *adapters.SQLResult
	switch {
	case kept != nil:
		e.result.stream.flush()
		answer = kept.answer()
	case !e.result.truncated:
		answer = e.answer(known)
	}
	reported := err
	if rejected := rejection(err); rejected != nil {
		reported = rejected
	}
	tx.Executed(s, answer, reported)
	return err
}

// maxKept is the size in bytes from which streamed rows are not kept.
const maxKept = 8 << 20

// keptRows passes rows on to a reader, and keeps them.
type keptRows struct {
	adapters.RowReader
	result adapters.SQLResult
	size   int
}

// Begin implements adapters.RowReader.
func (k *keptRows) Begin(columns []string) error {
	k.result.Columns = slices.Clone(columns)
	return k.RowReader.Begin(columns)
}

// Row implements adapters.RowReader.
func (k *keptRows) Row(cells []any) error {
	for _, v := range cells {
		text, _ := v.(string)
		k.size += 16 + len(text)
	}
	if k.size <= maxKept {
		k.result.Rows = append(k.result.Rows, slices.Clone(cells))
	}
	return k.RowReader.Row(cells)
}

// answer returns the rows, or nil if they are too many.
func (k *keptRows) answer() *adapters.SQLResult {
	if k.size > maxKept {
		return nil
	}
	return &k.result
}

// answer returns what the execution has added to its result, which had known rows before.
func (e *execution) answer(known int) *adapters.SQLResult {
	out := &adapters.SQLResult{Affected: e.affected, LastID: e.lastID}
	if e.result.columns == nil {
		return out
	}
	for _, c := range e.result.columns.columns {
		out.Columns = append(out.Columns, c.name)
	}
	n := len(out.Columns)
	for i := known; i < e.result.rows; i++ {
		row := slices.Clone(e.result.cells[i*n : i*n+n])
		for k, v := range row {
			if number, ok := v.(int64); ok {
				row[k] = int(number)
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// rejection returns the error of a database that rejects a statement, or nil. It is the inverse of engineError.
func rejection(err error) *adapters.SQLError {
	var postgres *pgconn.PgError
	var maria *mysql.MySQLError
	var lite sqlite3.Error
	switch {
	case errors.As(err, &postgres):
		return &adapters.SQLError{Code: postgres.Code, Message: postgres.Message, Hint: postgres.Hint,
			Name: readPostgresReport(postgres).name}
	case errors.As(err, &maria):
		return &adapters.SQLError{Code: strconv.Itoa(int(maria.Number)), Message: maria.Message,
			State: strings.TrimRight(string(maria.SQLState[:]), "\x00")}
	case errors.As(err, &lite):
		return &adapters.SQLError{Code: strconv.Itoa(int(lite.ExtendedCode)), Message: lite.Error()}
	}
	return nil
}
