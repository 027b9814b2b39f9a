package rows

import (
	"bytes"
	"encoding/csv"
	"flag"
	"fmt"
	"html"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"hatchel/hcl/schema"
	"hatchel/hcl/value"
)

var update = flag.Bool("update", false, "rewrite the goldens")

var stringType, integerType = &schema.Type{Kind: schema.String}, &schema.Type{Kind: schema.Integer}

// values are results, with their types where these are known.
var values = []struct {
	encoded string
	typ     *schema.Type
}{
	{`[{"a":null,"b":1}]`, nil},
	{`[{"a":"","b":1}]`, nil},
	{`[{"a":" ","b":" x "}]`, nil},
	{`[{"a":"x,y","b":1}]`, nil},
	{`[{"a":"say \"x\"","b":1}]`, nil},
	{`[{"a":"one\ntwo","b":"one\r\ntwo\rthree"}]`, nil},
	{`[{"a":1152921504606846976,"b":12345678901234567890}]`, nil},
	{`[{"a":1.10,"b":-0.5e-7}]`, nil},
	{`[{"a":true,"b":false}]`, nil},
	{`[{"a":"x|y","b":"\\|"}]`, nil},
	{`[{"a":"\\","b":"\\\\|\\"}]`, nil},
	{`[{"a":"<b>x</b>","b":"<br>"}]`, nil},
	{`[{"a":"\\<script>","b":"&lt;"}]`, nil},
	{`[{"a":"=1+1","b":"@x"}]`, nil},
	{`[{"a":"ä€𝄞","b":"日本"}]`, nil},
	{`[{"a":"\u0001\t","b":"\ud83d\ude00"}]`, nil},
	{`[{"a":"null","b":"true"},{"a":"1","b":"[]"}]`, nil},
	{`[{"a":[1,"x, y"],"b":[]}]`, nil},
	{`[{"a":{"x":1,"y":"z"},"b":2}]`, nil},
	{`[{"a":{"x":{"y":{"z":{"deep":1}}}}}]`, nil},
	{`[{"a":{},"b":1}]`, nil},
	{`[{"a":null,"b":1},{"a":{"x":2},"b":3}]`, nil},
	{`[{"a":1},{"a":{"x":2}}]`, nil},
	{`[{"b":1,"a":2},{"c":3,"a":4}]`, nil},
	{`[{"a b":1,"a,b":2,"a|b":3}]`, nil},
	{`[{"a.b":1,"a":{"b":2}}]`, nil},
	{`[{"a":[{"x":1}],"b":"y"}]`, nil},
	{`[{"a":""},{"a":"x"}]`, nil},
	{`[{"a":null},{"a":"x"},{}]`, nil},
	{`[]`, nil},
	{`[]`, schema.ListOf(schema.ObjectOf(&schema.Member{Name: "z", Type: stringType}, &schema.Member{Name: "a", Type: integerType}))},
	{`[{"a":1,"z":"x","new":2}]`, schema.ListOf(schema.ObjectOf(&schema.Member{Name: "z", Type: stringType}, &schema.Member{Name: "a", Type: integerType}))},
	{`[{"a":1}]`, schema.ListOf(schema.ObjectOf(&schema.Member{Name: "o", Type: schema.ObjectOf(&schema.Member{Name: "x", Type: stringType})}, &schema.Member{Name: "a", Type: integerType}))},
	{`[{"kind":"a","x":1},{"kind":"b","y":2}]`, schema.ListOf(&schema.Type{OneOf: []*schema.Type{schema.ObjectOf(&schema.Member{Name: "kind", Type: stringType}), schema.ObjectOf(&schema.Member{Name: "y", Type: integerType})}})},
	{`{"items":[{"a":1},{"a":2}],"total":2}`, nil},
	{`{"items":[{"a":1}]}`, nil},
	{`{"items":[],"total":0}`, nil},
	{`{"tags":["x"],"items":[{"a":1}],"next":null}`, nil},
	{`{"one":[{"a":1}],"two":[{"a":2}]}`, nil},
	{`[1,2]`, nil},
	{`[{"a":1},null]`, nil},
	{`{"a":1}`, nil},
	{`"text"`, nil},
	{`null`, nil},
	{`[{}]`, nil},
}

// A value that is no table is JSON, for which the golden has a line of its own.
func TestValuesHaveTheseBytes(t *testing.T) {
	var got bytes.Buffer
	for _, v := range values {
		fmt.Fprintf(&got, "== %s", v.encoded)
		if v.typ != nil {
			fmt.Fprintf(&got, " of %s", v.typ)
		}
		got.WriteByte('\n')
		for _, format := range []string{"csv", "markdown"} {
			list, ok := Find([]byte(v.encoded), v.typ)
			if ok {
				var table *Table
				if table, ok = list.Write(format, v.typ); ok {
					fmt.Fprintf(&got, "-- %s\n%s", format, bytes.ReplaceAll(table.Whole(), []byte("\r"), []byte("(CR)")))
				}
			}
			if !ok {
				fmt.Fprintf(&got, "-- %s: json\n", format)
			}
		}
	}
	const golden = "testdata/formats.txt"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%v: got\n%s", err, got.Bytes())
	}
}

