package openapi

import (
	"strings"
	"testing"

	"hatchel/cmd/hatchel/importer"
)

// ReportFaults fails for what is a mistake of the importer, whatever the document has.
func ReportFaults(t testing.TB, r *importer.Result) {
	t.Helper()
	for _, l := range r.Losses {
		if l.Kind == Fault {
			t.Errorf("%s: %s", l.Name, l.Detail)
		}
	}
}

// An operation that makes the importer fail is no mistake of its document.
func TestAFaultOfTheImporterIsReportedAsItsOwn(t *testing.T) {
	g := &generator{result: &importer.Result{}, operations: []*operation{{path: "/a", method: "get"}}}
	g.build() // without the schemas and connections that Import sets
	if len(g.operations) != 0 || len(g.result.Losses) != 1 {
		t.Fatalf("operations %v, losses %v", g.operations, g.result.Losses)
	}
	l := g.result.Losses[0]
	if l.Kind != Fault || !strings.HasPrefix(l.Detail, "hatchel has failed at this operation") ||
		!strings.Contains(l.Detail, "nil pointer") {
		t.Errorf("got %+v", l)
	}
}
