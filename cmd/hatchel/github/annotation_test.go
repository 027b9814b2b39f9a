package github

import (
	"strings"
	"testing"

	"hatchel/hcl/diag"
)

func annotated(t *testing.T, level string, at diag.Range, title, message string) string {
	t.Helper()
	var out strings.Builder
	if err := Annotate(&out, level, at, title, message); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestAnAnnotationNamesItsPlace(t *testing.T) {
	at := diag.Range{File: "tools/a.hcl", Start: diag.Pos{Line: 3, Column: 5}, End: diag.Pos{Line: 3, Column: 9}}
	got := annotated(t, "error", at, "Unknown input", `There is no input "nam".`)
	want := "::error file=tools/a.hcl,line=3,endLine=3,col=5,endColumn=9,title=Unknown input::There is no input \"nam\".\n"
	if got != want {
		t.Errorf("%q", got)
	}
}

// The columns of a span of several lines would be refused.
func TestAnAnnotationOfSeveralLinesHasNoColumns(t *testing.T) {
	at := diag.Range{File: "a.hcl", Start: diag.Pos{Line: 3, Column: 5}, End: diag.Pos{Line: 8, Column: 2}}
	if got := annotated(t, "warning", at, "x", "y"); got != "::warning file=a.hcl,line=3,endLine=8,title=x::y\n" {
		t.Errorf("%q", got)
	}
}

func TestNoTextBeginsAnotherCommand(t *testing.T) {
	at := diag.Range{File: "a,line=1::x\n.hcl"}
	got := annotated(t, "notice", at, "50%: a, b", "one\r\n::set-output name=x::y\n100%")
	want := "::notice file=a%2Cline=1%3A%3Ax%0A.hcl,title=50%25%3A a%2C b::one<U+000D>%0A::set-output name=x::y%0A100%25\n"
	if got != want {
		t.Errorf("%q", got)
	}
}
