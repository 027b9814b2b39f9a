package examples_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
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

// authorityFile finds the file of certificate authorities of a connection.
var authorityFile = regexp.MustCompile(`ca_file\s*=\s*"([^"]+)"`)

// definitionsFile finds the file of definitions of a connection.
var definitionsFile = regexp.MustCompile(`definitions\s*=\s*"([^"]+)"`)

// certificateFile finds the file with the certificate of a client's key.
var certificateFile = regexp.MustCompile(`\scertificate\s*=\s*"([^"]+)"`)

// secretValue returns a value that the secret of an example may have.
func secretValue(name string) string {
	switch {
	case strings.HasSuffix(name, "_MYSQL"):
		return name + "=mysql://tools:password@127.0.0.1:3306/tools"
	case strings.HasSuffix(name, "_DSN"):
		return name + "=postgres://tools:password@127.0.0.1:5432/tools"
	case strings.HasSuffix(name, "_URL"):
		return name + "=https://ops.example/hooks"
	case strings.HasPrefix(name, "PREVIOUS_"):
		return name + "=fedcba9876543210fedcba9876543210"
	case strings.HasSuffix(name, "_PEM"):
		return name + "=" + privateKey()
	}
	return name + "=0123456789abcdef0123456789abcdef"
}

// clientKey is a new key of a client.
var clientKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func privateKey() string {
	der, err := x509.MarshalPKCS8PrivateKey(clientKey())
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// supportFiles are the files that examples of the documentation read when they are loaded.
var supportFiles = map[string]string{
	"schema.sql":     "CREATE TABLE IF NOT EXISTS invoices (id INTEGER PRIMARY KEY, date TEXT, amount NUMERIC, vendor TEXT);\n",
	"logo.png":       "a picture",
	"runbook.md":     "# Runbook\n",
	"logs/app.log":   "INFO started\n",
	"exports/README": "",
	"data/README":    "",
	"bin/acme-crm":   "#!/bin/sh\n", // is in the PATH

	"skills/refunds/SKILL.md":  "---\nname: refunds\ndescription: Refund an order.\n---\n",
	"skills/invoices/SKILL.md": "---\nname: invoices\ndescription: Write an invoice.\n---\n",
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
	f.must(os.Chmod(f.file("bin/acme-crm"), 0o755))
	f.env = append(f.env, "PATH="+f.file("bin")+":"+os.Getenv("PATH"))
	for name, text := range files {
		f.write(name, f.withSecretFiles(text, "0123456789abcdef"))
		if strings.Contains(text, "tls/server.pem") {
			f.writeCertificate("tls")
		}
		for _, m := range authorityFile.FindAllStringSubmatch(text, -1) {
			f.writeCertificate("tls")
			f.must(os.Rename(f.file("tls/clients.pem"), f.file(m[1])))
		}
		for _, m := range definitionsFile.FindAllStringSubmatch(text, -1) {
			f.write(m[1], "{\n  \"form\": 1,\n  \"tools\": []\n}\n")
		}
		for _, m := range certificateFile.FindAllStringSubmatch(text, -1) {
			f.writeClientCertificate(m[1])
		}
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

// secretFile finds the file of a secret that an agent or a volume brings.
var secretFile = regexp.MustCompile(`file\s*= "(/run/secrets/[^"]+)"`)

// withSecretFiles writes the files of the secrets of a configuration below the folder, and returns the configuration
// with their names there. A file "url" has the address of a database, which cannot be reached, with the secret.
func (f *folder) withSecretFiles(text, secret string) string {
	f.t.Helper()
	return secretFile.ReplaceAllStringFunc(text, func(argument string) string {
		name := secretFile.FindStringSubmatch(argument)[1]
		f.must(os.MkdirAll(filepath.Dir(f.file(name)), 0o755))
		value := secret
		if filepath.Base(name) == "url" {
			value = "postgres://hatchel:" + secret + "@127.0.0.1:1/hatchel"
		}
		f.write(name, value)
		return strings.Replace(argument, name, f.file(name), 1)
	})
}

// writeClientCertificate writes the certificate of clientKey.
func (f *folder) writeClientCertificate(name string) {
	f.t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &clientKey().PublicKey, clientKey())
	f.must(err)
	f.write(name, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
}

// writeCertificate writes a certificate, its key, and an authority for clients.
func (f *folder) writeCertificate(dir string) {
	f.t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	f.must(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	f.must(err)
	key, err := x509.MarshalPKCS8PrivateKey(private)
	f.must(err)
	f.must(os.MkdirAll(f.file(dir), 0o755))
	encoded := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))
	f.write(dir+"/server.pem", encoded)
	f.write(dir+"/clients.pem", encoded)
	f.write(dir+"/server.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
}

// checkout returns a folder with copies of the examples that a page names.
func checkout(t *testing.T, p *page) *folder {
	t.Helper()
	root := t.TempDir()
	names, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, ".git"), 0o755); err != nil { // examples/ops reads it
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

// TestTheReadmeShowsAToolOfTheExamples keeps the first tool of the README and the one that its transcript calls the same.
func TestTheReadmeShowsAToolOfTheExamples(t *testing.T) {
	t.Parallel()
	shown := readPage(t, "../README.md").fences("hcl")
	src, err := os.ReadFile("invoices/invoices.hcl")
	if err != nil || len(shown) == 0 {
		t.Fatal(err)
	}
	if at := strings.Index(shown[0].text, "tool "); at < 0 || !bytes.Contains(src, []byte(shown[0].text[at:])) {
		t.Errorf("examples/invoices does not have this tool:\n%s", shown[0].text)
	}
}

func TestTheGuideShowsTheProxiesOfReplicas(t *testing.T) {
	t.Parallel()
	p := readPage(t, "../docs/running.md")
	for name, info := range map[string]string{"replicas/nginx.conf": "nginx", "replicas/Caddyfile": "caddy"} {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(p.fences(info), func(f fence) bool { return f.text == string(file) }) {
			t.Errorf("%s does not show %s", p.path, name)
		}
	}
}

func TestToolsOfContainersAreValid(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"docker/tools", "kubernetes/tools", "kubernetes/chart/tools"} {
		cmd := exec.Command(hatchel, "validate", dir)
		cmd.Env = append(os.Environ(), "HATCHEL_KEY=a key of sixteen characters",
			"PROMETHEUS_KEY=another key of sixteen", "STATE_DSN=postgres://hatchel@db.example/hatchel")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", dir, err, out)
		}
	}
}

func TestTheReadmeIsShort(t *testing.T) {
	t.Parallel()
	const maxLines = 180
	lines := strings.Split(readPage(t, "../README.md").src, "\n")
	if len(lines) > maxLines {
		t.Errorf("the README has %d lines, more than %d: move details to a guide", len(lines), maxLines)
	}
	for _, first := range []string{"**Status", "git clone"} {
		if !strings.Contains(strings.Join(lines[:10], "\n"), first) {
			t.Errorf("the first ten lines of the README do not have %q", first)
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns the names by which GitHub links to the headings of a page.
func anchors(src string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(src, -1) {
		names = append(names, strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return names
}

// fenced matches a fence: a page may show another one, with links of its own.
var fenced = regexp.MustCompile("(?s)```.*?```")

func TestLinksOfTheDocumentationLeadSomewhere(t *testing.T) {
	t.Parallel()
	paths := append(pagePaths(t), "../CHANGELOG.md", "../CONTRIBUTING.md", "../SECURITY.md")
	examples, err := filepath.Glob("*/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(paths, examples...) {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(readPage(t, path).src, ""), -1) {
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

// section returns the text between two markers of a page, and its offsets.
func (p *page) section(t *testing.T, name string) (text string, start, end int) {
	t.Helper()
	begin, finish := "<!-- "+name+":begin -->\n", "<!-- "+name+":end -->"
	start, end = strings.Index(p.src, begin), strings.Index(p.src, finish)
	if start < 0 || end < start {
		t.Fatalf("%s has no section %s", p.path, name)
	}
	start += len(begin)
	return p.src[start:end], start, end
}

var passedOverHTTP = regexp.MustCompile("(?m)^\\| `--requirements ([\\d-]+)` \\| HTTP \\| (\\d+ of \\d+) \\|")

// TestTheReadmeHasTheConformanceOverHTTP keeps the sentence of the README in step with the table of docs/conformance.md.
func TestTheReadmeHasTheConformanceOverHTTP(t *testing.T) {
	t.Parallel()
	table, _, _ := readPage(t, "../docs/conformance.md").section(t, "conformance")
	rows := passedOverHTTP.FindAllStringSubmatch(table, -1)
	if len(rows) != 2 {
		t.Fatalf("the table has other rows over HTTP: %q", rows)
	}
	want := fmt.Sprintf("%s scenarios of %s and %s of %s pass over HTTP", rows[0][2], rows[0][1], rows[1][2], rows[1][1])
	if !strings.Contains(readPage(t, "../README.md").src, want) {
		t.Errorf("the README does not say %q", want)
	}
}

var ratio = regexp.MustCompile(`\b(\d+\.\d\d)\s+times\b`)

// The ratios that the README names are those of rows of the benchmark that reach their bound.
func TestTheReadmeNamesRatiosThatReachTheirBound(t *testing.T) {
	t.Parallel()
	table, _, _ := readPage(t, "../docs/benchmarks.md").section(t, "benchmarks")
	ratios := ratio.FindAllStringSubmatch(readPage(t, "../README.md").src, -1)
	if len(ratios) == 0 {
		t.Error("the README names no ratio")
	}
	for _, m := range ratios {
		if !strings.Contains(table, "| "+m[1]+" × | pass |") {
			t.Errorf("no row of the benchmark has %s and passes", m[1])
		}
	}
}

var repositoryPath = regexp.MustCompile("`((?:cmd|hcl|runtime|adapters|examples|internal)/[a-z0-9_/-]*(?:\\.[a-z]+)?)`")

func TestPathsInTheDocumentationExist(t *testing.T) {
	t.Parallel()
	for _, path := range append(pagePaths(t), "../CONTRIBUTING.md") {
		for _, m := range repositoryPath.FindAllStringSubmatch(readPage(t, path).src, -1) {
			if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s names %s, which does not exist", path, m[1])
			}
		}
	}
}
