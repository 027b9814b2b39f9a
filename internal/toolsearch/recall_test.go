package toolsearch_test

import (
	"slices"
	"strings"
	"testing"

	"hatchel/internal/toolsearch"
)

// TestTheRightToolIsAmongTheFirstFive asks 120 written questions of 1,000 tools, as users ask them.
func TestTheRightToolIsAmongTheFirstFive(t *testing.T) {
	const minRecall = 0.85
	tools := catalogue(t)
	index := toolsearch.New(tools)
	questions := lines(questionsFile)
	first, firstFive := 0, 0
	for _, question := range questions {
		accepted := strings.Fields(question[1])
		found := names(tools, index.Find(question[0], nil, 5))
		isAccepted := func(name string) bool { return slices.Contains(accepted, name) }
		if len(found) > 0 && isAccepted(found[0]) {
			first++
		}
		if slices.ContainsFunc(found, isAccepted) {
			firstFive++
		} else {
			t.Logf("%q finds %v, and not %v", question[0], found, accepted)
		}
		if err := toolsearch.Check(question[0]); err != nil {
			t.Error(err)
		}
	}
	number := float64(len(questions))
	t.Logf("recall@1 %.3f, recall@5 %.3f", float64(first)/number, float64(firstFive)/number)
	if len(questions) != 120 || float64(firstFive)/number < minRecall {
		t.Errorf("%d of %d questions find their tool among the first five", firstFive, len(questions))
	}
}
