package surface_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/hcl/surface"
)

// splitBlocks returns the top-level blocks of a formatted file.
func splitBlocks(text string) (blocks []string) {
	block := ""
	for line := range strings.Lines(text) {
		if line == "\n" && block == "" {
			continue
		}
		block += line
		if line == "}\n" || strings.Count(block, "\n") == 1 && strings.HasSuffix(line, "}\n") {
			blocks, block = append(blocks, block), ""
		}
	}
	return blocks
}

// argument matches the name and the sign of an argument.
var argument = regexp.MustCompile(`(?m)^ *([a-z_]+) *= `)

// rewritten returns a block with other white space and comments.
func rewritten(r *rand.Rand, block string) string {
	block = argument.ReplaceAllStringFunc(block, func(s string) string {
		return strings.Repeat(" ", r.IntN(9)) + strings.Fields(s)[0] + strings.Repeat(" ", r.IntN(4)) + "=" + strings.Repeat("\t", r.IntN(3))
	})
	var out strings.Builder
	for line := range strings.Lines(block) {
		if r.IntN(5) == 0 {
			out.WriteString([]string{"\n", "# note\n", "  // note\n", "/* a\n   note */\n"}[r.IntN(4)])
		}
		line = strings.TrimSuffix(line, "\n")
		if r.IntN(4) == 0 {
			line += []string{"  ", " # note", "\t// note", " /* note */"}[r.IntN(4)]
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

func TestALockIsTheSameHoweverTheConfigurationIsWritten(t *testing.T) {
	for _, name := range []string{baseFile, "testdata/access.hcl"} {
		checkRewritten(t, read(t, name))
	}
}

// checkRewritten compares the lock of a configuration with those of the same one in other files and layouts.
func checkRewritten(t *testing.T, base string) {
	t.Helper()
	want := surfaceOfText(t, base).Lock()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		blocks := splitBlocks(base)
		r.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
		files := fstest.MapFS{}
		for _, block := range blocks {
			name := fmt.Sprintf("%sf%d.hcl", []string{"", "a/", "a/b/"}[r.IntN(3)], r.IntN(6))
			if files[name] == nil {
				files[name] = &fstest.MapFile{}
			}
			files[name].Data = append(files[name].Data, rewritten(r, block)...)
		}
		if r.IntN(2) == 0 { // as an editor of Windows writes them
			for _, f := range files {
				f.Data = bytes.ReplaceAll(f.Data, []byte("\n"), []byte("\r\n"))
			}
		}
		dir := []string{"/srv/tools", `C:\srv\tools`, `\\host\share`}[r.IntN(3)]
		config, diags := hcl.Load(files, all.Set().Kinds(), hcl.Options{Dir: dir}.ForCheck())
		if diags.HasErrors() {
			t.Fatalf("seed %d: %s", seed, diags[0].Detail)
		}
		if got := surface.Of(config, nil).Lock(); !bytes.Equal(got, want) {
			t.Fatalf("seed %d: the lock differs:\n%s", seed, firstDifference(got, want))
		}
	}
}

// firstDifference returns the first line that differs in two texts.
func firstDifference(got, want []byte) string {
	a, b := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("got  %s\nwant %s", a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines and %d lines", len(a), len(b))
}

// TestAReloadHasTheDifferencesOfTheWholeSurfaces makes each change of the pairs, in one file and in a file for each
// block, and compares what changed with the comparison of everything.
func TestAReloadHasTheDifferencesOfTheWholeSurfaces(t *testing.T) {
	base := read(t, baseFile)
	for i, split := range []func(string) fstest.MapFS{
		func(text string) fstest.MapFS { return fstest.MapFS{"a.hcl": {Data: []byte(text)}} }, filePerBlock,
	} {
		opts := hcl.Options{Dir: "/srv/tools", Cache: hcl.NewCache()}.ForCheck()
		load := func(text string) (*hcl.Config, *surface.Surface) {
			config, diags := hcl.Load(split(text), all.Set().Kinds(), opts)
			if diags.HasErrors() {
				t.Fatal(diags[0].Detail)
			}
			return config, surface.Of(config, nil)
		}
		before, old := load(base)
		pairs := readPairs(t, pairsFile)
		if i == 0 { // in one file, everything is in a changed file
			pairs = pairs[:20]
		}
		for _, p := range pairs {
			after, new := load(p.applyTo(t, base))
			got, want := surface.Compare(surface.OfReload(before, after, nil)).Changes, surface.Compare(old, new).Changes
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: got\n%v\nwant\n%v", p.name, got, want)
			}
		}
	}
}

// filePerBlock returns a file for each top-level block, named after it.
func filePerBlock(text string) fstest.MapFS {
	files := fstest.MapFS{}
	for _, block := range splitBlocks(text) {
		name, _, _ := strings.Cut(strings.TrimPrefix(block, "# orders\n"), "{")
		files[strings.NewReplacer(" ", "", `"`, "").Replace(name)+".hcl"] = &fstest.MapFile{Data: []byte(block)}
	}
	return files
}

// TestALockThatCannotBeTrustedIsRefused changes a lock as people, merges and attackers do.
func TestALockThatCannotBeTrustedIsRefused(t *testing.T) {
	lock := string(surfaceOfText(t, read(t, baseFile)).Lock())
	replaced := func(old, new string) string {
		if !strings.Contains(lock, old) {
			t.Fatalf("the lock has no %q", old)
		}
		return strings.Replace(lock, old, new, 1)
	}
	nested := func(levels int) string {
		return `{"version":2,"tools":{"a":{"input":` + strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels) + "}}}"
	}
	for name, test := range map[string]struct {
		text, want string
		line       int
	}{
		"empty":              {"", "not JSON", 1},
		"two texts":          {lock + "{}", "not JSON", strings.Count(lock, "\n") + 1},
		"no object":          {`"x"`, "no object", 1},
		"null":               {"null", "no version", 0},
		"no version":         {"{}", "no version", 0},
		"a later version":    {replaced(`"version": 2`, `"version": 3`), "it has version 3", 0},
		"a fraction":         {replaced(`"version": 2`, `"version": 1.5`), "it has version 1.5", 0},
		"a merge marker":     {"{\n<<<<<<< HEAD\n}", "merge markers", 2},
		"a key twice":        {replaced(`"tools": {`, `"tools": {}, "tools": {`), `"tools" appears twice`, -1},
		"a member twice":     {replaced(`"description": "List the pods`, `"description": "x", "description": "List the pods`), "appears twice", -1},
		"an edited text":     {replaced("List the pods", "Delete the pods"), "the tool pods does not match its digest", -1},
		"an unknown member":  {replaced(`"server": {`, `"server": {"x": 1,`), `unknown field "x"`, 0},
		"a wrong type":       {replaced(`"auth": true`, `"auth": "yes"`), "server.auth cannot be a string", -1},
		"a null tool":        {`{"version":2,"tools":{"a":null}}`, "null", 0},
		"no access":          {lock, "who may call the tool", -1},
		"a null policy":      {`{"version":2,"policies":{"a":null}}`, "null", 0},
		"a null setting":     {`{"version":2,"settings":{"a":null}}`, "null", 0},
		"a null connection":  {`{"version":2,"connections":{"a":null}}`, "null", 0},
		"a null toolset":     {`{"version":2,"toolsets":{"a":null}}`, "null", 0},
		"a null step":        {`{"version":2,"prompts":{"a":{"steps":[null]}}}`, "null", 0},
		"a null approval":    {`{"version":2,"tools":{"a":{"may":{"approval":[null]}}}}`, "null", 0},
		"deep nesting":       {nested(100_000), "nesting", 1},
		"nesting":            {nested(500), "does not match its digest", 0},
		"another form":       {"PK\x03\x04", "not JSON", 1},
		"a byte order mark":  {"\ufeff" + lock, "not JSON", 1},
		"more than it reads": {strings.Repeat(" ", 64<<20+1), "more than", 0},
	} {
		_, err := surface.ReadLock([]byte(test.text), all.Set().Kinds())
		var bad *surface.LockError
		switch {
		case !errors.As(err, &bad):
			t.Errorf("%s: %v", name, err)
		case !strings.Contains(bad.Text, test.want) || test.line >= 0 && bad.Line != test.line || test.line < 0 && bad.Line == 0:
			t.Errorf("%s: line %d: %s", name, bad.Line, bad.Text)
		}
	}
}

func FuzzReadLock(f *testing.F) {
	lock := surfaceOfText(f, read(f, baseFile)).Lock()
	for _, text := range []string{string(lock), `{"version":2}`, `{"version":2,"tools":{"a":{"input":{"type":1}}}}`, "<<<<<<< HEAD"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := surface.ReadLock(text, all.Set().Kinds())
		if err != nil {
			return
		}
		again, err := surface.ReadLock(s.Lock(), all.Set().Kinds())
		if err != nil {
			t.Fatalf("its own lock is refused: %v", err)
		}
		if d := surface.Compare(s, again); len(d.Changes) > 0 {
			t.Fatalf("a lock differs from itself: %v", d.Changes)
		}
	})
}
