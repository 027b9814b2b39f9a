package sql

import (
	"context"
	"database/sql"
	"encoding/json"
	"path/filepath"
	"testing"

	"hatchel/adapters/adaptertest"
	"hatchel/hcl/value"
)

func benchmarked(b *testing.B) *adaptertest.BoundTool {
	s := sqliteSource(b, idInput, `query = "SELECT id, name, price FROM items WHERE id = ${input.id}"`)
	bound := adaptertest.Bind(b, s)
	mustCall(b, bound, `{"id":1}`)
	return bound
}

// BenchmarkPointQuery reads one row and writes its JSON, as a call does.
func BenchmarkPointQuery(b *testing.B) {
	bound := benchmarked(b)
	for _, cancellable := range []bool{false, true} {
		name := "ctx=plain"
		ctx := context.Background()
		if cancellable {
			var cancel context.CancelFunc
			name = "ctx=cancellable"
			ctx, cancel = context.WithCancel(ctx)
			defer cancel()
		}
		b.Run(name, func(b *testing.B) {
			call, err := bound.Call(ctx, `{"id":1}`)
			if err != nil {
				b.Fatal(err)
			}
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				res, err := bound.Action.Do(ctx, call)
				if err != nil {
					b.Fatal(err)
				}
				dst = res.(map[string]any)["rows"].(value.LazyJSON).AppendJSON(dst[:0])
			}
		})
	}
}

// BenchmarkPointQueryFloor does the same with a prepared statement of database/sql and encoding/json.
func BenchmarkPointQueryFloor(b *testing.B) {
	bound := benchmarked(b)
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(bound.Dir, "shop.db")+"?mode=ro")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	stmt, err := db.Prepare("SELECT id, name, price FROM items WHERE id = ?")
	if err != nil {
		b.Fatal(err)
	}
	type item struct {
		ID    int     `json:"id"`
		Name  string  `json:"name"`
		Price float64 `json:"price"`
	}
	cancellable, cancel := context.WithCancel(b.Context())
	defer cancel()
	for name, ctx := range map[string]context.Context{"ctx=plain": context.Background(), "ctx=cancellable": cancellable} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rows, err := stmt.QueryContext(ctx, 1)
				if err != nil {
					b.Fatal(err)
				}
				items := []item{}
				for rows.Next() {
					var it item
					if err := rows.Scan(&it.ID, &it.Name, &it.Price); err != nil {
						b.Fatal(err)
					}
					items = append(items, it)
				}
				if err := rows.Close(); err != nil {
					b.Fatal(err)
				}
				if _, err := json.Marshal(items); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
