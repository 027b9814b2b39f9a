package file

import (
	stdcsv "encoding/csv"
	"reflect"
	"strings"
	"testing"
)

func records(text, delimiter string) (all [][]string, err error) {
	for in := (&table{rest: text, delimiter: delimiter}); in.more(); {
		record, err := in.record()
		if err != nil {
			return nil, err
		}
		all = append(all, record)
	}
	return all, nil
}

func TestLineBreaksWithinACellStayAsTheyAre(t *testing.T) {
	got, err := records("a,b\r\n\"x\r\ny\",\"\r\"\r\n\"\n\",\"\"\"\"", ",")
	if want := [][]string{{"a", "b"}, {"x\r\ny", "\r"}, {"\n", `"`}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// FuzzCellsAreThoseOfEncodingCSV holds the reader against the standard one, which reads every line break as one line feed.
func FuzzCellsAreThoseOfEncodingCSV(f *testing.F) {
	for _, seed := range []string{"", "a,b\n1,2\n", "\"a\"\"b\",c\r\n\r\n,\n", "a\"b", "\"a\"b", "\"", "\"\"\n\"\",", "\r", "a\r", "\"a\"\r", "a\rb\n", ",", "\n\n\"x\ny\",z", ";é;\"ü\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		std := stdcsv.NewReader(strings.NewReader(text))
		std.FieldsPerRecord = -1
		want, wrong := std.ReadAll()
		got, err := records(text, ",")
		if (err != nil) != (wrong != nil) {
			t.Fatalf("%q: %v, the standard says %v", text, err, wrong)
		}
		for i := range got {
			for j, cell := range got[i] {
				got[i][j] = strings.ReplaceAll(cell, "\r\n", "\n")
			}
		}
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, the standard reads %q", text, got, want)
		}
	})
}