// cells are texts that a reader of either format must give back.
var cells = []string{"x", "x,y", `"`, `""`, `say "x"`, "|", `\|`, `\\|`, `a\`, "one\ntwo", "<b>", `\<`, "日本", "#1", "1. x", "- x", "x  y"}

func TestReadersGiveBackWhatWasWritten(t *testing.T) {
	var encoded strings.Builder
	for i, a := range cells {
		if encoded.WriteByte("[,"[min(i, 1)]); true {
			fmt.Fprintf(&encoded, `{"a":%s,"b":%s}`, quote(a), quote(cells[len(cells)-1-i]))
		}
	}
	list, _ := Find([]byte(encoded.String()+"]"), nil)
	table, _ := list.Write("csv", nil)
	read, err := csv.NewReader(bytes.NewReader(table.Whole())).ReadAll()
	if err != nil || len(read) != len(cells)+1 {
		t.Fatalf("%d records: %v", len(read), err)
	}
	for i, record := range read[1:] {
		if want := []string{cells[i], cells[len(cells)-1-i]}; !slices.Equal(record, want) {
			t.Errorf("csv: got %q, want %q", record, want)
		}
	}
	table, _ = list.Write("markdown", nil)
	var page bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.Table)).Convert(table.Whole(), &page); err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)<td>(.*?)</td>`).FindAllStringSubmatch(page.String(), -1)
	if len(found) != 2*len(cells) {
		t.Fatalf("%d cells in\n%s", len(found), page.String())
	}
	for i := range cells {
		got := html.UnescapeString(found[2*i][1])
		want := strings.ReplaceAll(cells[i], "\n", "<!-- raw HTML omitted -->")
		if got != want && !strings.Contains(cells[i], `\\`) { // which Markdown reads as one backslash
			t.Errorf("markdown: got %q, want %q", got, want)
		}
	}
}

// A reader skips an empty line, so the null of a row with one column is none.
func TestRowsOfOneColumnAreReadBack(t *testing.T) {
	for _, typ := range []*schema.Type{nil, schema.ListOf(schema.ObjectOf(&schema.Member{Name: "a", Type: stringType}))} {
		for step := 1; step <= 3; step++ {
			var encoded strings.Builder
			for i := range 40 {
				v := "null"
				if i%step == 1 {
					v = quote(fmt.Sprint("x", i))
				}
				fmt.Fprintf(&encoded, `%c{"a":%s}`, "[,"[min(i, 1)], v)
			}
			list, _ := Find([]byte(encoded.String()+"]"), typ)
			table, _ := list.Write("csv", typ)
			read, err := csv.NewReader(bytes.NewReader(table.Whole())).ReadAll()
			if err != nil || len(read) != 1+40 {
				t.Errorf("%d records: %v in\n%s", len(read), err, table.Whole())
			}
		}
	}
}

func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

