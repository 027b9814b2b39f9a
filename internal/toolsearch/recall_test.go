package toolsearch_test

import (
	_ "embed"
	"slices"
	"strings"
	"testing"

	"hatchel/internal/toolsearch"
)

var (
	//go:embed testdata/questions.txt
	questions string
	//go:embed testdata/questions_unseen.txt
	unseenQuestions string
)

// TestTheRightToolIsAmongTheFirstFive asks written questions of 1,000 tools, as users ask them.
func TestTheRightToolIsAmongTheFirstFive(t *testing.T) {
	const minRecall = 0.85
	tools := catalogue(t)
	index := toolsearch.New(tools)
	for _, set := range []struct {
		name, questions string
		number          int
	}{{"questions", questions, 120}, {"unseen questions", unseenQuestions, 80}} {
		t.Run(set.name, func(t *testing.T) {
			number, first, firstFive := 0., 0., 0.
			for _, question := range lines(set.questions) {
				accepted := strings.Fields(question[1])
				found := names(tools, index.Find(question[0], nil, 5))
				rank := slices.IndexFunc(found, func(name string) bool { return slices.Contains(accepted, name) })
				if number++; rank >= 0 {
					firstFive++
				}
				if rank == 0 {
					first++
				}
				if err := toolsearch.Check(question[0]); err != nil {
					t.Error(err)
				}
				if rank < 0 {
					t.Logf("%q finds %v, and not %v", question[0], found, accepted)
				}
			}
			t.Logf("%v questions: recall@1 %.3f, recall@5 %.3f", number, first/number, firstFive/number)
			if int(number) != set.number || firstFive/number < minRecall {
				t.Errorf("%v of %v questions find their tool among the first five", firstFive, number)
			}
		})
	}
}
