package examples_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// page is a documentation page of the repository.
type page struct {
	path   string // relative to this folder
	src    string
	blocks []fence
}

// fence is a fenced block of a page. The first word of info is its language.
type fence struct {
	info, text string
	start, end int // offsets of text in the page
}

// pagePaths returns README.md and every page below docs that is written by hand.
func pagePaths(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("../docs/*.md")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no pages in docs: %v", err)
	}
	return append([]string{"../README.md"}, paths...)
}

func readPage(t *testing.T, path string) *page {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := &page{path: path, src: string(src)}
	offset, open := 0, -1
	for line := range strings.Lines(p.src) {
		if info, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "```"); ok {
			if open < 0 {
				p.blocks = append(p.blocks, fence{info: info, start: offset + len(line)})
				open = len(p.blocks) - 1
			} else {
				b := &p.blocks[open]
				b.end, b.text = offset, p.src[b.start:offset]
				open = -1
			}
		}
		offset += len(line)
	}
	if open >= 0 {
		t.Fatalf("%s: the last fenced block is not closed", path)
	}
	return p
}

func (p *page) fences(info string) (found []fence) {
	for _, b := range p.blocks {
		if b.info == info {
			found = append(found, b)
		}
	}
	return found
}

// replace writes the page with new text in place of some of its blocks.
func (p *page) replace(t *testing.T, texts map[int]string) {
	t.Helper()
	var out strings.Builder
	at := 0
	for i, b := range p.blocks {
		if text, ok := texts[i]; ok {
			out.WriteString(p.src[at:b.start] + text)
			at = b.end
		}
	}
	out.WriteString(p.src[at:])
	if err := os.WriteFile(p.path, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

var secretEnv = regexp.MustCompile(`env\s*=\s*"([A-Z_]+)"`)

// secretValue returns a value that the secret of an example may have.
func secretValue(name string) string {
	switch {
	case strings.HasSuffix(name, "_MYSQL"):
		return name + "=mysql://tools:password@127.0.0.1:3306/tools"
	case strings.HasSuffix(name, "_DSN"):
		return name + "=postgres://tools:password@127.0.0.1:5432/tools"
	case strings.HasSuffix(name, "_URL"):
		return name + "=https://ops.example/hooks"
	}
	return name + "=0123456789abcdef0123456789abcdef"
}

// supportFiles are the files that examples of the documentation read when they are loaded.
var supportFiles = map[string]string{
	"schema.sql":     "CREATE TABLE IF NOT EXISTS invoices (id INTEGER PRIMARY KEY, date TEXT, amount NUMERIC, vendor TEXT);\n",
	"logo.png":       "a picture",
	"runbook.md":     "# Runbook\n",
	"logs/app.log":   "INFO started\n",
	"exports/README": "",
	"data/README":    "",
}

// TestSnippetsLoad loads the hcl blocks of each page as one configuration. A block that is marked "hcl separate" is loaded alone.
func TestSnippetsLoad(t *testing.T) {
	t.Parallel()
	for _, path := range pagePaths(t) {
		p := readPage(t, path)
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			together := map[string]string{}
			for i, b := range p.fences("hcl") {
				together["snippet"+strconv.Itoa(i)+".hcl"] = b.text
			}
			if len(together) > 0 {
				checkSnippets(t, together)
			}
			for _, b := range p.fences("hcl separate") {
				checkSnippets(t, map[string]string{"snippet.hcl": b.text})
			}
		})
	}
}

