package test_test

import (
	"bytes"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/adapters/toytest"
	"hatchel/cmd/hatchel/reference"
	"hatchel/cmd/hatchel/test"
)

const toyTools = `
secret "token" { env = "TOKEN" }
tool "read" {
  description = "Reads a text."
  input "key" { type = string }
  step "again" {
    toy { read = input.key }
  }
  step "first" {
    toy { read = "${secret.token}/${input.key}" }
  }
  text = "${step.again.stored} and ${step.first.stored}"
}
tool "write" {
  description = "Writes a text."
  input "text" { type = string }
  toy {
    write = "key"
    text  = input.text
  }
}
`

// newToySuite returns the tests of a directory that uses a backend whose line of registration is here.
func newToySuite(t *testing.T, dir string, store *sync.Map, live *test.Live, tests string) *test.Suite {
	t.Helper()
	set := all.Set()
	set.Adapters = append(set.Adapters, toytest.Adapter(store))
	files := fstest.MapFS{"a.hcl": {Data: []byte(toyTools + tests)}}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[name] = &fstest.MapFile{}
			files[name].Data, err = os.ReadFile(dir + "/" + name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &test.Suite{Dir: dir, FS: files, Set: set, Version: "test", Live: live}
	s.Load.Getenv = func(string) (string, bool) { return "hush-hush-7", true }
	s.ReadCases()
	return s
}

// failures returns the failures of all tests.
func failures(t *testing.T, s *test.Suite) (out string, report *test.Report) {
	t.Helper()
	var text bytes.Buffer
	if err := s.Diagnostics.Print(&text, s.Sources); err != nil {
		t.Fatal(err)
	}
	report, err := s.Run(t.Context(), test.Options{Parallel: 1, Repeat: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Results {
		if err := r.Failures.Print(&text, s.Sources); err != nil {
			t.Fatal(err)
		}
	}
	return text.String(), report
}

func TestABackendIsMockedFromItsOwnFolder(t *testing.T) {
	got, report := failures(t, newToySuite(t, t.TempDir(), new(sync.Map), nil, `
test "answered" {
  tool = "read"
  args = { key = "a" }
  mock "toy" {
    read  = "a"
    reply { stored = "A" }
  }
  mock "toy" {
    read = "*/a"
    reply { stored = "B" }
  }
  expect {
    text = "A and B"
    that = "sent[0].read == 'a' && sent[1].kind == 'toy' && called == ['again', 'first']"
  }
}
test "not answered" {
  tool = "write"
  args = { text = "x" }
  mock "toy" {
    write = "other"
    reply { stored = "x" }
  }
  expect { text = "x" }
}`))
	if report.Count(test.Passed) != 1 || report.Count(test.Failed) != 1 {
		t.Errorf("summary %s", report.Summary())
	}
	for _, part := range []string{
		"No mock answers to write key.", `write is "key", and the mock has "other"`, "mock \"toy\" {", `text  = "x"`,
		`reply { stored = "" }`,
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing in:\n%s", part, got)
		}
	}
}

func TestAMockOfABackendIsCheckedByWhatTheBackendDeclares(t *testing.T) {
	for tests, want := range map[string]string{
		`mock "toy" {}`: `write one of read, write, tape`,
		"mock \"toy\" {\n read = \"a\"\n write = \"b\"\n}":             "read",
		"mock \"toy\" {\n read = \"a\"\n reply { delay = \"x\" }\n}":   "delay is a duration",
		"mock \"toy\" {\n read = \"a\"\n reply { rows = [] }\n}":       "rows",
		"mock \"toys\" {\n read = \"a\"\n}":                            "The kinds are http, sql, shell, mcp and toy.",
		"mock \"http\" \"x\" {\n get = \"/a\"\n reply { json = 1 }\n}": `It reaches "toy".`,
	} {
		s := newToySuite(t, t.TempDir(), new(sync.Map), nil, "test \"t\" {\n tool = \"read\"\n args = { key = \"a\" }\n"+tests+"\n}")
		var text bytes.Buffer
		if err := s.Diagnostics.Print(&text, s.Sources); err != nil || !strings.Contains(text.String(), want) {
			t.Errorf("%s\nis missing %q:\n%s", tests, want, text.String())
		}
	}
}

func TestABackendIsRecordedAndItsTapeAnswers(t *testing.T) {
	dir, store := t.TempDir(), new(sync.Map)
	store.Store("a", "one\ntwo\nthree\n")
	const source = `
test "taped" {
  tool = "read"
  args = { key = "a" }
  mock "toy" { tape = "a.tape.json" }
  expect { text = "one\ntwo\nthree\n and " }
}`
	s := newToySuite(t, dir, store, &test.Live{Record: true}, source)
	if got, report := failures(t, s); got != "" {
		t.Error(got)
	} else if complete, err := s.WriteTapes(t.Output(), report); err != nil || !complete {
		t.Error(complete, err)
	}
	var uses bytes.Buffer
	if s.PrintLive(&uses); !strings.Contains(uses.String(), "toy") {
		t.Errorf("the backends that may be used are %q", uses.String())
	}
	tape, err := os.ReadFile(dir + "/a.tape.json")
	if err != nil || !strings.Contains(string(tape), `"two\n",`) || !strings.Contains(string(tape), "{{secret.token}}/a") {
		t.Errorf("tape %s, error %v", tape, err)
	}
	if got, _ := failures(t, newToySuite(t, dir, new(sync.Map), nil, source)); got != "" {
		t.Error(got)
	}
	other := strings.ReplaceAll(source, `"a" }`, `"b" }`)
	if got, _ := failures(t, newToySuite(t, dir, store, nil, other)); !strings.Contains(got, `read is "b"`) {
		t.Errorf("another key: %s", got)
	}
}

func TestWhatABackendWritesIsAskedForRealOnlyIfItIsAllowed(t *testing.T) {
	const source = "test \"t\" {\n tool = \"write\"\n args = { text = \"x\" }\n expect { text = \"\" }\n}"
	store := new(sync.Map)
	got, _ := failures(t, newToySuite(t, t.TempDir(), store, &test.Live{}, source))
	if _, written := store.Load("key"); written || !strings.Contains(got, "to write key may change something") {
		t.Errorf("written: %v, failures %s", written, got)
	}
	got, _ = failures(t, newToySuite(t, t.TempDir(), store, &test.Live{Writes: true}, source))
	if v, _ := store.Load("key"); v != "x" || got != "" {
		t.Errorf("stored %v, failures %s", v, got)
	}
}

func TestATestOfABackendIsDrafted(t *testing.T) {
	draft, err := newToySuite(t, t.TempDir(), new(sync.Map), nil, "").Draft(t.Context(), "read")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"mock \"toy\" {\n    read = \"text\"\n    reply { stored = \"\" }\n  }", `text = " and "`} {
		if !strings.Contains(draft, part) {
			t.Errorf("%q is missing in:\n%s", part, draft)
		}
	}
}

func TestTheReferenceHasTheMocksOfABackend(t *testing.T) {
	set := all.Set()
	set.Adapters = append(set.Adapters, toytest.Adapter(new(sync.Map)))
	r := reference.New(set.Kinds())
	i := slices.IndexFunc(r.Groups, func(g *reference.Group) bool { return g.Key == "tests" })
	var names []string
	for _, b := range r.Groups[i].Blocks {
		names = append(names, b.Name)
	}
	if !slices.Contains(names, `mock "toy"`) || !slices.Contains(names, `mock "sql" "connection"`) {
		t.Errorf("blocks %q", names)
	}
}
