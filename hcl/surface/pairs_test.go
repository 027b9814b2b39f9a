package surface_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/hcl/surface"
)

var update = flag.Bool("update", false, "rewrite the expected changes")

const (
	baseFile  = "testdata/base.hcl"
	pairsFile = "testdata/pairs.txt"
)

func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// surfaceOf loads files without secrets.
func surfaceOf(t testing.TB, files map[string]string) *surface.Surface {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	config, diags := hcl.Load(fsys, all.Set().Kinds(), hcl.Options{Dir: "/srv/tools"}.ForCheck())
	if diags.HasErrors() {
		var out strings.Builder
		diags.Print(&out, config.Sources)
		t.Fatal(out.String())
	}
	return surface.Of(config, nil)
}

func surfaceOfText(t testing.TB, text string) *surface.Surface {
	return surfaceOf(t, map[string]string{"a.hcl": text})
}

// pair is one change of the base: text that is replaced, and the changes that are expected.
type pair struct {
	name     string
	old, new string
	want     []string
}

// applyTo returns the base with the change.
func (p *pair) applyTo(t *testing.T, base string) string {
	t.Helper()
	if p.old == "" {
		return base + p.new
	}
	if n := strings.Count(base, strings.TrimSuffix(p.old, "\n")); n != 1 {
		t.Fatalf("%s: the base has %d times %q", p.name, n, p.old)
	}
	return strings.Replace(base, strings.TrimSuffix(p.old, "\n"), strings.TrimSuffix(p.new, "\n"), 1)
}

// readPairs reads the pairs: a line "# name", lines that begin with - and are replaced by those that
// begin with +, and the expected changes after =.
func readPairs(t *testing.T, name string) (pairs []*pair) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSuffix(read(t, name), "\n"), "\n") {
		text := ""
		if len(line) > 1 {
			text = line[2:]
		}
		switch {
		case line == "":
		case line[0] == '#':
			pairs = append(pairs, &pair{name: text})
		case line[0] == '-':
			pairs[len(pairs)-1].old += text + "\n"
		case line[0] == '+':
			pairs[len(pairs)-1].new += text + "\n"
		case line[0] == '=':
			pairs[len(pairs)-1].want = append(pairs[len(pairs)-1].want, text)
		default:
			t.Fatalf("%s: %q begins with none of # - + =", name, line)
		}
	}
	return pairs
}

func changesBetween(old, new *surface.Surface) (lines []string) {
	for _, c := range surface.Compare(old, new).Changes {
		mark, at := "", "-"
		if c.Restriction {
			mark = " (restriction)"
		}
		if c.Range.File != "" {
			at = fmt.Sprintf("%s:%d", c.Range.File, c.Range.Start.Line)
		}
		if c.Removed {
			at = "old " + at
		}
		lines = append(lines, fmt.Sprintf("%v%s | %s | %s | %s | %s", c.Class, mark, c.Kind, c.Place, c.Text, at))
	}
	return lines
}

func TestOneChangeHasItsClassAndPlace(t *testing.T) {
	base := read(t, baseFile)
	before := surfaceOfText(t, base)
	pairs := readPairs(t, pairsFile)
	for _, p := range pairs {
		t.Run(p.name, func(t *testing.T) {
			got := changesBetween(before, surfaceOfText(t, p.applyTo(t, base)))
			if *update {
				p.want = got
			} else if !slices.Equal(got, p.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(p.want, "\n"))
			}
		})
	}
	if *update && !t.Failed() {
		writePairs(t, pairs)
	}
}

func writePairs(t *testing.T, pairs []*pair) {
	t.Helper()
	var b strings.Builder
	for i, p := range pairs {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("# " + p.name + "\n")
		for _, part := range []struct{ mark, text string }{{"- ", p.old}, {"+ ", p.new}} {
			if part.text != "" {
				for _, line := range strings.Split(strings.TrimSuffix(part.text, "\n"), "\n") {
					b.WriteString(part.mark + line + "\n")
				}
			}
		}
		for _, line := range p.want {
			b.WriteString("= " + line + "\n")
		}
	}
	if err := os.WriteFile(pairsFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