func checkSnippets(t *testing.T, files map[string]string) {
	t.Helper()
	f := &folder{t: t, path: t.TempDir()}
	for name, text := range supportFiles {
		if err := os.MkdirAll(filepath.Dir(f.file(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		f.write(name, text)
	}
	for name, text := range files {
		f.write(name, text)
		for _, m := range secretEnv.FindAllStringSubmatch(text, -1) {
			f.env = append(f.env, secretValue(m[1]))
		}
	}
	var result struct {
		Diagnostics []json.RawMessage
	}
	o := f.run("validate", ".", "--json")
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil || o.code != 0 || len(result.Diagnostics) > 0 {
		o = f.run("validate", ".")
		t.Errorf("a snippet does not load cleanly:\n%s%s", o.stdout, o.stderr)
	}
	if o := f.run("fmt", "--diff", "."); o.stdout != "" || o.code != 0 {
		t.Errorf("a snippet is not in the canonical style:\n%s%s", o.stdout, o.stderr)
	}
}

// checkout returns a folder with copies of the examples that a page names.
func checkout(t *testing.T, p *page) *folder {
	t.Helper()
	root := t.TempDir()
	names, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range names {
		if entry.IsDir() && strings.Contains(p.src, "examples/"+entry.Name()) {
			f := example(t, entry.Name())
			f.must(os.MkdirAll(filepath.Join(root, "examples"), 0o755))
			f.must(os.Rename(f.path, filepath.Join(root, "examples", entry.Name())))
		}
	}
	return &folder{t: t, path: root}
}

// TestTranscriptsArePrinted runs the commands of each console block and compares what they print with the page.
func TestTranscriptsArePrinted(t *testing.T) {
	t.Parallel()
	for _, path := range pagePaths(t) {
		p := readPage(t, path)
		if len(p.fences("console")) == 0 {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			f := checkout(t, p)
			changed := map[int]string{}
			for i, b := range p.blocks {
				if b.info != "console" {
					continue
				}
				if printed := f.replay(b.text); trimLines(printed) != trimLines(b.text) {
					changed[i] = printed
				}
			}
			switch {
			case len(changed) > 0 && *update:
				p.replace(t, changed)
			case len(changed) > 0:
				for i, printed := range changed {
					t.Errorf("%s shows\n%s\nbut this is printed; go test ./examples -run Transcripts -update writes it:\n%s", path, p.blocks[i].text, printed)
				}
			}
		})
	}
}

// replay runs the commands of a transcript and returns it with what they print now.
func (f *folder) replay(transcript string) string {
	f.t.Helper()
	var out strings.Builder
	for i, part := range strings.Split("\n"+transcript, "\n$ ")[1:] {
		line, _, _ := strings.Cut(part, "\n")
		cmd := exec.Command("/bin/sh", "-c", line)
		cmd.Dir = f.path
		cmd.Env = append(f.command().Env, "PATH="+filepath.Dir(hatchel)+":"+os.Getenv("PATH"))
		printed, err := cmd.CombinedOutput()
		if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
			f.t.Fatal(err)
		}
		if i > 0 {
			out.WriteString("\n")
		}
		out.WriteString("$ " + line + "\n" + string(printed))
	}
	return out.String()
}

// trimLines removes the white space at the ends of lines and empty lines.
func trimLines(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \n"); line != "" {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// TestTheReadmeShowsAToolOfTheExamples keeps the first tool of the README and the one that its transcript calls the same.
func TestTheReadmeShowsAToolOfTheExamples(t *testing.T) {
	shown := readPage(t, "../README.md").fences("hcl")
	src, err := os.ReadFile("invoices/invoices.hcl")
	if err != nil || len(shown) == 0 {
		t.Fatal(err)
	}
	if at := strings.Index(shown[0].text, "tool "); at < 0 || !bytes.Contains(src, []byte(shown[0].text[at:])) {
		t.Errorf("examples/invoices does not have this tool:\n%s", shown[0].text)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	dropped = regexp.MustCompile("[^\\p{L}\\p{N} _-]")
)

// anchors returns the names by which GitHub links to the headings of a page.
func anchors(src string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(src, -1) {
		names = append(names, strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return names
}

func TestLinksOfTheDocumentationLeadSomewhere(t *testing.T) {
	t.Parallel()
	paths := append(pagePaths(t), "../CHANGELOG.md", "../CONTRIBUTING.md", "../SECURITY.md")
	examples, err := filepath.Glob("*/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(paths, examples...) {
		for _, m := range link.FindAllStringSubmatch(readPage(t, path).src, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target, anchor, _ := strings.Cut(m[1], "#")
			file := path
			if target != "" {
				file = filepath.Join(filepath.Dir(path), filepath.FromSlash(target))
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s, which does not exist", path, m[1])
			} else if anchor != "" && !slices.Contains(anchors(readPage(t, file).src), anchor) {
				t.Errorf("%s links to %s, but that page has no such heading", path, m[1])
			}
		}
	}
}
