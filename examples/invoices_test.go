package examples_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "github.com/mattn/go-sqlite3"
)

// ledger opens a SQLite file beside the server that writes it.
func (f *folder) ledger() *sql.DB {
	f.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+f.file("ledger.db")+"?mode=ro&_busy_timeout=5000")
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { db.Close() })
	return db
}

// rows are the cells of a query, read by a driver of our own.
func (f *folder) rows(query string) (rows [][]string) {
	f.t.Helper()
	found, err := f.ledger().Query(query)
	if err != nil {
		f.t.Fatal(err)
	}
	defer found.Close()
	names, _ := found.Columns()
	for found.Next() {
		row, cells := make([]string, len(names)), make([]any, len(names))
		for i := range row {
			cells[i] = &row[i]
		}
		if err := found.Scan(cells...); err != nil {
			f.t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if err := found.Err(); err != nil {
		f.t.Fatal(err)
	}
	return rows
}

type object = map[string]any

func invoice(date, amount, vendor any) object {
	return object{"date": date, "amount": amount, "vendor": vendor}
}

func expectText(t *testing.T, r *reply, failed bool, want string) {
	t.Helper()
	if r.Failed != failed || r.text() != want {
		t.Errorf("failed %v: %q, want %q", r.Failed, r.text(), want)
	}
}

func TestSavedInvoicesAreACSVFile(t *testing.T) {
	t.Parallel()
	f := example(t, "invoices")
	s := f.serve()
	rows := []object{invoice("2026-05-01", 640, "Northwind Paper"), invoice("2026-05-02", 75.3, `Harbor, "Blue" & Sons`)}
	const path = "invoices/may.csv"
	expectText(t, s.call("save_csv", object{"filename": "may", "rows": rows}), false, "CSV saved to "+path+" (2 rows)")
	want := "date,amount,vendor\n2026-05-01,640,Northwind Paper\n2026-05-02,75.3,\"Harbor, \"\"Blue\"\" & Sons\"\n"
	if got := strings.ReplaceAll(f.read("invoices", "may.csv"), "\r\n", "\n"); got != want {
		t.Errorf("the file holds %q, want %q", got, want)
	}

	expectText(t, s.call("save_csv", object{"filename": "may", "rows": rows[:1]}), true, "Failed to save CSV: file exists: "+path)
	if got := strings.Count(f.read("invoices", "may.csv"), "\n"); got != 3 {
		t.Errorf("the refused call has left %d lines", got)
	}
}

func TestWrongArgumentsAreRefusedAllAtOnceAndNothingIsDone(t *testing.T) {
	t.Parallel()
	f := example(t, "invoices")
	s := f.serve()
	r := s.call("save_csv", object{"filename": "../may", "rows": []object{
		invoice("2026-13-01", "640", strings.Repeat("x", 81)),
		{"date": "2026-05-01", "amount": 1},
	}, "overwrite": true})
	if !r.Failed {
		t.Fatalf("the call was served: %s", r.text())
	}
	for _, want := range []string{"filename", "rows[0].date", "rows[0].amount", "rows[0].vendor", "rows[1].vendor", `"overwrite"`} {
		if !strings.Contains(r.text(), want) {
			t.Errorf("there is no word about %s in:\n%s", want, r.text())
		}
	}
	r = s.call("revenue_report", object{"from": "2026-02-01", "to": "2026-01-01"})
	if !r.Failed || !strings.Contains(r.text(), "`from` must not be after `to`") {
		t.Errorf("a failed check reads %q", r.text())
	}
	entries, err := os.ReadDir(f.file("invoices"))
	if err != nil || len(entries) != 1 {
		t.Errorf("the shared drive holds %v, %v", entries, err)
	}
}

func TestDeniedPermissionIsTheReasonThatTheModelReads(t *testing.T) {
	t.Parallel()
	f := example(t, "invoices")
	cmd := f.command("serve", ".", "--listen", "127.0.0.1:0")
	if os.Getuid() == 0 { // whom nothing is denied
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		for _, dir := range []string{f.path, filepath.Dir(f.path), filepath.Dir(filepath.Dir(f.path))} { // which are the test's own
			f.must(os.Chmod(dir, 0o755))
		}
	} else {
		f.must(os.Chmod(f.file("invoices"), 0o555))
		t.Cleanup(func() { os.Chmod(f.file("invoices"), 0o755) })
	}
	s := f.start(cmd)
	r := s.call("save_csv", object{"filename": "may", "rows": []object{invoice("2026-05-01", 1, "x")}})
	expectText(t, r, true, "Failed to save CSV: permission denied on invoices/may.csv")
}

func TestRevenueIsSummedPerVendor(t *testing.T) {
	t.Parallel()
	f := example(t, "invoices")
	s := f.serve()
	type line struct {
		Vendor  string
		Revenue float64
	}
	for _, c := range []struct {
		name      string
		arguments object
		want      []line
	}{
		{"a period", object{"from": "2026-01-01", "to": "2026-02-28"}, []line{{"Blue Harbor Logistics", 310}, {"Northwind Paper", 1290.4}}},
		{"sorted", object{"from": "2026-01-01", "to": "2026-12-31", "sort": "revenue"}, []line{{"Blue Harbor Logistics", 310}, {"Northwind Paper", 1290.4}, {"Granite Hosting", 4500}}},
		{"some vendors", object{"from": "2026-01-01", "to": "2026-12-31", "vendors": []string{"Granite Hosting", "nobody"}}, []line{{"Granite Hosting", 4500}}},
		{"nothing", object{"from": "2020-01-01", "to": "2020-12-31"}, nil},
	} {
		var got []line
		s.call("revenue_report", c.arguments).into(t, &got)
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
	}
}

func TestReportGoesFromTheLedgerToAFile(t *testing.T) {
	t.Parallel()
	f := example(t, "invoices")
	s := f.serve()
	const path = "invoices/revenue-2026.csv"
	want := "vendor,invoices,revenue\nGranite Hosting,1,4500\nNorthwind Paper,2,1290.4\nBlue Harbor Logistics,1,310\n"
	for range 2 { // the second replaces the first
		expectText(t, s.call("export_report", object{"year": 2026}), false, "Report saved to "+path+" (3 vendors)")
		if got := strings.ReplaceAll(f.read("invoices", "revenue-2026.csv"), "\r\n", "\n"); got != want {
			t.Errorf("the file holds %q, want %q", got, want)
		}
	}
	expectText(t, s.call("export_report", object{"year": 2020}), true, "there are no invoices in that year")
	if _, err := os.Stat(f.file("invoices", "revenue-2020.csv")); err == nil {
		t.Error("a report of nothing was written")
	}
}

func TestImportIsOneTransaction(t *testing.T) {
	t.Parallel()
	f := example(t, "invoices")
	s := f.serve()
	expectText(t, s.call("import_csv", object{"filename": "2026-04"}), false, "Imported 2 invoices from 2026-04.csv")
	got := f.rows("SELECT date, amount, typeof(amount), vendor FROM invoices WHERE date LIKE '2026-04-%' ORDER BY date")
	if len(got) != 2 || strings.Join(got[0], "|") != "2026-04-02|640|integer|Northwind Paper" || strings.Join(got[1], "|") != "2026-04-17|75.3|real|Harbor, Blue & Sons" {
		t.Errorf("the ledger holds %q", got)
	}
	before := len(f.rows("SELECT id FROM invoices"))
	f.write("invoices/bad.csv", "date,amount,vendor\n2026-06-01,1,Fine\n2026-06-31,2,No such day\n")
	r := s.call("import_csv", object{"filename": "bad"})
	if !r.Failed {
		t.Errorf("a row that the ledger refuses was imported: %s", r.text())
	}
	if after := len(f.rows("SELECT id FROM invoices")); after != before {
		t.Errorf("%d rows of the failed import have stayed: %s", after-before, r.text())
	}
	r = s.call("import_csv", object{"filename": "none"})
	if !r.Failed || !strings.Contains(r.text(), "none.csv") {
		t.Errorf("a missing file reads %q", r.text())
	}
}
