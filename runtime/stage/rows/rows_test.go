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
