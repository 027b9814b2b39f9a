package test_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"hatchel/cmd/hatchel/test"
)

// TestAMockOfAServerAsksAndAnswerBlocksAnswer runs tests of forms, pages and prompts, of tools that need an approval,
// and of steps that cannot ask.
func TestAMockOfAServerAsksAndAnswerBlocksAnswer(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/upstream_asks.txtar")
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := os.ReadFile("../../../examples/upstream/tracker.tools.json")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{"tracker.tools.json": {Data: definitions}}
	for _, f := range archive.Files {
		files[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	report, err := suiteIn(t, files).Run(t.Context(), test.Options{Parallel: 1, Repeat: 1})
	if err != nil {
		t.Fatal(err)
	}
	const refused = "an answer of the wrong type"
	for _, r := range report.Results {
		text := ""
		for _, p := range r.Failures {
			text += p.Detail + "\n"
		}
		switch {
		case r.Case.Name == refused && !strings.Contains(text, `The question "tracker.1" refuses the answer of the test`):
			t.Errorf("%s: %s", refused, text)
		case r.Case.Name != refused && r.Status != test.Passed:
			t.Errorf("%s: %s", r.Case.Name, text)
		}
	}
}
