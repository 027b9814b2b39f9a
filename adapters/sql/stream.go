package sql

import (
	"context"
	"errors"

	"hatchel/adapters"
)

// rowStream passes the rows of a query to a reader as they arrive.
type rowStream struct {
	reader  adapters.RowReader
	row     []any // of the driver; passed on when the next row begins
	pending bool
	err     error // of the reader
}

func (s *rowStream) begin(c *resultColumns) error {
	names := make([]string, len(c.columns))
	for i, column := range c.columns {
		names[i] = column.name
	}
	s.row = make([]any, len(names))
	s.err = s.reader.Begin(names)
	return s.err
}

// addRow returns the cells of the next row to fill, or nil if the reader wants no more.
func (s *rowStream) addRow() []any {
	if s.flush(); s.err != nil {
		return nil
	}
	s.pending = true
	clear(s.row)
	return s.row
}

// flush passes the last row to the reader.
func (s *rowStream) flush() {
	if !s.pending || s.err != nil {
		return
	}
	s.pending = false
	for i, v := range s.row {
		if n, ok := v.(int64); ok {
			s.row[i] = int(n)
		}
	}
	s.err = s.reader.Row(s.row)
}

// errStreamLost is the error of a connection that was lost while the reader had received a part of the rows.
var errStreamLost = errors.New("the connection ended within the rows")

// Stream implements adapters.Streamer.
func (a *action) Stream(ctx context.Context, call *adapters.Call, reader adapters.RowReader) error {
	s := &rowStream{reader: reader}
	statement := a.Query.Statements()[0]
	e := &execution{isQuery: true, last: true, origin: origin{call, a.dialect}}
	as, err := a.traceIdentity(call)
	if err == nil {
		e.followed, err = a.follow(ctx, as)
	}
	if err == nil {
		err = e.bind(statement, call.Frame)
	}
	if err == nil {
		err = a.db.read(ctx, as, func(tx transaction) error {
			if s.row != nil {
				return errStreamLost
			}
			e.result = &resultSet{stream: s}
			return e.run(ctx, tx)
		})
	}
	if err != nil && s.err == nil {
		return a.toFault(ctx, as, err)
	}
	s.flush()
	return s.err
}
