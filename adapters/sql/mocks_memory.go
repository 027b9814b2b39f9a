//go:build cgo

package sql

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"encoding/base64"
	"io"
	"net/url"

	"github.com/mattn/go-sqlite3"

	"hatchel/adapters"
)

// makeMemory makes the database in memory with the statements of its connection and of the mock.
func (m *mockedDatabase) makeMemory(ctx context.Context, c *sqliteConnection, env adapters.Env, init string) error {
	memory := newSQLiteDatabase(ctx, c, "/"+rand.Text(), env, true)
	m.memory = memory
	first, err := memory.openConn(nil, memory.dsn("rwc", url.Values{}))
	if err != nil {
		return err
	}
	env.Defer(first.close)
	m.mocks.Use(m.standIn, func(ctx context.Context, args map[string]any) (out []map[string]any, err error) {
		text, _ := args["query"].(string)
		err = m.limit(ctx, func(ctx context.Context) error {
			out, err = queryMemory(ctx, first.raw, text)
			return err
		})
		return out, err
	})
	return m.limit(ctx, func(ctx context.Context) error {
		for _, text := range append(memory.initStatements(), init) {
			if _, err := first.raw.ExecContext(ctx, text, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// queryMemory returns the rows of a query of a database in memory.
func queryMemory(ctx context.Context, conn *sqlite3.SQLiteConn, text string) (out []map[string]any, err error) {
	rows, err := conn.QueryContext(ctx, text, nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns := rows.Columns()
	for {
		cells := make([]driver.Value, len(columns))
		if err := rows.Next(cells); err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		row := make(map[string]any, len(columns))
		for i, name := range columns {
			switch v := cells[i].(type) {
			case int64:
				row[name] = int(v)
			case []byte:
				row[name] = base64.StdEncoding.EncodeToString(v)
			default:
				row[name] = v
			}
		}
		out = append(out, row)
	}
}
