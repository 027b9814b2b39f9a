package mutation

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/hcl/surface"
	"hatchel/runtime/load/access"
)

const root = "../../.."

// full is set by `make mutants`: every mutant is judged instead of a sample.
var full = os.Getenv("HATCHEL_MUTATION") == "full"

// fixture is one configuration directory.
type fixture struct {
	name  string
	files map[string]string
	vars  map[string]string
}

// with returns the fixture with another text of a file.
func (f *fixture) with(file, text string) *fixture {
	out := *f
	out.files = maps.Clone(f.files)
	out.files[file] = text
	return &out
}

// configs returns the names of the configuration files, sorted.
func (f *fixture) configs() (names []string) {
	for name := range f.files {
		if strings.HasSuffix(name, ".hcl") && !strings.HasSuffix(name, ".test.hcl") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

var set = all.Set()

// load loads the configuration; nil if it has errors.
func (f *fixture) load() (*hcl.Config, hcl.Diagnostics) {
	fsys := fstest.MapFS{}
	for name, text := range f.files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	options := hcl.Options{Dir: "/srv/tools", UnsetVars: true, Vars: f.vars, AnyVars: true}.ForCheck()
	config, diags := hcl.Load(fsys, set.Kinds(), options)
	if diags.HasErrors() {
		return nil, diags
	}
	return config, nil
}

// side is one side of a comparison.
type side struct {
	*fixture
	config  *hcl.Config
	surface *surface.Surface
	lock    []byte
}

// newSide loads a fixture; nil if it has errors.
func newSide(f *fixture) *side {
	config, _ := f.load()
	if config == nil {
		return nil
	}
	s := &side{fixture: f, config: config, surface: access.Surface(config, nil)}
	s.lock = s.surface.Lock()
	return s
}

// differences returns how another side differs.
func (s *side) differences(from *side) []surface.Change {
	return surface.Compare(from.surface, s.surface).Changes
}

// corpus returns all fixtures that load: those of the language, of the surface, and the examples. Each is loaded once.
var corpus = sync.OnceValue(func() (sides []*side) {
	var list []*fixture
	archives, _ := filepath.Glob(root + "/hcl/testdata/*.txtar")
	for _, name := range archives {
		a, err := txtar.ParseFile(name)
		if err != nil {
			panic(err)
		}
		f := &fixture{name: strings.TrimSuffix(filepath.Base(name), ".txtar"), files: map[string]string{}}
		usable := true
		for _, file := range a.Files {
			switch {
			case file.Name == "vars":
				f.vars, _ = hcl.ParseVars("vars", file.Data)
			case file.Name == "want" || file.Name == "want.json" || file.Name == "env":
			case bytes.HasPrefix(file.Data, []byte("link ")) || bytes.HasPrefix(file.Data, []byte("repeat ")):
				usable = false
			default:
				f.files[file.Name] = string(file.Data)
			}
		}
		if usable {
			list = append(list, f)
		}
	}
	surfaces, _ := filepath.Glob(root + "/hcl/surface/testdata/*.hcl")
	for _, name := range surfaces {
		text, err := os.ReadFile(name)
		if err != nil {
			panic(err)
		}
		list = append(list, &fixture{name: "surface/" + filepath.Base(name), files: map[string]string{"a.hcl": string(text)}})
	}
	seen := map[string]bool{}
	_ = fs.WalkDir(os.DirFS(root+"/examples"), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".hcl" && !seen[path.Dir(name)] {
			seen[path.Dir(name)] = true
			list = append(list, readDirectory(path.Dir(name)))
		}
		return err
	})
	for _, f := range list {
		if s := newSide(f); s != nil && len(s.config.Tools) > 0 {
			sides = append(sides, s)
		}
	}
	return sides
})

// readDirectory reads an example, without what programs wrote there.
func readDirectory(name string) *fixture {
	f := &fixture{name: "examples/" + name, files: map[string]string{}}
	dir := os.DirFS(root + "/examples/" + name)
	_ = fs.WalkDir(dir, ".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if text, err := fs.ReadFile(dir, file); err == nil && len(text) < 1<<18 {
				f.files[file] = string(text)
			}
		}
		return nil
	})
	return f
}

// eachFixture runs a test for each fixture, in parallel.
func eachFixture(t *testing.T, do func(t *testing.T, before *side)) {
	slots := make(chan bool, runtime.GOMAXPROCS(0))
	for _, before := range corpus() {
		t.Run(before.name, func(t *testing.T) {
			t.Parallel()
			slots <- true
			defer func() { <-slots }()
			do(t, before)
		})
	}
}

func TestTheCorpusHasAllKindsOfSteps(t *testing.T) {
	kinds := map[string]bool{}
	for _, s := range corpus() {
		for _, tool := range s.config.Tools {
			for _, step := range tool.Steps {
				kinds[step.Backend.Kind] = true
			}
		}
	}
	for _, backend := range append(set.Kinds().Backends, hcl.BackendKind{Name: "tool"}) {
		if !kinds[backend.Name] {
			t.Errorf("no fixture has a step of kind %s", backend.Name)
		}
	}
	if n := len(corpus()); n < 40 {
		t.Errorf("only %d fixtures load", n)
	}
}
