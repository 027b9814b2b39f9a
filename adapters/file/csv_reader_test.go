package file

import (
	stdcsv "encoding/csv"
	"reflect"
	"strings"
	"testing"
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
