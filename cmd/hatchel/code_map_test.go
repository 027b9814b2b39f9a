package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// codeMap is the page that says what is where.
const codeMap = "docs/code.md"

var (
	quotedWord = regexp.MustCompile("`([^`\n]+)`")
	pathOfRepo = regexp.MustCompile(`^(?:\.ci|adapters|cmd|docs|editors|examples|hcl|internal|runtime)(?:/[\w.*-]+)*/?$`)
	fileName   = regexp.MustCompile(`\.(?:go|md|hcl)$`)
	nameOfGo   = regexp.MustCompile(`^([A-Za-z]\w*)\.([A-Za-z]\w*)$`)
)

// TestTheMapOfTheCodeNamesWhatExists fails for a file, a folder or a name of Go between backquotes that was moved or
// renamed. A name is that of a package and what it declares, or of a type and its member.
func TestTheMapOfTheCodeNamesWhatExists(t *testing.T) {
	_, files := moduleFiles(t, false)
	names := declaredNames(files)
	declares := func(of, name string) bool {
		for folder, p := range names {
			if path.Base(folder) == of && p.top[name] || p.members[of][name] {
				return true
			}
		}
		return false
	}
	for _, page := range []string{codeMap, "CONTRIBUTING.md"} {
		for _, word := range quotedWords(t, page) {
			if pathOfRepo.MatchString(word) {
				if found, err := filepath.Glob(filepath.Join(moduleRoot, word)); err != nil || len(found) == 0 {
					t.Errorf("%s names the file %s, which does not exist", page, word)
				}
			} else if m := nameOfGo.FindStringSubmatch(word); m != nil && !fileName.MatchString(word) && !declares(m[1], m[2]) {
				t.Errorf("%s names %s, which does not exist", page, word)
			}
		}
	}
}

// TestTheMapOfTheCodeHasEveryPackage fails for a package that no line names: by its path, by that of one of its files,
// or by its name in a line about a folder above it.
func TestTheMapOfTheCodeHasEveryPackage(t *testing.T) {
	src, err := os.ReadFile(filepath.Join(moduleRoot, codeMap))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for line := range strings.Lines(string(src)) {
		var folders []string
		for _, m := range quotedWord.FindAllStringSubmatch(line, -1) {
			word := strings.TrimSuffix(m[1], "/")
			named[word] = true
			if strings.HasSuffix(word, ".go") {
				named[path.Dir(word)] = true
			}
			if pathOfRepo.MatchString(word) {
				folders = append(folders, word)
			}
			for _, folder := range folders {
				named[path.Join(folder, word)] = true
			}
		}
	}
	var missing []string
	for file := range productionFiles(t) {
		folder := path.Dir(file)
		inside := strings.HasPrefix(folder, ".ci") || strings.HasPrefix(folder, "examples") || strings.HasSuffix(folder, "test")
		if !inside && !named[folder] && !slices.Contains(missing, folder) {
			missing = append(missing, folder)
		}
	}
	slices.Sort(missing)
	for _, folder := range missing {
		t.Errorf("%s does not say what %s is for", codeMap, folder)
	}
}

// quotedWords returns what a page has between backquotes.
func quotedWords(t *testing.T, page string) (words []string) {
	src, err := os.ReadFile(filepath.Join(moduleRoot, page))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range quotedWord.FindAllStringSubmatch(string(src), -1) {
		words = append(words, m[1])
	}
	return words
}
