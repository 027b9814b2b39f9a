package file

import (
	stdcsv "encoding/csv"
	"reflect"
	"strings"
	"testing"
	"time"
)

func records(text, delimiter string) (all [][]string, err error) {
	for in := (&csvReader{rest: text, delimiter: delimiter}); in.more(); {
		record, err := in.record()
		if err != nil {
			return nil, err
		}
		all = append(all, record)
	}
	return all, nil
}

func TestLineBreaksInACellAreUnchanged(t *testing.T) {
	got, err := records("a,b\r\n\"x\r\ny\",\"\r\"\r\n\"\n\",\"\"\"\"", ",")
	if want := [][]string{{"a", "b"}, {"x\r\ny", "\r"}, {"\n", `"`}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// FuzzCellsAreThoseOfEncodingCSV compares the reader with encoding/csv, which converts line breaks in a cell
// to line feeds.
func FuzzCellsAreThoseOfEncodingCSV(f *testing.F) {
	for _, seed := range []string{"", "a,b\n1,2\n", "\"a\"\"b\",c\r\n\r\n,\n", "a\"b", "\"a\"b", "\"", "\"\"\n\"\",", "\r", "a\r", "\"a\"\r", "a\rb\n", ",", "\n\n\"x\ny\",z", ";é;\"ü\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\r") {
			return // alone it is no line break there
		}
		std := stdcsv.NewReader(strings.NewReader(text))
		std.FieldsPerRecord = -1
		want, wantErr := std.ReadAll()
		got, err := records(text, ",")
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("%q: error %v, encoding/csv returns %v", text, err, wantErr)
		}
		for i := range got {
			for j, cell := range got[i] {
				got[i][j] = strings.ReplaceAll(cell, "\r\n", "\n")
			}
		}
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, encoding/csv returns %q", text, got, want)
		}
	})
}

// FuzzLineEndsDoNotMatter reads a text with each kind of line ends.
func FuzzLineEndsDoNotMatter(f *testing.F) {
	for _, seed := range []string{"", "a,b\n1,2\n", "\"a\nb\",c\n\n,\n", "a\n\n\"\n\"", "\"a\"b\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ReplaceAll(text, "\r", "")
		want, wantErr := records(text, ",")
		for _, lineEnd := range []string{"\r", "\r\n"} {
			got, err := records(strings.ReplaceAll(text, "\n", lineEnd), ",")
			for _, record := range got {
				for j := range record {
					record[j] = strings.ReplaceAll(record[j], lineEnd, "\n")
				}
			}
			if (err != nil) != (wantErr != nil) || !reflect.DeepEqual(got, want) {
				t.Errorf("%q with %q: %q, %v; want %q, %v", text, lineEnd, got, err, want, wantErr)
			}
		}
	})
}

func TestOneColumnIsReadInLinearTime(t *testing.T) {
	read := func(rows int) time.Duration { // of which each one searched the rest of the file for a delimiter
		began := time.Now()
		if got, err := decodeCSV("name\n"+strings.Repeat("Ada\n", rows), "", "x.csv"); err != nil || len(got) != rows {
			t.Fatalf("%d rows, %v", len(got), err)
		}
		return time.Since(began)
	}
	if few, many := read(10_000), read(200_000); many > 100*few { // it would be 400 times as long
		t.Errorf("%v for 20 times the rows that take %v", many, few)
	}
}

