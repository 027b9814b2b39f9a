package result

import (
	"math"
	"strings"
	"testing"

	"hatchel/internal/tokens"
)

func TestTheTokensOfAReplyAreThoseOfItsTexts(t *testing.T) {
	row := `{"id":1042,"title":"The printer of the second floor jams"},`
	text := strings.Repeat("The printer of the second floor jams. ", 300)
	image := `{"type":"image","data":"` + strings.Repeat("iVBORw0KGgo", 50000) + `","mimeType":"image/png"}`
	block := `{"type":"text","text":"` + text + `"}`
	for name, c := range map[string]struct {
		reply Buffers
		want  int
	}{
		"nothing":      {Buffers{}, 0},
		"a result":     {Buffers{Structured: []byte(strings.Repeat(row, 500))}, tokens.Estimate(strings.Repeat(row, 500))},
		"text, result": {Buffers{Structured: []byte(row), Text: []byte(text)}, tokens.Estimate(text)},
		"a block":      {Buffers{Blocks: []byte("[" + block + "]")}, tokens.Estimate(text)},
		"image first":  {Buffers{Blocks: []byte("[" + image + "," + block + "," + image + "]")}, tokens.Estimate(text)},
		"only images":  {Buffers{Blocks: []byte("[" + image + "," + image + "]")}, 32},
		"in a text":    {Buffers{Blocks: []byte(`[{"type":"text","text":"\"data\":\"` + text + `"}]`)}, tokens.Estimate(text)},
	} {
		if got := c.reply.Tokens(); math.Abs(float64(got-c.want)) > 20+0.03*float64(c.want) {
			t.Errorf("%s: %d tokens, want about %d", name, got, c.want)
		}
	}
}

func BenchmarkTokens(b *testing.B) {
	row := `{"id":1042,"opened":"2026-09-30","title":"The printer of the second floor jams","status":"open"},`
	rows := []byte(strings.Repeat(row, (1<<20)/len(row)))
	image := []byte(`[{"type":"image","data":"` + strings.Repeat("iVBORw0KGgo", 90000) + `","mimeType":"image/png"}]`)
	for name, reply := range map[string]Buffers{
		"short": {Structured: []byte(row)}, "result": {Structured: rows}, "both": {Structured: rows, Text: rows}, "image": {Blocks: image},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				reply.Tokens()
			}
		})
	}
}
