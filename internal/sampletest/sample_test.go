package sampletest

import (
	"slices"
	"testing"
)

func TestASampleHasSomeOfTheCasesInTheirOrder(t *testing.T) {
	var cases []int
	for i := range 100 {
		cases = append(cases, i)
	}
	full = false
	for _, seed := range []string{"", "1", "2"} {
		t.Setenv("HATCHEL_TEST_SEED", seed)
		got := Of(t, 10, cases)
		if len(got) != 10 || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != 10 {
			t.Errorf("seed %s: %v", seed, got)
		}
		if !slices.Equal(got, Of(t, 10, cases)) {
			t.Errorf("seed %s gives other cases when it is used again", seed)
		}
	}
	if got := Of(t, 100, cases); !slices.Equal(got, cases) {
		t.Errorf("all: %v", got)
	}
	full = true
	if got := Of(t, 10, cases); !slices.Equal(got, cases) {
		t.Errorf("full: %v", got)
	}
}
