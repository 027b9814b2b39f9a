package reference

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"hatchel/internal/tokens"
)

func TestTheFilesForModelsAreThoseOfTheDocumentation(t *testing.T) {
	const docs = "../../../docs"
	index, full, err := LLMs(os.DirFS(docs))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"llms.txt": index, "llms-full.txt": full} {
		at := filepath.Join(docs, name)
		if *update {
			if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(at); err != nil || string(got) != text {
			t.Errorf("%s is not up to date: hatchel docs --format llms --out docs writes it", at)
		}
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
}
