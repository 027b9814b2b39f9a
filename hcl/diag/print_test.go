package diag

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func at(file string, line, column, offset, length int) Range {
	return Range{file, Pos{line, column, offset}, Pos{line, column + length, offset + length}}
}

func TestTheExcerptOfALongLineIsThePartAroundTheSubject(t *testing.T) {
	word := "héllo "
	src := []byte("first\n" + strings.Repeat(word, 30_000) + "\nlast")
	for _, n := range []int{0, 10, 15_000, 29_990} {
		offset := len("first\n") + n*len(word)
		d := Diagnostic{Subject: at("x", 2, n*6+1, offset, 5)}
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
