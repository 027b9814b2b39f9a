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
	//go:embed testdata/operations_questions.txt
	operationsQuestions string
	//go:embed testdata/hospital_questions.txt
	hospitalQuestions string
)

// TestTheRightToolIsAmongTheFirstFive asks written questions, as users ask them: of 1,000 tools of a company, and of
// catalogues of two trades. Those of a trade often name nothing that their tool is described by, as "where did the time
// go", and a lower bound keeps what is found of them.
func TestTheRightToolIsAmongTheFirstFive(t *testing.T) {
	company := catalogue(t)
	for _, set := range []struct {
		name, questions string
		tools           []toolsearch.Tool
		number          int
		minRecall       float64
	}{
		{"questions", questions, company, 120, 0.85},
		{"unseen questions", unseenQuestions, company, 80, 0.85},
		{"operations", operationsQuestions, written(operationsTools), 30, 0.75},
		{"hospital", hospitalQuestions, written(hospitalTools), 30, 0.75},
	} {
		t.Run(set.name, func(t *testing.T) {
			index := toolsearch.New(set.tools)
			number, first, firstFive := 0., 0., 0.
			for _, question := range lines(set.questions) {
				accepted := strings.Fields(question[1])
				found := names(set.tools, index.Find(question[0], nil, 5))
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
			if int(number) != set.number || firstFive/number < set.minRecall {
				t.Errorf("%v of %v questions find their tool among the first five", firstFive, number)
			}
		})
	}
}
