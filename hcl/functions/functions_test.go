package functions

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"hatchel/hcl/value"
)

func testContext() *Context {
	files := fstest.MapFS{"a.txt": {Data: []byte("héllo\n")}, "b.bin": {Data: []byte{0xff, 0}}}
	return &Context{
		Now: func() time.Time { return time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC) },
		ReadFile: func(name string) ([]byte, error) {
			if !fs.ValidPath(name) {
				return nil, fs.ErrInvalid
			}
			return fs.ReadFile(files, name)
		},
		Memory: 1 << 20,
	}
}

// A line of testdata/calls.txt is NAME JSON-ARGUMENTS => JSON-RESULT, or !! the error.
func TestCallsReturnWhatTheTableSays(t *testing.T) {
	f, err := os.Open("testdata/calls.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	covered := map[string]bool{"uuid": true}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		call, want, ok := strings.Cut(line, " => ")
		if !ok {
			if call, want, ok = strings.Cut(line, " !! "); !ok {
				t.Fatalf("line %d: no => or !!", n)
			}
		}
		name, args, _ := strings.Cut(call, " ")
		if got := callText(t, name, args); got != want {
			t.Errorf("line %d: %s\n got %s\nwant %s", n, call, got, want)
		}
		covered[name] = true
	}
	for _, f := range Table() {
		if !covered[f.Name] {
			t.Errorf("%s has no line in testdata/calls.txt", f.Name)
		}
	}
}

func callText(t *testing.T, name, args string) string {
	f, ok := Lookup(name)
	if !ok {
		t.Fatalf("no function %s", name)
	}
	list, err := value.Decode([]byte(args))
	if err != nil {
		t.Fatalf("%s %s: %v", name, args, err)
	}
	v, err := f.Call(testContext(), list.([]any))
	if err != nil {
		return err.Error()
	}
	if b, ok := v.(value.Bytes); ok {
		return fmt.Sprintf("bytes %x", []byte(b))
	}
	out, err := value.AppendJSON(nil, v)
	if err != nil {
		t.Fatalf("%s %s: %v", name, args, err)
	}
	return string(out)
}

func TestTableIsSortedAndEveryEntryIsDocumented(t *testing.T) {
	all := Table()
	if !sort.SliceIsSorted(all, func(i, j int) bool { return all[i].Name < all[j].Name }) {
		t.Error("not sorted")
	}
	for _, f := range all {
		if !strings.HasSuffix(f.Doc, ".") || strings.ToLower(f.Name) != f.Name {
			t.Errorf("%s: %q", f.Name, f.Doc)
		}
		for i, p := range f.Params {
			if p.Name == "" || p.Variadic && i != len(f.Params)-1 {
				t.Errorf("%s: parameter %d", f.Name, i)
			}
		}
		if got, ok := Lookup(f.Name); !ok || got.Name != f.Name {
			t.Errorf("Lookup(%q) failed", f.Name)
		}
	}
}

func TestResultsStayWithinTheMemoryBudget(t *testing.T) {
	big := strings.Repeat("ab", 1<<14)
	list := make([]any, 1<<12)
	for i := range list {
		list[i] = big
	}
	deep := any("x")
	for range 60 {
		deep = []any{deep, deep}
	}
	for _, c := range []struct {
		name string
		args []any
	}{
		{"repeat", []any{big, 1 << 40}}, {"join", []any{big, list}}, {"replace", []any{big, "a", big}}, {"indent", []any{1 << 40, big}},
		{"range", []any{1 << 40}}, {"jsonencode", []any{deep}}, {"flatten", []any{[]any{deep}}}, {"compact", []any{deep}}, {"brackets", []any{map[string]any{"a": deep}}}, {"contains", []any{[]any{deep}, deep}},
		{"distinct", []any{[]any{deep}}}, {"regexreplace", []any{big, "a", big}}, {"format", []any{"%v", deep}}, {"formatlist", []any{big + "%s", list}},
		{"setunion", []any{list}}, {"concat", repeatArgument(make([]any, 1<<14), 64)}, {"regexall", []any{"", strings.Repeat(big, 1<<6)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, _ := Lookup(c.name)
			if _, err := f.Call(testContext(), c.args); !errors.Is(err, ErrMemory) {
				t.Errorf("got %v with a budget of 1 MiB", err)
			}
		})
	}
}

func repeatArgument(v any, n int) []any {
	args := make([]any, n)
	for i := range args {
		args[i] = v
	}
	return args
}

func TestUUIDsDiffer(t *testing.T) {
	f, _ := Lookup("uuid")
	a, _ := f.Call(testContext(), nil)
	b, _ := f.Call(testContext(), nil)
	if a == b || len(a.(string)) != 36 {
		t.Errorf("%v %v", a, b)
	}
}

func TestNamesInBracketsAreInTheOrderOfTheirIndexes(t *testing.T) {
	want := []string{"a", "a[]", "a[b]", "ab", "items[2]", "items[2][a]", "items[10]", "items[10][a]", "items[10][b]", "items[1x]", "items[x]"}
	got := slices.Clone(want)
	slices.Sort(got)
	if slices.SortFunc(got, CompareBrackets); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestArgumentsAreNotChanged(t *testing.T) {
	list := []any{3, 1, 2}
	for _, name := range []string{"sort", "reverse", "distinct", "compact"} {
		f, _ := Lookup(name)
		if _, err := f.Call(testContext(), []any{list}); err != nil || !value.Equal(list, []any{3, 1, 2}) {
			t.Errorf("%s: %v, list is now %v", name, err, list)
		}
	}
}

func FuzzNoFunctionPanics(f *testing.F) {
	for i := range Table() {
		f.Add(uint8(i), []byte(`["a",1]`))
		f.Add(uint8(i), []byte(`[[1,"a",null,{"b":[]}],["x"],-1,1e400]`))
		f.Add(uint8(i), []byte(`["%5.3[1]f%%",1e999999999,123456789012345678901234567890.5]`))
		f.Add(uint8(i), []byte(`[{"a":null,"link":"<x>; rel=\"next\""},"next",{}]`))
		f.Add(uint8(i), []byte(`["YYYY-MM-DD'T'hh:mm","2026-11-21T10:30:00Z"]`))
	}
	all := Table()
	f.Fuzz(func(t *testing.T, which uint8, src []byte) {
		args, err := value.Decode(src)
		list, ok := args.([]any)
		if err != nil || !ok {
			return
		}
		fn := all[int(which)%len(all)]
		c := testContext()
		began := time.Now()
		v, err := fn.Call(c, list)
		if took := time.Since(began); took > 30*time.Second {
			t.Fatalf("%s took %v", fn.Name, took)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), fn.Name) {
				t.Fatalf("%s: the error %q does not begin with its name", fn.Name, err)
			}
			return
		}
		if n, err := Size(v, 64<<20); err == nil && n > 16<<20 {
			t.Fatalf("%s made %d bytes", fn.Name, n)
		}
	})
}
