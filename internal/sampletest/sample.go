// Package sampletest chooses which cases of a large matrix a test judges: some of them in make test, all of them in
// make check-release.
package sampletest

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
)

// full reports whether all cases are judged, which make matrices sets.
var full = os.Getenv("HATCHEL_TEST_MATRIX") == "full"

// Of returns n of the cases, in their order; all of them if there are no more, or if the environment has
// HATCHEL_TEST_MATRIX=full. The choice is the same in each run, unless HATCHEL_TEST_SEED has another number than 1.
func Of[T any](t testing.TB, n int, cases []T) []T {
	t.Helper()
	if full || len(cases) <= n {
		return cases
	}
	seed := uint64(1)
	if text := os.Getenv("HATCHEL_TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("HATCHEL_TEST_SEED is no number: %q", text)
		}
	}
	t.Logf("%d of %d cases, by the seed %d", n, len(cases), seed)
	chosen := rand.New(rand.NewPCG(seed, uint64(len(cases)))).Perm(len(cases))[:n]
	slices.Sort(chosen)
	sample := make([]T, 0, n)
	for _, i := range chosen {
		sample = append(sample, cases[i])
	}
	return sample
}
