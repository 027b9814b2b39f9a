package adapters

import "context"

// RowReader receives the rows of a query as they arrive. Its error ends the query.
type RowReader interface {
	// Begin is called once, with the names of the columns.
	Begin(columns []string) error
	// Row is called for each row. The cells belong to the caller.
	Row(cells []any) error
}

// Streamer is an Action whose rows can be read as they arrive. Stream returns when the reader has
// all of them, in one transaction without a limit of rows.
type Streamer interface {
	Stream(ctx context.Context, call *Call, reader RowReader) error
}

// RowStream is the value of rows that nothing has read yet. They can be read once.
type RowStream interface {
	Read(ctx context.Context, reader RowReader) error
}
