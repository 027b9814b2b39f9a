package state

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
)

// TestATransactionWhoseContextEndsChangesNothing is about callers who hang up while their records are written.
func TestATransactionWhoseContextEndsChangesNothing(t *testing.T) {
	for name, path := range map[string]string{"in memory": "", "in a file": filepath.Join(t.TempDir(), "state.db")} {
		for _, a := range []access{writes, relaxed} {
			s, err := Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			const kept = "INSERT INTO owners VALUES ('kept', 1) ON CONFLICT DO NOTHING"
			const lost = "INSERT INTO owners VALUES ('lost', 1) ON CONFLICT DO NOTHING"
			err = s.run(t.Context(), a, func(ctx context.Context, x session) error {
				_, err := x.execute(ctx, kept)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, hangUp := context.WithCancel(t.Context())
			err = s.run(ctx, a, func(ctx context.Context, x session) error {
				hangUp()
				for { // until package sql has rolled it back
					if _, err := x.execute(context.WithoutCancel(ctx), lost); err != nil {
						return err
					}
				}
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: the transaction ends with %v", name, err)
			}
			var names string
			err = s.run(t.Context(), a, func(ctx context.Context, x session) error {
				return x.queryRow(ctx, "SELECT group_concat(name) FROM owners").Scan(&names)
			})
			if err != nil || names != "kept" {
				t.Errorf("%s: afterwards there is %q, %v", name, names, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