func TestAListIsCutAfterAnElement(t *testing.T) {
	list, ok := Find([]byte(`{"n":3,"rows":[{"a":1},{"a":2},{"a":3}],"more":true}`), nil)
	if !ok || list.Len() != 3 {
		t.Fatal(ok, list.Len())
	}
	for n, want := range []string{
		`{"n":3,"rows":[],"more":true}`, `{"n":3,"rows":[{"a":1}],"more":true}`, `{"n":3,"rows":[{"a":1},{"a":2}],"more":true}`,
		`{"n":3,"rows":[{"a":1},{"a":2},{"a":3}],"more":true}`,
	} {
		if got := string(list.First(n)); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

func TestAProjectionHasTheMembersInTheOrderOfTheCall(t *testing.T) {
	for encoded, want := range map[string]string{
		`[{"a":1,"b":2,"c":3},{"c":4}]`:  `[{"c":3,"a":1},{"c":4}]`,
		`{"n":1,"rows":[{"a":1,"b":2}]}`: `{"n":1,"rows":[{"a":1}]}`,
		`{"a":1,"b":2}`:                  `{"a":1}`,
		`[1,null,{"b":2}]`:               `[1,null,{}]`,
		`null`:                           `null`,
	} {
		if got := string(Project([]byte(encoded), []string{"c", "a"}, nil)); got != want {
			t.Errorf("%s: got %s, want %s", encoded, got, want)
		}
	}
}

// Where a type says which member has the rows, or that none has, the members that happen to be empty do not decide what
// is left out: a value that a projection leaves members out of has none of them, whatever its lists have.
func TestTheTypeDecidesWhatIsProjected(t *testing.T) {
	object := func(members ...*schema.Member) *schema.Type { return schema.ObjectOf(members...) }
	member := func(name string, t *schema.Type) *schema.Member { return &schema.Member{Name: name, Type: t} }
	row := schema.ListOf(object(member("a", integerType), member("b", integerType)))
	anyType := &schema.Type{Kind: schema.Any}
	for _, test := range []struct {
		members   []*schema.Member // with a and b
		x, y      []string         // the values of these members
		projected string           // the member whose rows are projected; empty for the object itself
		known     bool
	}{
		{[]*schema.Member{member("x", schema.ListOf(stringType))}, []string{`[]`, `["s"]`}, []string{`1`}, "", true},
		{[]*schema.Member{member("x", row), member("y", row)}, []string{`[]`, `[{"a":1,"b":2}]`},
			[]string{`[]`, `[{"a":1,"b":2}]`}, "", true},
		{[]*schema.Member{member("x", row), member("y", schema.ListOf(stringType))}, []string{`[]`, `[{"a":1,"b":2}]`, `null`},
			[]string{`[]`, `["s"]`}, "x", true},
		{[]*schema.Member{member("x", row), member("y", anyType)}, []string{`[]`, `[{"a":1,"b":2}]`},
			[]string{`[]`, `[{"b":1}]`, `1`}, "x", true},
		{[]*schema.Member{member("x", anyType), member("y", anyType)}, []string{`[]`, `[{"a":1,"b":2}]`},
			[]string{`[]`, `[{"b":1}]`, `1`}, "", false},
	} {
		typ := object(append([]*schema.Member{member("a", integerType), member("b", integerType)}, test.members...)...)
		for _, c := range test.members {
			c.Type.Nullable = c.Name == "x" && slices.Contains(test.x, "null")
		}
		projected := ProjectType(typ, []string{"a"})
		for _, x := range test.x {
			for _, y := range test.y {
				encoded := fmt.Sprintf(`{"a":1,"b":2,"x":%s,"y":%s}`, x, y)
				if len(test.members) == 1 {
					encoded = fmt.Sprintf(`{"a":1,"b":2,"x":%s}`, x)
				}
				got := Project([]byte(encoded), []string{"a"}, typ)
				want := `{"a":1}`
				if test.projected == "x" {
					want = fmt.Sprintf(`{"a":1,"b":2,"x":%s,"y":%s}`, strings.ReplaceAll(x, `,"b":2`, ""), y)
				}
				if test.known && string(got) != want {
					t.Errorf("%s of %s: got %s, want %s", encoded, typ, got, want)
				}
				v, err := value.Decode(got)
				if err != nil {
					t.Fatal(err)
				}
				if _, violations, err := projected.Compile().Check(v, schema.Unlimited); err != nil || len(violations) > 0 {
					t.Errorf("%s is not %s: %v %v", got, projected, violations, err)
				}
			}
		}
	}
}

// A member whose name has a dot, and a nested member, never have columns of one name.
func TestColumnsHaveNamesOfTheirOwn(t *testing.T) {
	for _, encoded := range []string{
		`[{"a.b":1,"a":{"b":2}}]`, `[{"a":{"b":2}},{"a.b":1}]`, `[{"a":{"b.c":1,"b":{"c":2}}}]`, `[{"a.b":{"c":1},"a":{"b.c":2}}]`,
	} {
		list, _ := Find([]byte(encoded), nil)
		for _, format := range []string{"csv", "markdown"} {
			table, ok := list.Write(format, nil)
			if !ok {
				t.Errorf("%s is no table", encoded)
				continue
			}
			names := regexp.MustCompile(`[^,| \n]+`).FindAllString(strings.SplitN(string(table.Whole()), "\n", 2)[0], -1)
			if all := len(names); len(slices.Compact(slices.Sorted(slices.Values(names)))) != all {
				t.Errorf("%s: the columns are %q", encoded, names)
			}
		}
	}
}

// An object with as many names as there are rows is no table: each row would have a cell for each name.
func TestAWideListIsNotATable(t *testing.T) {
	var nested, flat strings.Builder
	for i := range 300 {
		fmt.Fprintf(&nested, `%c{"id":%d,"prices":{"sku%d":1}}`, "[,"[min(i, 1)], i, i)
		fmt.Fprintf(&flat, `%c{"sku%d":1}`, "[,"[min(i, 1)], i)
	}
	list, _ := Find([]byte(nested.String()+"]"), nil)
	table, ok := list.Write("csv", nil)
	if !ok || !bytes.HasPrefix(table.Whole(), []byte("id,prices\n0,\"{\"\"sku0\"\":1}\"\n")) {
		t.Errorf("%t %.80s", ok, table.Whole())
	}
	list, _ = Find([]byte(flat.String()+"]"), nil)
	if _, ok := list.Write("csv", nil); ok {
		t.Error("a list of 300 columns is a table")
	}
}
