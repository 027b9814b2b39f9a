package testblock_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/test/testblock"
	"hatchel/hcl"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// Every archive of testdata is a folder with tests. "want" is what validate prints of the tests, or the tests.
func TestTestBlocksReadAsWritten(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := read(t, a)
			last := &a.Files[len(a.Files)-1]
			switch {
			case last.Name != "want" || len(bytes.TrimSpace(a.Comment)) == 0:
				t.Fatal("the archive must say why it exists, and end with want")
			case *update:
				last.Data = got
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			case !bytes.Equal(got, last.Data):
				t.Errorf("got:\n%s\nwant:\n%s", got, last.Data)
			}
		})
	}
}

func read(t *testing.T, a *txtar.Archive) []byte {
	files := fstest.MapFS{}
	for _, f := range a.Files[:len(a.Files)-1] {
		files[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	cfg, diags := hcl.Load(files, all.Set().Kinds(), hcl.Options{}.ForTests(nil, false))
	var out bytes.Buffer
	if found := append(diags, testblock.Check(cfg, diags)...); len(found) > 0 {
		if err := found.Sort().Print(&out, cfg.Sources); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	tests, _ := testblock.Decode(cfg, cfg.Tests)
	for _, test := range tests {
		fmt.Fprintf(&out, "%s: %s %s %v\n", test.Name, test.Kind, test.Target, test.Args)
		for _, f := range test.Finds {
			fmt.Fprintf(&out, "  finds %s\n", f.Name)
		}
		if test.Kind == "search" && test.Caller != nil {
			fmt.Fprintf(&out, "  caller %v\n", test.Caller)
		}
		for _, m := range test.Mocks {
			fmt.Fprintf(&out, "  mock %s %s %v, %d times: %v\n", m.Kind, m.Connection, m.Request, m.Times, m.Replies)
		}
		for key, answer := range test.Answers {
			fmt.Fprintf(&out, "  answer %s %v\n", key, answer)
		}
		for _, e := range test.Expects {
			fmt.Fprintf(&out, "  expect %v\n", e.Values)
		}
	}
	return out.Bytes()
}
