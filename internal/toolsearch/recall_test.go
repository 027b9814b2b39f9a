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
	//go:embed testdata/bank_questions.txt
	bankQuestions string
	//go:embed testdata/parcel_questions.txt
	parcelQuestions string
	//go:embed testdata/university_questions.txt
	universityQuestions string
)

// TestTheRightToolIsAmongTheFirstFive asks written questions, as users ask them: of 1,000 tools of a company, and of
// catalogues of five trades. Those of a trade often name nothing that their tool is described by, as "where did the time
// go" and "give it to the lady next door", and lower bounds keep what is found of them.
func TestTheRightToolIsAmongTheFirstFive(t *testing.T) {
	company := catalogue(t)
	for _, set := range []struct {
		name, questions string
		tools           []toolsearch.Tool
		number          int
		minRecall       float64
	}{
		{"questions", questions, company, 120, 0.85},
		{"unseen questions", unseenQuestions, company, 80, 0.88},
		{"operations", operationsQuestions, written(operationsTools), 30, 0.86},
		{"hospital", hospitalQuestions, written(hospitalTools), 30, 0.9},
		{"bank", bankQuestions, written(bankTools), 60, 0.85},
		{"parcel", parcelQuestions, written(parcelTools), 40, 0.75},
		{"university", universityQuestions, written(universityTools), 60, 0.68},
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