func TestDelimiterIsFoundOrNamed(t *testing.T) {
	table := []any{map[string]any{"name": "Ada", "n": "1,5"}, map[string]any{"name": "Bob", "n": "2,0"}}
	ints := []any{map[string]any{"name": "Ada", "n": "1"}}
	names := []any{map[string]any{"name": "Ada; Countess"}, map[string]any{"name": "Bob"}}
	for _, c := range []struct {
		text, delimiter string
		want            any // rows, or a part of the error
	}{
		{"name,n\nAda,1\n", "", ints},
		{"name;n\nAda;1\n", "", ints},
		{"name\tn\nAda\t1\n", "", ints},
		{"name|n\r\nAda|1\r\n", "", ints},
		{"name;n\rAda;1\r", "", ints},
		{"name;n\rAda;1", ";", ints},
		{"name\tn\rAda\t1\r", "\t", ints},
		{"name^n\nAda^1\n", "^", ints},
		{"name;n\nAda;1,5\nBob;2,0\n", "", table},
		{"sep=;\r\nname;n\r\nAda;1\r\n", "", ints},
		{"sep=\t\nname\tn\nAda\t1\n", "\t", ints},
		{"name\nAda; Countess\nBob\n", "", names},
		{"name\n\"Ada; Countess\"\nBob\n", ",", names},
		{"\"id; no\",n\n1,2\n", "", []any{map[string]any{"id; no": "1", "n": "2"}}},
		{"id;last, first\n1;Ada\n", "", []any{map[string]any{"id": "1", "last, first": "Ada"}}}, // only ; gives as many
		{",n\n0,1\n", "", []any{map[string]any{"": "0", "n": "1"}}},                             // as pandas writes an index
		{"", "", []any{}},
		{"name\n", "", []any{}},
		{"name;n\nAda;1\n", ",", `the CSV file has one column, "name;n", unless ";" separates its cells; the tool must use delimiter = ";"`},
		{"name,n\nAda,1\n", ";", `delimiter = ","`},
		{"name\tn\nAda\t1\n", ",", `delimiter = "\t"`},
		{"name\tn\rAda\t1\r", ";", `delimiter = "\t"`},
		{"name:n\nAda:1\n", "", `the tool must use delimiter = ":", or delimiter = "," for one column`},
		{"name:n\nAda:1\n", ",", []any{map[string]any{"name:n": "Ada:1"}}},
		{"url\n/a?x=1;y=2\n/b?x=1;y=2\n", "", `or the tool must use delimiter = "," for one column`},
		{"url\n/a?x=1;y=2\n", ",", []any{map[string]any{"url": "/a?x=1;y=2"}}},
		{"name^n\nAda^1\n", "", `delimiter = "^"`},
		{"name\x01n\nAda\x011\n", "", `delimiter = "\x01"`},
		{"id;last, first\n1;Lovelace, Ada\n", "", `may be separated in 2 ways; the tool must use delimiter = "," or delimiter = ";"`},
		{"sep=;\nname;n\n", ",", `the first line of the CSV file, sep=;, names another delimiter than the tool; the tool must use delimiter = ";"`},
		{"Report of 2026\nname;n\nAda;1\n", "", `line 1 of the CSV file names one column, "Report of 2026", but each line below has 2 cells separated by ";"`},
		{"name;n\nAda;1;2\n", "", "line 2 of the CSV file cannot be read, it has another number of cells, 3, than the first line, 2"},
		{"name,n\r\rAda\r", "", "line 3 of the CSV file cannot be read, it has another number of cells, 1, than the first line, 2"},
		{"a,b,a\n1,2,3\n", "", `the columns 1 and 3 have the same name, "a"`},
		{"a,,\n1,2,3\n", "", `the columns 2 and 3 have the same name, ""`},
		{"a,b\n1,\x00\n", "", "line 2 of the CSV file cannot be read, it has a NUL character: "},
		{"a\x00,\x00b\x00\n\x001\x00,\x002\x00", "", `it has a NUL character; the tool must name the encoding: encoding = "utf-16le"`},
		{"a,b\n1,\"2\n", "", "line 2 of the CSV file cannot be read, a quote is not closed"},
	} {
		got, err := decodeCSV(c.text, c.delimiter, "x.csv")
		if want, fails := c.want.(string); fails {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q with %q: %v, %v; want %s", c.text, c.delimiter, got, err, want)
			}
		} else if err != nil || !reflect.DeepEqual(any(got), c.want) {
			t.Errorf("%q with %q: %v, %v; want %v", c.text, c.delimiter, got, err, c.want)
		}
	}
}
