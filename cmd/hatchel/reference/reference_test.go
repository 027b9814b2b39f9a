package reference

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/hcl/syntax"
)

var update = flag.Bool("update", false, "rewrite docs/reference")

func newReference() *Reference { return New(all.Set().Kinds()) }

func TestEveryBlockIsInOneGroup(t *testing.T) {
	seen := map[string]int{}
	for _, b := range newReference().blocks {
		seen[b.Key]++
		if b.Name == "" {
			t.Errorf("%s is not a block of the language", b.Key)
		}
	}
	for _, ref := range hcl.Reference(all.Set().Kinds()) {
		if seen[ref.Key] != 1 {
			t.Errorf("%s is in %d groups", ref.Key, seen[ref.Key])
		}
	}
}

func TestBlocksWithTheSameNameHaveDifferentTitles(t *testing.T) {
	keys := map[string]string{}
	for _, b := range newReference().all {
		if other := keys[b.Title()]; other != "" {
			t.Errorf("%s and %s have the title %s", other, b.Key, b.Title())
		}
		keys[b.Title()] = b.Key
	}
}

func TestANestedBlockIsDocumentedWhereItIsUsed(t *testing.T) {
	r := newReference()
	for _, c := range []struct{ topic, titles string }{
		{"connection http auth", `auth in connection "http" "name"`},
		{"auth", `auth, auth in connection "http" "name", auth in connection "mcp" "name", auth in connection "postgres" "name", auth in connection "mysql" "name"`},
		{"oauth2", `oauth2 in auth in connection "http" "name", oauth2 in auth in connection "mcp" "name"`},
		{"cache", "cache in resource, cache in tool"},
		{"repeat", `repeat in step "name"`},
		{"http", `http ["connection"], connection "http" "name", mock "http" ["connection"]`},
	} {
		t.Run(c.topic, func(t *testing.T) {
			var titles []string
			for _, b := range r.Find(c.topic) {
				titles = append(titles, b.Title())
			}
			if got := strings.Join(titles, ", "); got != c.titles {
				t.Errorf("got %s, want %s", got, c.titles)
			}
		})
	}
}

func TestSearch(t *testing.T) {
	for _, c := range []struct {
		word  string
		found string // empty for nothing
	}{
		{"OAuth2", "connection http auth oauth2"},
		{"max_body", "connection http: max_body"},
		{"coalesce", "functions: coalesce("},
		{"zzz", ""},
	} {
		t.Run(c.word, func(t *testing.T) {
			var out bytes.Buffer
			found, err := newReference().Search(&out, c.word)
			if err != nil || found != (c.found != "") || !strings.Contains(out.String(), c.found) {
				t.Errorf("%v %v\n%s", found, err, &out)
			}
		})
	}
}

func TestTerminalPagesFitTheWidth(t *testing.T) {
	r := newReference()
	var out bytes.Buffer
	r.WriteOverview(&out)
	WriteBlocks(&out, r.blocks)
	for _, topic := range r.Topics {
		topic.WriteText(&out)
	}
	for line := range strings.Lines(out.String()) {
		if line = strings.TrimSuffix(line, "\n"); len([]rune(line)) > Width && strings.Contains(strings.TrimSpace(line), " ") {
			t.Errorf("%d characters: %s", len(line), line)
		}
	}
}

// The files of docs/reference are written by go test ./cmd/hatchel/reference -update.
func TestTheMarkdownFilesAreCurrent(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "docs", "reference")
	files := newReference().Markdown()
	if *update {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := files[e.Name()]; !ok {
			t.Errorf("%s is not a page of the reference", e.Name())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != files[name] {
			t.Errorf("%s is not current: run go test ./cmd/hatchel/reference -update", name)
		}
	}
}

var (
	markdownLink    = regexp.MustCompile(`\]\(([a-z]+\.md)(?:#([^)]+))?\)`)
	markdownHeading = regexp.MustCompile("(?m)^#+ (.+)$")
)

func TestTheLinksOfTheMarkdownFilesHaveTargets(t *testing.T) {
	files := newReference().Markdown()
	anchors := map[string]bool{}
	for name, text := range files {
		anchors[name+"#"] = true
		for _, m := range markdownHeading.FindAllStringSubmatch(text, -1) {
			anchors[name+"#"+slug(strings.Trim(m[1], "`"))] = true
		}
	}
	for name, text := range files {
		for _, m := range markdownLink.FindAllStringSubmatch(text, -1) {
			if !anchors[m[1]+"#"+m[2]] {
				t.Errorf("%s links to %s#%s", name, m[1], m[2])
			}
		}
	}
}

func TestExamplesLoadAsTheyAreShown(t *testing.T) {
	entries, err := examples.ReadDir("examples")
	if err != nil {
		t.Fatal(err)
	}
	keys := newReference().Keys()
	for _, e := range entries {
		t.Run(e.Name(), func(t *testing.T) {
			src, err := examples.ReadFile("examples/" + e.Name())
			if err != nil {
				t.Fatal(err)
			}
			if key := strings.TrimSuffix(e.Name(), path.Ext(e.Name())); !slices.Contains(keys, key) || !strings.Contains(strings.ReplaceAll(string(src), `"`, ""), key) {
				t.Errorf("no block %s in it", key)
			}
			canonical, diags := syntax.Format(e.Name(), src)
			if len(diags) > 0 || !bytes.Equal(canonical, src) {
				t.Error("not in the canonical style")
			}
			for line := range strings.Lines(string(src)) {
				if len("    "+line) > Width+1 {
					t.Errorf("wider than a terminal: %s", line)
				}
			}
			_, diags = hcl.Load(fstest.MapFS{
				"example.hcl":             {Data: src},
				"logo.png":                {Data: []byte("a picture")},
				"skills/refunds/SKILL.md": {Data: []byte("---\nname: refunds\ndescription: Refund an order.\n---\n")},
				"shop.hcl":                {Data: []byte("connection \"sqlite\" \"shop\" { file = \"shop.db\" }\n")},
			}, all.Set().Kinds(), hcl.Options{Getenv: func(name string) (string, bool) {
				if strings.HasSuffix(name, "_DSN") {
					return "postgres://tools:secret-of-the-login@db.example/ledger", true
				}
				return "a secret of more than 24 characters", true
			}})
			for _, d := range diags {
				if d.Summary != "Unused connection" {
					t.Errorf("line %d: %s: %s", d.Subject.Start.Line, d.Summary, d.Detail)
				}
			}
		})
	}
}

func TestBlocksOfTheLanguageHaveExamples(t *testing.T) {
	for _, key := range []string{
		"tool", "prompt", "resource", "toolset", "auth", "tls", "policy", "input", "argument", "message", "complete", "cache",
		"check", "step", "ask", "elicit", "sample", "roots", "approval", "approvals", "webhook", "files", "state", "audit",
		"limit", "breaker", "idempotency", "task", "content", "view", "column", "projection", "page", "annotations", "progress", "log", "wait", "fail", "fault", "test",
		"http", "sql", "shell", "csv", "file", "connection http", "connection sqlite", "connection postgres",
	} {
		if _, err := examples.ReadFile("examples/" + key + ".hcl"); err != nil {
			t.Errorf("hatchel docs %s shows no example", key)
		}
	}
}
