package diag

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"hatchel/internal/printable"
)

func at(file string, line, column, offset, length int) Range {
	return Range{file, Pos{line, column, offset}, Pos{line, column + length, offset + length}}
}

func TestTheExcerptOfALongLineIsThePartAroundTheSubject(t *testing.T) {
	word := "héllo "
	src := []byte("first\n" + strings.Repeat(word, 30_000) + "\nlast")
	for _, n := range []int{0, 10, 15_000, 29_990} {
		offset := len("first\n") + n*len(word)
		d := Diagnostic{Subject: at("x", 2, n*6+1, offset, len("héllo"))}
		e, ok := d.excerpt(src)
		text := []rune(e.text)
		if !ok || len(text) > maxLineWidth+2 || string(text[e.lead:e.lead+e.length]) != "héllo" {
			t.Errorf("at %d: %q, %d, %d", n, e.text, e.lead, e.length)
		}
		if left, right := strings.HasPrefix(e.text, "…"), strings.HasSuffix(e.text, "…"); left != (n > 20) || right != (n < 29_980) {
			t.Errorf("at %d: %q", n, e.text)
		}
	}
}

func TestALongLineIsNotReadForEachMistake(t *testing.T) {
	src := []byte(strings.Repeat("x", 1<<20))
	d := Diagnostic{Subject: at("x", 1, 1<<19, 1<<19, 1)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		d.excerpt(src)
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / 100; got > 64<<10 {
		t.Errorf("%d bytes", got)
	}
}

// The first 200 diagnostics of a file are shown, errors before warnings, and the others are counted.
func TestTheMistakesOfAFileAreLimited(t *testing.T) {
	var ds Diagnostics
	for i := range 300 {
		ds.Warnf(at("many", i+1, 1, 10*i, 1), "Unused input", "%d", i)
		ds.Errorf(at("many", i+1, 2, 10*i+1, 1), "Unknown name", "%d", i)
	}
	ds.Errorf(at("few", 1, 1, 0, 1), "Unknown name", "x")
	out := ds.Sort().Limit()
	if len(out) != 1+maxPerFile+2 || out[0].Subject.File != "few" {
		t.Fatalf("%d diagnostics", len(out))
	}
	var more []string
	for _, d := range out {
		if d.Summary == "More mistakes" {
			more = append(more, fmt.Sprintf("%s %d: %s", d.Severity, d.Subject.Start.Line, d.Detail))
		}
	}
	want := "[warning 1: This file has 300 more warnings, from here on, which are not shown. " +
		"error 201: This file has 100 more errors, from here on, which are not shown.]"
	if got := fmt.Sprint(more); got != want {
		t.Error(got)
	}
	if errors, warnings := out.Counts(); errors != 301 || warnings != 300 {
		t.Errorf("%d errors, %d warnings", errors, warnings)
	}
}

// What nobody sees, and what a terminal obeys, is shown by its code point, and the carets stay under the subject.
func TestTheExcerptShowsHiddenCharacters(t *testing.T) {
	for _, hidden := range []string{"", "\u202e", "\x1b[2J", "\r", "\u0085", "\ufeff", "\u200b\u200d", "\u00a0", "\U000e0041",
		"\x00", "\x7f", "\u2028", "\u2066é", "\xff", "\u3164"} {
		for _, long := range []string{"", strings.Repeat("é", 200), strings.Repeat("x", 2000)} {
			lead, subject := long+"a"+hidden+"\tb = ", "\"c"+hidden+"d\""
			src := []byte("first\n" + lead + subject + hidden + " # e" + long + hidden + "\r\nlast")
			offset := len("first\n") + len(lead)
			d := Diagnostic{Subject: at("x\u202e\x1b", 2, 9, offset, len(subject)), Detail: "It is " + hidden + ".\nWrite \ta."}
			e, ok := d.excerpt(src)
			text := []rune(e.text)
			want := `"c` + printable.Reveal(hidden, "") + `d"`
			if !ok || e.lead+e.length > len(text) || string(text[e.lead:e.lead+e.length]) != want {
				t.Errorf("%q: %+v", hidden, e)
			}
			var out strings.Builder
			if err := (Diagnostics{&d}).Print(&out, map[string][]byte{"x\u202e\x1b": src}); err != nil {
				t.Error(err)
			}
			if got := out.String(); printable.Reveal(got, "\n\t") != got || !strings.Contains(got, want) {
				t.Errorf("%q: %q", hidden, got)
			}
			end := at("x", 2, 9, offset, len(subject)).End
			end.Line++
			d.Subject.End = end // to the end of the line
			if e, _ = d.excerpt(src); !strings.HasPrefix(string([]rune(e.text)[e.lead:]), want) || e.length < 5 {
				t.Errorf("%q to the end: %+v", hidden, e)
			}
		}
	}
}
