package detect_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hatchel/internal/detect"
)

// Each of the written texts becomes what is written beside it. Check digits in it are of another program.
func TestWrittenTexts(t *testing.T) {
	content, err := os.ReadFile("testdata/written.txt")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for line := range strings.Lines(string(content)) {
		text, want, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			continue
		}
		if tried++; want == "-" {
			want = text
		}
		var n detect.Counts
		if got := all.Text(text, &n); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if tried < 400 {
		t.Errorf("only %d texts", tried)
	}
}

// 10 MiB of logs, identifiers and code have none of these values. Of the code, tests and their data are left out: they
// have examples of values.
func TestLogsIdentifiersAndCodeStay(t *testing.T) {
	var text strings.Builder
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || text.Len() > 5<<20:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		content, err := os.ReadFile(path)
		for line := range strings.Lines(string(content)) {
			if !strings.Contains(line, "@example.") { // of a text for people
				text.WriteString(line)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if text.Len() < 1<<20 {
		t.Errorf("only %d bytes of code", text.Len())
	}
	r := rand.New(rand.NewPCG(3, 4))
	hex := func(n int) string {
		id := ""
		for len(id) < n {
			id += fmt.Sprintf("%016x", r.Uint64())
		}
		return id[:n]
	}
	for i := 0; text.Len() < 10<<20; i++ {
		fmt.Fprintf(&text, "2026-11-%02dT%02d:%02d:%02d.%09dZ INFO request id=%s-%s-4%s-a%s-%s trace=%s span=%s status=%d ms=%d.%03d\n",
			1+i%30, i%24, i%60, i%59, r.IntN(1e9), hex(8), hex(4), hex(3), hex(3), hex(12), hex(32), hex(16), 200+i%300, i%900, i%1000)
		fmt.Fprintf(&text, "%s %s[%d]: [%d.%06d] eth%d: %s:%s:%s mtu %d 10.%d.%d.%d:%d -> sha256:%s v%d.%d.%d+%s pkg@%d.%d.%d\n",
			"Nov 30 13:02:50", "kernel", r.IntN(1<<16), i, r.IntN(1e6), i%4, hex(2), hex(2), hex(2), 1500, i%256, i%255, i%254,
			1024+i%60000, hex(64), i%9, i%20, i%30, hex(7), i%9, i%20, i%30)
		fmt.Fprintf(&text, `{"level":"info","ts":%d.%06d,"order":"ORD-%09d","key":"%s","amount":%d.%02d,"bytes":%d}`+"\n",
			1764500000+i, r.IntN(1e6), i, strings.ToUpper(hex(26)), r.IntN(1e6), i%100, r.IntN(1<<31))
	}
	var n detect.Counts
	if all.Text(text.String(), &n) == text.String() {
		return
	}
	for line := range strings.Lines(text.String()) {
		if got := all.Text(line, &n); got != line {
			t.Errorf("%s became %s", line, got)
		}
	}
}
