package tokens

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"
)

func TestASampleIsCloseToTheEstimateOfTheWhole(t *testing.T) {
	rows := strings.Repeat(`{"id":1042,"opened":"2026-09-30","title":"The printer of the second floor jams","status":"open"},`, 400)
	for name, text := range map[string]string{
		"nothing": "", "a word": "hello", "rows": rows, "a script": strings.Repeat("発票の金額は三千円です。", 500),
	} {
		whole, sample := Estimate(text), Sample([]byte(text))
		if math.Abs(float64(whole-sample)) > 0.03*float64(whole) || (whole == 0) != (sample == 0) {
			t.Errorf("%s: about %d tokens, and %d by its beginning", name, whole, sample)
		}
	}
	if n := testing.AllocsPerRun(10, func() { Sample([]byte(rows)[:4<<10]) }); n > 1 { // the text
		t.Errorf("%v allocations", n)
	}
}

func TestFrequentLettersCostWhatTheirScriptCosts(t *testing.T) {
	for _, s := range frequent {
		for r := s.low; r <= s.high; r++ {
			is := func(script struct {
				table *unicode.RangeTable
				cost  int
			}) bool {
				return unicode.Is(script.table, r)
			}
			i := slices.IndexFunc(scripts, is)
			if i < 0 || scripts[i].cost != s.cost || !unicode.IsLetter(r) {
				t.Fatalf("%U costs %d", r, s.cost)
			}
		}
	}
}

func BenchmarkSample(b *testing.B) {
	for name, row := range map[string]string{
		"json":     `{"id":1042,"opened":"2026-09-30","title":"The printer of the second floor jams","status":"open"},`,
		"marks":    `[[{"a":[{}]}],`,
		"japanese": "発票の金額は三千円です。",
		"symbols":  "⚙→½",
	} {
		text := []byte(strings.Repeat(row, (1<<20)/len(row)))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Sample(text)
			}
		})
	}
}
