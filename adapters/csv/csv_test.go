package csv_test

import (
	stdcsv "encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hatchel/adapters"
	"hatchel/adapters/adaptertest"
	"hatchel/adapters/csv"
)

var testSet = adapters.Set{Adapters: []adapters.Adapter{csv.Adapter()}}

const invoices = `list(object({
      date   = string("Invoice date", { format = "date" })
      amount = number("Total")
      vendor = string("Supplier", { max_length = 80 })
    }))`

// source returns a tool that saves rows of a type; arguments are additional arguments of its csv block.
func source(dir, rows, arguments string) adaptertest.Source {
	return adaptertest.Source{Set: testSet, Dir: dir, HCL: fmt.Sprintf(`
tool "save_csv" {
  description = "Save rows."
  input "filename" { type = string }
  input "rows" { type = %s }
  csv {
    directory = "out"
    file      = "${input.filename}.csv"
    rows      = input.rows
    %s
  }
}
`, rows, arguments)}
}

// newOut creates a configuration directory with the directory out.
func newOut(t testing.TB) (dir, out string) {
	t.Helper()
	dir = t.TempDir()
	out = filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir, out
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func wantContent(t testing.TB, path, want string) {
	t.Helper()
	if got := readFile(t, path); got != want {
		t.Errorf("%s contains %q, want %q", path, got, want)
	}
}

func wantFiles(t testing.TB, dir string, want int) {
	t.Helper()
	if files, err := os.ReadDir(dir); err != nil || len(files) != want {
		t.Errorf("%s contains %v, %v", dir, files, err)
	}
}

func mustCall(t testing.TB, b *adaptertest.BoundTool, arguments string) map[string]any {
	t.Helper()
	out, err := b.Do(t.Context(), arguments)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// mustFail makes a call that fails and returns the message of its fault.
func mustFail(t testing.TB, b *adaptertest.BoundTool, arguments string) string {
	t.Helper()
	out, err := b.Do(t.Context(), arguments)
	var f *adapters.Fault
	if !errors.As(err, &f) {
		t.Fatalf("not a fault: %v, %v", out, err)
	}
	adaptertest.CheckFault(t, f)
	return f.Message
}

func wantFault(t testing.TB, b *adaptertest.BoundTool, arguments, want string) {
	t.Helper()
	if got := mustFail(t, b, arguments); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

const twoRows = `"rows": [{"vendor": "Acme", "date": "2026-01-02", "amount": 10.50}, {"date": "2026-01-03", "amount": -3, "vendor": "Bolt, \"B\" & Sons"}]`

func TestColumnsHaveTheOrderOfTheType(t *testing.T) {
	dir, out := newOut(t)
	path := filepath.Join(out, "a.csv")
	got := mustCall(t, adaptertest.Bind(t, source(dir, invoices, "")), `{"filename": "a", `+twoRows+`}`)
	if got["path"] != path || got["count"] != 2 {
		t.Errorf("output %v", got)
	}
	wantContent(t, path, "date,amount,vendor\r\n2026-01-02,10.5,Acme\r\n2026-01-03,-3,\"Bolt, \"\"B\"\" & Sons\"\r\n")
	wantFiles(t, out, 1)
}

func TestColumnsAreSelected(t *testing.T) {
	dir, out := newOut(t)
	arguments := "columns = [\"vendor\", \"amount\"]\n delimiter = \";\"\n header = false"
	mustCall(t, adaptertest.Bind(t, source(dir, invoices, arguments)), `{"filename": "a", `+twoRows+`}`)
	wantContent(t, filepath.Join(out, "a.csv"), "Acme;10.5\r\n\"Bolt, \"\"B\"\" & Sons\";-3\r\n")
}

func TestRowsWithoutAType(t *testing.T) {
	dir, out := newOut(t)
	b := adaptertest.Bind(t, source(dir, "list(any)", ""))
	t.Run("have sorted columns", func(t *testing.T) {
		mustCall(t, b, `{"filename": "a", "rows": [{"b": 1, "a": [1, null]}, {"c": true, "b": null}]}`)
		wantContent(t, filepath.Join(out, "a.csv"), "a,b,c\r\n\"[1,null]\",1,\r\n,,true\r\n")
	})
	t.Run("must be objects", func(t *testing.T) {
		wantFault(t, b, `{"filename": "b", "rows": [{"a": 1}, 7]}`, "row 2 must be an object, not number")
	})
}

func TestFormulas(t *testing.T) {
	const arguments = `{"filename": "a", "rows": [{"x": "=1+1"}, {"x": "+cmd"}, {"x": "-1+1"}, {"x": "@SUM(A1)"}, ` +
		`{"x": "\tx"}, {"x": "\rx"}, {"x": "\nx"}, {"x": "＝1"}, {"x": "＋1"}, {"x": "－1"}, {"x": "＠A"}, {"x": "-12.50"}, {"x": "-Infinity"}, {"x": "-9e999"}, {"x": -7}, {"x": "a=b"}]}`
	for formulas, want := range map[string]string{
		"escape": "x\r\n'=1+1\r\n'+cmd\r\n'-1+1\r\n'@SUM(A1)\r\n\"'\tx\"\r\n\"'\rx\"\r\n\"'\nx\"\r\n'＝1\r\n'＋1\r\n'－1\r\n'＠A\r\n-12.50\r\n-Infinity\r\n-9e999\r\n-7\r\na=b\r\n",
		"keep":   "x\r\n=1+1\r\n+cmd\r\n-1+1\r\n@SUM(A1)\r\n\"\tx\"\r\n\"\rx\"\r\n\"\nx\"\r\n＝1\r\n＋1\r\n－1\r\n＠A\r\n-12.50\r\n-Infinity\r\n-9e999\r\n-7\r\na=b\r\n",
		"refuse": "",
	} {
		t.Run(formulas, func(t *testing.T) {
			dir, out := newOut(t)
			b := adaptertest.Bind(t, source(dir, "list(object({ x = any }))", fmt.Sprintf("formulas = %q", formulas)))
			if formulas == "refuse" {
				wantFault(t, b, arguments,
					`row 1, column x: the text begins with "=", so a spreadsheet would interpret it as a formula`)
				wantFiles(t, out, 0)
				return
			}
			mustCall(t, b, arguments)
			wantContent(t, filepath.Join(out, "a.csv"), want)
		})
	}
}

func TestExistingFileIsNotOverwrittenByDefault(t *testing.T) {
	dir, out := newOut(t)
	path := filepath.Join(out, "a.csv")
	writeFile(t, path, "mine")
	wantFault(t, adaptertest.Bind(t, source(dir, invoices, "")), `{"filename": "a", `+twoRows+`}`, "file exists: "+path)
	wantContent(t, path, "mine")
}

func TestReplaceIsAtomicAndKeepsTheMode(t *testing.T) {
	dir, out := newOut(t)
	path := filepath.Join(out, "a.csv")
	writeFile(t, path, "x\r\n")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	b := adaptertest.Bind(t, source(dir, "list(object({ x = string }))", `if_exists = "replace"`))
	rows := func(n int) string {
		return `{"filename": "a", "rows": [` + strings.TrimSuffix(strings.Repeat(`{"x": "0123456789"},`, n), ",") + `]}`
	}
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if n := strings.Count(readFile(t, path), "\n"); n != 1 && n != 2001 && n != 3001 {
				t.Errorf("a reader saw %d lines", n)
				return
			}
		}
	})
	for range 20 {
		for _, n := range []int{2000, 3000} {
			if _, err := b.Do(t.Context(), rows(n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	close(stop)
	reader.Wait()
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v", info.Mode())
	}
}

func TestConcurrentAppendsKeepEveryRow(t *testing.T) {
	dir, out := newOut(t)
	src := source(dir, "list(object({ who = string, n = integer }))", `if_exists = "append"`)
	var wg sync.WaitGroup
	for who := range 8 {
		b := adaptertest.Bind(t, src)
		wg.Go(func() {
			for n := range 25 {
				if _, err := b.Do(t.Context(), fmt.Sprintf(`{"filename": "a", "rows": [{"who": "w%d", "n": %d}, {"who": "w%d", "n": %d}]}`, who, n, who, n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	r := stdcsv.NewReader(strings.NewReader(readFile(t, filepath.Join(out, "a.csv"))))
	records, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != 1+8*25*2 || records[0][0] != "who" {
		t.Errorf("%d records, the first is %v", len(records), records[0])
	}
}

func TestAppendAdaptsToTheFile(t *testing.T) {
	dir, out := newOut(t)
	path := filepath.Join(out, "a.csv")
	b := adaptertest.Bind(t, source(dir, "list(object({ a = string, b = string }))", `if_exists = "append"`))
	row := `{"filename": "a", "rows": [{"a": "1", "b": "2"}]}`
	t.Run("with a byte order mark, line feeds and an incomplete last line", func(t *testing.T) {
		writeFile(t, path, "\ufeffa,b\n0,0")
		mustCall(t, b, row)
		wantContent(t, path, "\ufeffa,b\n0,0\n1,2\n")
	})
	t.Run("with carriage returns", func(t *testing.T) {
		writeFile(t, path, "a,b\r0,0\r")
		mustCall(t, b, row)
		wantContent(t, path, "a,b\r0,0\r1,2\r")
		writeFile(t, path, "a,b\r0,0")
		mustCall(t, b, row)
		wantContent(t, path, "a,b\r0,0\r1,2\r")
	})
	t.Run("but not with another delimiter", func(t *testing.T) {
		writeFile(t, path, "a;b\n0;0\n")
		wantFault(t, b, row, `the cells of the file are separated by ";"; the tool must use delimiter = ";": `+path)
	})
	t.Run("but not in another encoding", func(t *testing.T) {
		writeFile(t, path, "\xff\xfea\x00,\x00b\x00\n\x00")
		wantFault(t, b, row, `the file is in utf-16le, and text is added in UTF-8 only: `+path)
	})
	t.Run("but not with other columns", func(t *testing.T) {
		writeFile(t, path, "b,a\r\n0,0\r\n")
		wantFault(t, b, row, "the file has the columns b, a, but the rows have the columns a, b: "+path)
		wantContent(t, path, "b,a\r\n0,0\r\n")
	})
}

func TestRejectedOutputIsNotWritten(t *testing.T) {
	for _, mode := range []string{"fail", "replace", "append"} {
		t.Run(mode, func(t *testing.T) {
			dir, out := newOut(t)
			b := adaptertest.Bind(t, source(dir, invoices, fmt.Sprintf("if_exists = %q", mode)))
			call, err := b.Call(t.Context(), `{"filename": "a", `+twoRows+`}`)
			if err != nil {
				t.Fatal(err)
			}
			rejection := &adapters.Fault{Message: "no"}
			call.CheckOutput = func(output any) error {
				if output.(map[string]any)["count"] != 2 {
					t.Errorf("the checked output is %v", output)
				}
				return rejection
			}
			if _, err := b.Action.Do(t.Context(), call); !errors.Is(err, rejection) {
				t.Errorf("got %v", err)
			}
			wantFiles(t, out, 0)
		})
	}
}

func TestNamesCannotLeaveTheDirectory(t *testing.T) {
	for _, mode := range []string{"fail", "replace", "append"} {
		dir, out := newOut(t)
		outside := t.TempDir()
		for link, to := range map[string]string{"away": outside, "up": "..", "linked.csv": filepath.Join(outside, "x.csv")} {
			if err := os.Symlink(to, filepath.Join(out, link)); err != nil {
				t.Fatal(err)
			}
		}
		names := []string{
			"../a", "..", "a/../../b", "/etc/x", "away/a", "up/a", ".hidden", "a/.b/c", `a\\b`, `..\\a`, "a\\u0000b", "a\\nb", "", "/",
			"a//b", "CON", "com1.x", "C:/x/../../..", "./a", "a/./b", strings.Repeat("x", 300), "no/such/directory/a",
		}
		if mode == "append" {
			names = append(names, "linked")
		}
		for _, name := range names {
			t.Run(mode+"/"+name, func(t *testing.T) {
				b := adaptertest.Bind(t, source(dir, invoices, fmt.Sprintf("if_exists = %q", mode)))
				got := mustFail(t, b, fmt.Sprintf(`{"filename": "%s", %s}`, name, twoRows))
				if strings.Contains(got, outside) {
					t.Error(got)
				}
				wantFiles(t, outside, 0)
				wantFiles(t, dir, 1)
			})
		}
	}
}

func TestMissingDirectoryIsReported(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	b := adaptertest.Bind(t, source(dir, invoices, ""))
	t.Run("until it exists", func(t *testing.T) {
		wantFault(t, b, `{"filename": "a", `+twoRows+`}`, "no such directory: "+out)
		if err := os.Mkdir(out, 0o755); err != nil {
			t.Fatal(err)
		}
		mustCall(t, b, `{"filename": "a", `+twoRows+`}`)
	})
	t.Run("below the directory", func(t *testing.T) {
		wantFault(t, b, `{"filename": "sub/a", `+twoRows+`}`, "no such directory: "+filepath.Join(out, "sub"))
	})
}

func TestMistakesAreRejectedAtLoad(t *testing.T) {
	for _, c := range []struct{ rows, arguments, want string }{
		{invoices, `columns = ["vendor", "amuont"]`, `The rows have no member "amuont". Did you mean "amount"?`},
		{invoices, `columns = ["date", "date"]`, `The column "date" is listed twice.`},
		{invoices, `delimiter = ",,"`, `delimiter must be one character`},
		{invoices, `if_exists = "overwrite"`, `if_exists is "fail", "replace" or "append", not "overwrite".`},
		{invoices, `formulas = "strip"`, `not "strip"`},
		{"string", "", "rows must be a list of objects, not string."},
		{"list(string)", "", "not a list of string"},
		{"list(list(string))", "", "write columns"},
	} {
		t.Run(c.rows+c.arguments, func(t *testing.T) {
			if got := adaptertest.MustReject(t, source("", c.rows, c.arguments)); !strings.Contains(got, c.want) {
				t.Error(got)
			}
		})
	}
}

func TestContract(t *testing.T) {
	for _, mode := range []string{"replace", "append"} {
		t.Run(mode, func(t *testing.T) {
			dir, _ := newOut(t)
			adaptertest.Run(t, adaptertest.Case{
				Source:       source(dir, invoices, fmt.Sprintf("if_exists = %q", mode)),
				ValidCall:    `{"filename": "a", ` + twoRows + `}`,
				FailingCalls: map[string]string{"outside": `{"filename": "../a", ` + twoRows + `}`, "no directory": `{"filename": "x/a", ` + twoRows + `}`},
			})
		})
	}
}

func BenchmarkRows(b *testing.B) {
	dir, _ := newOut(b)
	bound := adaptertest.Bind(b, source(dir, invoices, `if_exists = "replace"`))
	call, err := bound.Call(b.Context(), `{"filename": "a", "rows": [`+strings.TrimSuffix(strings.Repeat(`{"vendor": "Acme", "date": "2026-01-02", "amount": 10.50},`, 1000), ",")+`]}`)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bound.Action.Do(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}
