package sql

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
)

// rowCounter counts rows, and samples the memory in use.
type rowCounter struct {
	columns []string
	rows    int
	last    []any
	highest uint64
	failAt  int // fails at this row; 0 for never
}

var errEnough = errors.New("the reader wants no more")

func (c *rowCounter) Begin(columns []string) error { c.columns = columns; return nil }

func (c *rowCounter) Row(cells []any) error {
	c.rows++
	c.last = append(c.last[:0], cells...)
	if c.rows%50_000 == 0 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		c.highest = max(c.highest, m.HeapInuse)
	}
	if c.rows == c.failAt {
		return errEnough
	}
	return nil
}

// numbers are queries of n and a name for n from 1 to input.n, in order.
var numbers = map[string]string{
	"sqlite":   "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${input.n}) SELECT n, 'name ' || n AS name FROM c",
	"postgres": "SELECT n, 'name ' || n AS name FROM generate_series(1, ${input.n}) AS n",
	"mysql":    "SELECT seq AS n, concat('name ', seq) AS name FROM seq_1_to_1000000 WHERE seq <= ${input.n}",
}

// eachEngine binds a query on each engine.
func eachEngine(t *testing.T, inputs string, queries map[string]string, test func(*testing.T, *adaptertest.BoundTool)) {
	body := func(kind string) string { return "query = " + heredoc(queries[kind]) }
	t.Run("sqlite", func(t *testing.T) { test(t, adaptertest.Bind(t, sqliteSource(t, inputs, body("sqlite")))) })
	eachServer(t, func(t *testing.T, s server) { test(t, s.bind(t, inputs, body(s.kind))) })
}

func stream(t *testing.T, b *adaptertest.BoundTool, arguments string, reader adapters.RowReader) error {
	t.Helper()
	call, err := b.Call(t.Context(), arguments)
	if err != nil {
		t.Fatal(err)
	}
	return b.Action.(adapters.Streamer).Stream(t.Context(), call, reader)
}

func TestStreamReadsAllRowsInLittleMemory(t *testing.T) {
	eachEngine(t, `input "n" { type = integer }`, numbers, func(t *testing.T, b *adaptertest.BoundTool) {
		var before runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		c := &rowCounter{}
		if err := stream(t, b, `{"n": 200000}`, c); err != nil {
			t.Fatal(err)
		}
		if c.rows != 200_000 || fmt.Sprint(c.columns, c.last) != "[n name] [200000 name 200000]" {
			t.Errorf("%d rows of %v, the last is %v", c.rows, c.columns, c.last)
		}
		if c.highest > before.HeapInuse+8<<20 {
			t.Errorf("%d MiB are used, %d MiB before", c.highest>>20, before.HeapInuse>>20)
		}
		c = &rowCounter{}
		if err := stream(t, b, `{"n": 1}`, c); err != nil || c.rows != 1 {
			t.Errorf("a second stream has %d rows: %v", c.rows, err)
		}
	})
}

func TestStreamEndsWithTheErrorOfItsReader(t *testing.T) {
	eachEngine(t, `input "n" { type = integer }`, numbers, func(t *testing.T, b *adaptertest.BoundTool) {
		c := &rowCounter{failAt: 10}
		if err := stream(t, b, `{"n": 200000}`, c); err != errEnough || c.rows != 10 {
			t.Errorf("%d rows, %v", c.rows, err)
		}
		if out, err := b.Do(t.Context(), `{"n": 2}`); err != nil || len(out) == 0 {
			t.Errorf("the connection cannot be used afterwards: %v", err)
		}
	})
}

func TestStreamFailsWithTheQuery(t *testing.T) {
	queries := map[string]string{
		"sqlite":   "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100000) SELECT abs(CASE WHEN n = 90000 THEN -9223372036854775807 - 1 ELSE n END) AS n FROM c",
		"postgres": "SELECT 1 / (n - 90000) AS n FROM generate_series(1, 100000) AS n",
		"mysql":    "SELECT CASE WHEN seq = 90000 THEN (SELECT seq FROM seq_1_to_2) ELSE seq END AS n FROM seq_1_to_100000",
	}
	eachEngine(t, "", queries, func(t *testing.T, b *adaptertest.BoundTool) {
		c := &rowCounter{}
		err := stream(t, b, `{}`, c)
		if fault := new(adapters.Fault); !errors.As(err, &fault) || c.rows == 0 {
			t.Errorf("%d rows, %v", c.rows, err)
		}
	})
}

func TestStreamEndsWithItsContext(t *testing.T) {
	eachEngine(t, `input "n" { type = integer }`, numbers, func(t *testing.T, b *adaptertest.BoundTool) {
		call, err := b.Call(t.Context(), `{"n": 1000000}`)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		c := &cancelingReader{cancel: cancel}
		if err := b.Action.(adapters.Streamer).Stream(ctx, call, c); !errors.Is(err, context.Canceled) || c.rows == 1_000_000 {
			t.Errorf("%d rows, %v", c.rows, err)
		}
	})
}

// cancelingReader cancels the call at its first row.
type cancelingReader struct {
	rowCounter
	cancel func()
}

func (c *cancelingReader) Row(cells []any) error {
	c.cancel()
	return c.rowCounter.Row(cells)
}
