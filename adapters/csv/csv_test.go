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

var set = adapters.Set{Adapters: []adapters.Adapter{csv.Adapter()}}

const invoices = `list(object({
      date   = string("Invoice date", { format = "date" })
      amount = number("Total")
      vendor = string("Supplier", { max_length = 80 })
    }))`

// saver is a tool that saves rows of a type; more is further arguments of its csv block.
func saver(dir, rows, more string) adaptertest.Source {
	return adaptertest.Source{Set: set, Dir: dir, HCL: fmt.Sprintf(`
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
`, rows, more)}
}

// folder makes the folder of a configuration with its folder for files.
func folder(t testing.TB) (dir, out string) {
	dir = t.TempDir()
	out = filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir, out
}

func content(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// refused makes a call that must end in a fault and returns what it says.
func refused(t testing.TB, b *adaptertest.Bound, arguments string) string {
	t.Helper()
	out, err := b.Do(t.Context(), arguments)
	var f *adapters.Fault
	if !errors.As(err, &f) {
		t.Fatalf("not a fault: %v, %v", out, err)
	}
	adaptertest.CheckFault(t, f)
	return f.Message
}

const two = `"rows": [{"vendor": "Acme", "date": "2026-01-02", "amount": 10.50}, {"date": "2026-01-03", "amount": -3, "vendor": "Bolt, \"B\" & Sons"}]`

func TestColumnsAreInTheOrderOfTheType(t *testing.T) {
	dir, out := folder(t)
	b := adaptertest.Bind(t, saver(dir, invoices, ""))
	got, err := b.Do(t.Context(), `{"filename": "a", `+two+`}`)
	if err != nil {
		t.Fatal(err)
	}
	if got["path"] != filepath.Join(out, "a.csv") || got["count"] != 2 {
		t.Errorf("output %v", got)
	}
	want := "date,amount,vendor\r\n2026-01-02,10.5,Acme\r\n2026-01-03,-3,\"Bolt, \"\"B\"\" & Sons\"\r\n"
	if text := content(t, filepath.Join(out, "a.csv")); text != want {
		t.Errorf("wrote %q", text)
	}
	if left, _ := os.ReadDir(out); len(left) != 1 {
		t.Errorf("the folder holds %v", left)
	}
}

func TestColumnsCanBeChosen(t *testing.T) {
	dir, out := folder(t)
	b := adaptertest.Bind(t, saver(dir, invoices, `columns = ["vendor", "amount"]
    delimiter = ";"
    header = false`))
	if _, err := b.Do(t.Context(), `{"filename": "a", `+two+`}`); err != nil {
		t.Fatal(err)
	}
	if text := content(t, filepath.Join(out, "a.csv")); text != "Acme;10.5\r\n\"Bolt, \"\"B\"\" & Sons\";-3\r\n" {
		t.Errorf("wrote %q", text)
	}
}

func TestRowsWithoutATypeAreSortedAndComplete(t *testing.T) {
	dir, out := folder(t)
	b := adaptertest.Bind(t, saver(dir, "list(any)", ""))
	if _, err := b.Do(t.Context(), `{"filename": "a", "rows": [{"b": 1, "a": [1, null]}, {"c": true, "b": null}]}`); err != nil {
		t.Fatal(err)
	}
	if text := content(t, filepath.Join(out, "a.csv")); text != "a,b,c\r\n\"[1,null]\",1,\r\n,,true\r\n" {
		t.Errorf("wrote %q", text)
	}
	if said := refused(t, b, `{"filename": "b", "rows": [{"a": 1}, 7]}`); said != "row 2 must be an object, got number" {
		t.Error(said)
	}
}

func TestFormulasAreMadeText(t *testing.T) {
	cells := `"rows": [{"x": "=1+1"}, {"x": "+cmd"}, {"x": "-1+1"}, {"x": "@SUM(A1)"}, {"x": "\tx"}, {"x": "\rx"}, {"x": "-12.50"}, {"x": -7}, {"x": "a=b"}]`
	for formulas, want := range map[string]string{
		"escape": "x\r\n'=1+1\r\n'+cmd\r\n'-1+1\r\n'@SUM(A1)\r\n\"'\tx\"\r\n\"'\rx\"\r\n-12.50\r\n-7\r\na=b\r\n",
		"keep":   "x\r\n=1+1\r\n+cmd\r\n-1+1\r\n@SUM(A1)\r\n\"\tx\"\r\n\"\rx\"\r\n-12.50\r\n-7\r\na=b\r\n",
	} {
		dir, out := folder(t)
		b := adaptertest.Bind(t, saver(dir, "list(object({ x = any }))", fmt.Sprintf("formulas = %q", formulas)))
		if _, err := b.Do(t.Context(), `{"filename": "a", `+cells+`}`); err != nil {
			t.Fatal(err)
		}
		if text := content(t, filepath.Join(out, "a.csv")); text != want {
			t.Errorf("%s wrote %q", formulas, text)
		}
	}
	dir, out := folder(t)
	b := adaptertest.Bind(t, saver(dir, "list(object({ x = any }))", `formulas = "refuse"`))
	if said := refused(t, b, `{"filename": "a", `+cells+`}`); said != `row 1, column x: the text begins with "=", which a spreadsheet would compute` {
		t.Error(said)
	}
	if left, _ := os.ReadDir(out); len(left) > 0 {
		t.Errorf("the folder holds %v", left)
	}
}

func TestExistingFileIsLeftAlone(t *testing.T) {
	dir, out := folder(t)
	path := filepath.Join(out, "a.csv")
	write(t, path, "mine")
	b := adaptertest.Bind(t, saver(dir, invoices, ""))
	if said := refused(t, b, `{"filename": "a", `+two+`}`); said != "file exists: "+path {
		t.Error(said)
	}
	if text := content(t, path); text != "mine" {
		t.Errorf("it holds %q", text)
	}
}

func TestReplaceKeepsTheModeAndNeverShowsAHalf(t *testing.T) {
	dir, out := folder(t)
	path := filepath.Join(out, "a.csv")
	write(t, path, "x\r\n")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	b := adaptertest.Bind(t, saver(dir, "list(object({ x = string }))", `if_exists = "replace"`))
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
			if n := strings.Count(content(t, path), "\n"); n != 1 && n != 2001 && n != 3001 {
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

func TestAppendsAtOnceKeepEveryRow(t *testing.T) {
	dir, out := folder(t)
	src := saver(dir, "list(object({ who = string, n = integer }))", `if_exists = "append"`)
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
	r := stdcsv.NewReader(strings.NewReader(content(t, filepath.Join(out, "a.csv"))))
	records, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != 1+8*25*2 || records[0][0] != "who" {
		t.Errorf("%d records, the first is %v", len(records), records[0])
	}
}

func TestAppendFollowsTheFile(t *testing.T) {
	dir, out := folder(t)
	path := filepath.Join(out, "a.csv")
	b := adaptertest.Bind(t, saver(dir, "list(object({ a = string, b = string }))", `if_exists = "append"`))
	row := `{"filename": "a", "rows": [{"a": "1", "b": "2"}]}`

	write(t, path, "\ufeffa,b\n0,0") // made elsewhere: a byte order mark, other line ends, no end of the last line
	if _, err := b.Do(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	if text := content(t, path); text != "\ufeffa,b\n0,0\n1,2\n" {
		t.Errorf("it holds %q", text)
	}

	write(t, path, "b,a\r\n0,0\r\n")
	if said := refused(t, b, row); said != "the columns of the file are b, a, and those of the rows are a, b: "+path {
		t.Error(said)
	}
	if text := content(t, path); text != "b,a\r\n0,0\r\n" {
		t.Errorf("it holds %q", text)
	}
}

func TestRefusedExpectationWritesNothing(t *testing.T) {
	for _, mode := range []string{"fail", "replace", "append"} {
		dir, out := folder(t)
		b := adaptertest.Bind(t, saver(dir, invoices, fmt.Sprintf("if_exists = %q", mode)))
		call, err := b.Call(t.Context(), `{"filename": "a", `+two+`}`)
		if err != nil {
			t.Fatal(err)
		}
		no := &adapters.Fault{Message: "no"}
		call.Accept = func(output any) error {
			if output.(map[string]any)["count"] != 2 {
				t.Errorf("asked about %v", output)
			}
			return no
		}
		if _, err := b.Action.Do(t.Context(), call); !errors.Is(err, no) {
			t.Errorf("%s: got %v", mode, err)
		}
		if left, _ := os.ReadDir(out); len(left) > 0 {
			t.Errorf("%s left %v", mode, left)
		}
	}
}

func TestNamesStayInTheFolder(t *testing.T) {
	dir, out := folder(t)
	outside := t.TempDir()
	for link, to := range map[string]string{"away": outside, "up": ".."} {
		if err := os.Symlink(to, filepath.Join(out, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "x.csv"), filepath.Join(out, "linked.csv")); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"fail", "replace", "append"} {
		b := adaptertest.Bind(t, saver(dir, invoices, fmt.Sprintf("if_exists = %q", mode)))
		for _, name := range []string{
			"../a", "..", "a/../../b", "/etc/x", "away/a", "up/a", ".hidden", "a/.b/c", `a\\b`, `..\\a`, "a\\u0000b", "a\\nb", "", "/", "a//b", "CON", "com1.x", "C:/x/../../..",
			"./a", "a/./b", strings.Repeat("x", 300), "no/such/folder/a",
		} {
			said := refused(t, b, fmt.Sprintf(`{"filename": "%s", %s}`, name, two))
			if strings.Contains(said, outside) {
				t.Errorf("%q: %s", name, said)
			}
		}
		if mode == "append" {
			refused(t, b, `{"filename": "linked", `+two+`}`)
		}
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("outside are %v", left)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("beside the folder are %v", left)
	}
}

func TestMissingFolderIsSaid(t *testing.T) {
	dir := t.TempDir()
	b := adaptertest.Bind(t, saver(dir, invoices, ""))
	if said := refused(t, b, `{"filename": "a", `+two+`}`); said != "no such directory: "+filepath.Join(dir, "out") {
		t.Error(said)
	}
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Do(t.Context(), `{"filename": "a", `+two+`}`); err != nil {
		t.Errorf("the folder is there now: %v", err)
	}
	if said := refused(t, b, `{"filename": "sub/a", `+two+`}`); said != "no such directory: "+filepath.Join(dir, "out", "sub") {
		t.Error(said)
	}
}

func TestWrongBlocksAreRefusedWhenLoaded(t *testing.T) {
	for more, want := range map[string]string{
		`columns = ["vendor", "amuont"]`: `The rows have no member "amuont". Did you mean "amount"?`,
		`columns = ["date", "date"]`:     `The column "date" is written twice.`,
		`delimiter = ",,"`:               `delimiter is one character`,
		`if_exists = "overwrite"`:        `if_exists is "fail", "replace" or "append", and this is "overwrite".`,
		`formulas = "strip"`:             `and this is "strip"`,
	} {
		if said := adaptertest.Refusal(t, saver("", invoices, more)); !strings.Contains(said, want) {
			t.Errorf("%s: %s", more, said)
		}
	}
	for rows, want := range map[string]string{
		"string":             "rows is a list of objects, and this is string.",
		"list(string)":       "this is a list of string",
		"list(list(string))": "write columns",
	} {
		if said := adaptertest.Refusal(t, saver("", rows, "")); !strings.Contains(said, want) {
			t.Errorf("%s: %s", rows, said)
		}
	}
}

func TestContract(t *testing.T) {
	for _, mode := range []string{"replace", "append"} {
		t.Run(mode, func(t *testing.T) {
			dir, _ := folder(t)
			adaptertest.Run(t, adaptertest.Case{
				Source: saver(dir, invoices, fmt.Sprintf("if_exists = %q", mode)),
				Works:  `{"filename": "a", ` + two + `}`,
				Fails:  map[string]string{"Name": `{"filename": "../a", ` + two + `}`, "Folder": `{"filename": "x/a", ` + two + `}`},
			})
		})
	}
}

func BenchmarkRows(b *testing.B) {
	dir, _ := folder(b)
	bound := adaptertest.Bind(b, saver(dir, invoices, `if_exists = "replace"`))
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
