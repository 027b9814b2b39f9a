package examples_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// cells reads CSV as RFC 4180 has it, byte for byte, which encoding/csv does not: it changes line breaks within cells.
func cells(t *testing.T, src string) (rows [][]string) {
	t.Helper()
	for src != "" {
		var row []string
		for end := ""; end == "" || end == ","; {
			var cell string
			if rest, quoted := strings.CutPrefix(src, `"`); quoted {
				for {
					part, after, ok := strings.Cut(rest, `"`)
					if !ok {
						t.Fatalf("a cell does not end: %.100q", src)
					}
					cell, rest = cell+part, after
					if !strings.HasPrefix(rest, `"`) {
						break
					}
					cell, rest = cell+`"`, rest[1:]
				}
				src = rest
			} else {
				n := strings.IndexAny(src, ",\r\n")
				if n < 0 {
					n = len(src)
				}
				cell, src = src[:n], src[n:]
			}
			row = append(row, cell)
			switch {
			case strings.HasPrefix(src, ","):
				end, src = ",", src[1:]
			case strings.HasPrefix(src, "\r\n"):
				end, src = "\n", src[2:]
			case strings.HasPrefix(src, "\n"):
				end, src = "\n", src[1:]
			case src == "":
				end = "\n"
			default:
				t.Fatalf("after a cell comes %.100q", src)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// guarded is a cell that no spreadsheet computes.
func guarded(text string) string {
	if first, _ := utf8.DecodeRuneInString(text); text != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + text
	}
	return text
}

func TestHostileTextsInInvoices(t *testing.T) {
	t.Parallel()
	f := example(t, "invoices")
	s := f.serve()
	before := len(f.seeded(s))
	n := 0
	saved := func(t *testing.T, text string, r *reply) {
		var path string
		if _, err := fmt.Sscanf(r.text(), "CSV saved to %s (1 rows)", &path); err != nil {
			t.Fatalf("%v in %q", err, r.text())
		}
		src, err := os.ReadFile(f.file(path))
		if err != nil {
			t.Fatal(err)
		}
		rows := cells(t, string(src))
		if len(rows) != 2 || len(rows[1]) != 3 {
			t.Fatalf("%q makes %q", text, src)
		}
		same(t, "a cell", rows[1][2], guarded(text))
		name := strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], ".csv")
		if r := s.call("import_csv", object{"filename": name}); r.Failed {
			t.Logf("%q is not imported: %s", text, r.text())
			return
		}
		row := f.rows("SELECT vendor, date, amount FROM invoices ORDER BY id DESC LIMIT 1")
		same(t, "the ledger", row[0][0], guarded(text))
		var found []struct{ Vendor string }
		s.call("revenue_report", object{"from": "2001-01-01", "to": "2001-01-01", "vendors": []string{guarded(text)}}).into(t, &found)
		if len(found) != 1 {
			t.Errorf("%q is found as %q", text, found)
		} else {
			same(t, "the report", found[0].Vendor, guarded(text))
		}
	}
	row := func(vendor any) object {
		n++
		return object{"filename": fmt.Sprintf("hostile-%d", n), "rows": []object{invoice("2001-01-01", 1, vendor)}}
	}
	f.attack(t, s, []slot{
		{"the name of an imported file", "import_csv", func(text any) object { return object{"filename": text} }, never},
		{"the vendor of a saved row", "save_csv", row, saved},
		{"the name of a saved file", "save_csv", func(text any) object {
			return object{"filename": text, "rows": []object{invoice("2001-01-01", 1, "x")}}
		}, func(t *testing.T, text string, r *reply) {
			same(t, "the file", "invoices/"+text+".csv", pathIn(r.text()))
		}},
		{"the date of a saved row", "save_csv", func(text any) object {
			return object{"filename": "date", "rows": []object{invoice(text, 1, "x")}}
		}, never},
		{"the first day", "revenue_report", func(text any) object { return object{"from": text, "to": "2026-12-31"} }, never},
		{"the last day", "revenue_report", func(text any) object { return object{"from": "2026-01-01", "to": text} }, never},
		{"the order", "revenue_report", func(text any) object { return object{"from": "2026-01-01", "to": "2026-12-31", "sort": text} }, never},
		{"a vendor to report on", "revenue_report", func(text any) object {
			return object{"from": "2026-01-01", "to": "2026-12-31", "vendors": []any{text, "Granite Hosting"}}
		}, func(t *testing.T, text string, r *reply) {
			var found []struct{ Vendor string }
			if r.into(t, &found); len(found) != 1 || found[0].Vendor != "Granite Hosting" {
				t.Errorf("%.200q reports on %q", text, found)
			}
		}},
	})
	if after := f.rows("SELECT vendor FROM invoices WHERE date > '2002-01-01'"); len(after) != before {
		t.Errorf("of %d rows of the ledger %d are left", before, len(after))
	}
}

// seeded are the invoices of the ledger, once it exists.
func (f *folder) seeded(s *server) [][]string {
	f.t.Helper()
	s.call("revenue_report", object{"from": "2026-01-01", "to": "2026-01-01"})
	return f.rows("SELECT vendor FROM invoices")
}

// pathIn is the path that a saved file is said to have.
func pathIn(text string) string {
	path, _, _ := strings.Cut(strings.TrimPrefix(text, "CSV saved to "), " (")
	return path
}

func never(t *testing.T, text string, r *reply) {
	t.Helper()
	t.Errorf("%.200q was served: %.200q", text, r.text())
}

func TestHostileTextsInNotes(t *testing.T) {
	t.Parallel()
	f := example(t, "files")
	s := f.serve()
	n := 0
	fresh := func() string { n++; return fmt.Sprintf("note %d.md", n) }
	named := func(tool string) func(t *testing.T, text string, r *reply) {
		return func(t *testing.T, text string, r *reply) {
			if _, err := os.Lstat(f.file("notes", text)); err != nil || strings.Contains(text, "/") || strings.HasPrefix(text, ".") {
				t.Errorf("%s serves %.200q, %v", tool, text, err)
			}
		}
	}
	f.attack(t, s, []slot{
		{"the name of a note to read", "read_note", func(text any) object { return object{"name": text} }, never},
		{"the name of a table", "read_table", func(text any) object { return object{"name": text} }, never},
		{"the name of a table that ends well", "read_table", func(text any) object { return object{"name": fmt.Sprint(text, ".csv")} }, never},
		{"the name of a note to write", "write_note", func(text any) object { return object{"name": text, "content": "x"} }, named("write_note")},
		{"the name of a note that ends well", "write_note", func(text any) object { return object{"name": fmt.Sprint(text, ".md"), "content": "x", "replace": true} },
			func(t *testing.T, text string, r *reply) { named("write_note")(t, text+".md", r) }},
		{"the content of a note", "write_note", func(text any) object { return object{"name": fresh(), "content": text} }, func(t *testing.T, text string, r *reply) {
			same(t, "the file", f.read("notes", strings.TrimPrefix(r.text(), "Written: ")), text)
		}},
		{"a line of a note", "add_to_note", func(text any) object { return object{"name": fresh(), "lines": []any{text}} }, func(t *testing.T, text string, r *reply) {
			same(t, "the file", f.read("notes", strings.TrimPrefix(r.text(), "1 lines added to ")), text+"\n")
		}},
	})
}

func TestNamesThatLookAlikeAreDifferentFiles(t *testing.T) {
	t.Parallel()
	f := example(t, "files")
	f.write("notes/\u00e9.txt", "composed")
	f.write("notes/e\u0301.txt", "decomposed")
	f.write("notes/a b & 'c' $(d) %2e \U0001f600.txt", "odd")
	s := f.serve()
	expectText(t, s.call("read_note", object{"name": "\u00e9.txt"}), false, "composed")
	expectText(t, s.call("read_note", object{"name": "e\u0301.txt"}), false, "decomposed")
	expectText(t, s.call("read_note", object{"name": "a b & 'c' $(d) %2e \U0001f600.txt"}), false, "odd")
}
