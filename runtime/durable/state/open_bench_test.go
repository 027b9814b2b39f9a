package state_test

import (
	"testing"

	"hatchel/runtime/durable/postgres/postgrestest"
	"hatchel/runtime/durable/state"
)

// BenchmarkOpen opens an existing store and reads its secret, as a server does before its first answer.
func BenchmarkOpen(b *testing.B) {
	address, _ := postgrestest.Schema(b)
	for b.Loop() {
		s := openDatabase(b, address)
		must[[]byte](b)(state.Secret(b.Context(), s))
		check(b, s.Close())
	}
}
