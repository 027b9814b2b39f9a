package reference

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hatchel/internal/tokens"
)

func TestTheFilesForModelsAreThoseOfTheDocumentation(t *testing.T) {
	const docs = "../../../docs"
	index, full, err := LLMs(os.DirFS(docs))
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(docs, "llms.txt")
	if *update {
		if err := os.WriteFile(at, []byte(index), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(at); err != nil || string(got) != index {
		t.Errorf("%s is not up to date: hatchel docs --format llms --out docs writes it", at)
	}
	if n := tokens.Estimate(index); n > 3000 {
		t.Errorf("llms.txt has about %d tokens", n)
	}
	var linked []string
	for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(index, -1) {
		linked = append(linked, filepath.Join(docs, m[1]))
	}
	pages, err := filepath.Glob(docs + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if filepath.Base(page) != "README.md" && !slices.Contains(linked, page) {
			t.Errorf("llms.txt does not list %s", page)
		}
	}
	// llms-full.txt is made for a release only, so it is not compared with a file.
	for _, page := range linked {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(full, strings.TrimSpace(string(text))) {
			t.Errorf("llms-full.txt does not have the text of %s", page)
		}
	}
	if limit := 2 << 20; len(full) > limit {
		t.Errorf("llms-full.txt has %d bytes, more than %d", len(full), limit)
	}
}
