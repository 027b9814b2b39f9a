package importer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hatchel/hcl/diag"
	"hatchel/hcl/syntax"
)

// ManifestFile is the file of a directory that says which of its blocks were imported.
const ManifestFile = "hatchel.import.json"

// manifest remembers imported blocks as they were generated.
type manifest struct {
	Version int                  `json:"version"`
	Imports map[string]*imported `json:"imports"` // by Result.Source
}

type imported struct {
	From   string                   `json:"from,omitempty"`
	Flags  map[string][]string      `json:"flags,omitempty"`
	Digest string                   `json:"digest,omitempty"`
	Blocks map[string]importedBlock `json:"blocks"` // by header, such as "tool list_invoices"
}

type importedBlock struct {
	Origin string `json:"origin,omitempty"`
	Digest string `json:"digest"`
}

// Options say how Write changes a directory.
type Options struct {
	Update bool // blocks of an earlier import may be replaced and files appended to
	DryRun bool // nothing is written
	// Ignores reports whether a path of the directory, with slashes, is excluded from the configuration. Nil excludes
	// none.
	Ignores func(name string) bool
}

// Write writes the blocks of a result to a directory, which is created when it is missing. Without Update nothing
// that exists is changed. With Update the state of each block follows from three texts: as generated now, as generated
// by the last import, and as it is in the directory, in whichever file. The error is for the user; nothing is written
// then.
func Write(dir string, r *Result, opt Options) (*Report, error) {
	m := &merge{dir: dir, result: r, options: opt, files: map[string][]byte{}, found: map[string]place{}}
	if err := m.read(); err != nil {
		return nil, err
	}
	report, err := m.run()
	if err != nil || opt.DryRun {
		return report, err
	}
	return report, m.write()
}

// ReadBlocks returns the texts of the top-level blocks of a directory by their headers, such as "connection http shop".
func ReadBlocks(dir string, opt Options) (map[string]string, error) {
	m := &merge{dir: dir, result: new(Result), options: opt, files: map[string][]byte{}, found: map[string]place{}}
	if err := m.read(); err != nil {
		return nil, err
	}
	blocks := make(map[string]string, len(m.found))
	for header, at := range m.found {
		blocks[header] = at.text
	}
	return blocks, nil
}

// merge is one run of Write.
type merge struct {
	dir      string
	result   *Result
	options  Options
	manifest *manifest
	last     map[string]importedBlock // of the earlier import of the same source
	files    map[string][]byte        // all files of the directory, as they will be
	found    map[string]place         // blocks of the directory
	existed  map[string]bool          // files before the import
	changed  []string
	report   *Report
}

// place is where a block of the directory is, with its comments.
type place struct {
	file string
	text string
}

func (m *merge) read() error {
	var err error
	if m.manifest, err = readManifest(m.dir); err != nil {
		return err
	}
	if last := m.manifest.Imports[m.result.Source]; last != nil {
		m.last = last.Blocks
	}
	err = filepath.WalkDir(m.dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == m.dir && errors.Is(err, fs.ErrNotExist):
			return fs.SkipAll
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && name != m.dir:
			return fs.SkipDir
		}
		rel, err := filepath.Rel(m.dir, name)
		switch rel = filepath.ToSlash(rel); {
		case err != nil:
			return err
		case name != m.dir && m.ignores(rel) && d.IsDir():
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".hcl" || m.ignores(rel):
			return nil
		}
		return m.readFile(rel, name)
	})
	return err
}

func (m *merge) ignores(name string) bool { return m.options.Ignores != nil && m.options.Ignores(name) }

func (m *merge) readFile(rel, name string) error {
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	m.files[rel] = src
	blocks, err := splitBlocks(rel, src)
	if err != nil {
		return fmt.Errorf("%w; correct it first", err)
	}
	for _, b := range blocks {
		m.found[b.header] = place{rel, b.text}
	}
	return nil
}

// splitBlock is one top-level block of a file with the comments above it.
type splitBlock struct{ header, text string }

// splitBlocks returns the top-level blocks of a file.
func splitBlocks(name string, src []byte) ([]splitBlock, error) {
	body, diags := syntax.Parse(name, src)
	if diags.HasErrors() {
		for _, d := range diags {
			if d.Severity == diag.Error {
				return nil, fmt.Errorf("%s:%d: %s: %s", name, d.Subject.Start.Line, d.Summary, d.Text())
			}
		}
	}
	var blocks []splitBlock
	for _, b := range body.Blocks {
		header := b.Type
		for _, label := range b.Labels {
			header += " " + label
		}
		start := commentStart(src, b.TypeRange.Start.Byte)
		blocks = append(blocks, splitBlock{header, string(src[start:b.CloseBraceRange.End.Byte])})
	}
	return blocks, nil
}

// commentStart returns where the comment lines directly above the line at start begin.
func commentStart(src []byte, start int) int {
	for start > 0 {
		above := bytes.LastIndexByte(src[:start-1], '\n') + 1
		line := bytes.TrimSpace(src[above:start])
		if !bytes.HasPrefix(line, []byte("#")) && !bytes.HasPrefix(line, []byte("//")) {
			break
		}
		start = above
	}
	return start
}

// digestOf returns the digest of a block, which does not depend on its formatting.
func digestOf(text string) string {
	formatted, diags := syntax.Format("", []byte(text+"\n"))
	if diags.HasErrors() {
		formatted = []byte(text)
	}
	return digestOfFormatted(bytes.TrimSpace(formatted))
}

func digestOfFormatted(block []byte) string {
	sum := sha256.Sum256(block)
	return "sha256:" + hex.EncodeToString(sum[:12])
}

func (m *merge) run() (*Report, error) {
	m.report = &Report{Source: m.result.Source, Losses: m.result.Losses, Exports: m.result.Exports,
		Notes: m.result.Notes}
	now := map[string]importedBlock{}
	m.existed = map[string]bool{}
	for file := range m.files {
		m.existed[file] = true
	}
	var all []generated
	for _, b := range m.result.Blocks {
		b.File = m.fileOf(b.File)
		if m.ignores(b.File) {
			return nil, fmt.Errorf("%s would be no part of the configuration: .hatchelignore excludes it", b.File)
		}
		header := b.Header
		if header == "" {
			read, err := splitBlocks(b.File, []byte(b.Text+"\n"))
			if err != nil || len(read) != 1 {
				return nil, fmt.Errorf("the block of %s cannot be written: %w", b.Origin, err)
			}
			header = read[0].header
		}
		if _, twice := now[header]; twice {
			return nil, fmt.Errorf("two blocks would be named %s", header)
		}
		formatted := bytes.TrimSpace(syntax.FormatParsed([]byte(b.Text + "\n")))
		digest := digestOfFormatted(formatted)
		b.Text = string(formatted)
		now[header] = importedBlock{b.Origin, digest}
		all = append(all, generated{b, header, digest})
	}
	for _, b := range all {
		steers := func(literal string) bool { return Steers(literal[1 : len(literal)-1]) }
		if slices.ContainsFunc(stringLiteral.FindAllString(b.Text, -1), steers) { // its descriptions were read before
			m.report.Losses = append(m.report.Losses, Loss{b.header, "text that instructs models",
				"a name or a value of the source; read the block before you serve it", b.Origin})
		}
		if before := m.renamed(b, now); before != "" {
			file := m.rename(before, b.header)
			m.report.Entries = append(m.report.Entries, Entry{b.header, file, b.Origin, Renamed, before})
			delete(m.last, before)
			continue
		}
		state, file := m.place(b.header, b.digest, b.Block)
		switch {
		case state == Added && m.existed[file] && !m.options.Update, state == Replaced && !m.options.Update:
			return nil, fmt.Errorf("%s exists already; --update merges into it and keeps what you have changed", file)
		case state == Foreign:
			delete(now, b.header)
		case state == Conflict:
			if err := m.addConflict(file, b.header, b.Text); err != nil {
				return nil, err
			}
		}
		m.report.Entries = append(m.report.Entries, Entry{b.header, file, b.Origin, state, ""})
	}
	for _, header := range slices.Sorted(maps.Keys(m.last)) {
		at, exists := m.found[header]
		_, still := now[header]
		if m.result.OnlyTools && !strings.HasPrefix(header, "tool ") {
			now[header] = m.last[header]
			continue
		}
		if !still && exists {
			now[header] = m.last[header]
			m.report.Entries = append(m.report.Entries, Entry{header, at.file, m.last[header].Origin, Gone, ""})
		}
	}
	m.manifest.Imports[m.result.Source] = &imported{
		From: m.result.From, Flags: m.result.Flags, Digest: m.result.Digest, Blocks: now,
	}
	if err := m.format(); err != nil {
		return nil, err
	}
	m.report.Files, m.report.Contents = append([]string{}, m.changed...), map[string][]byte{}
	for _, name := range m.changed {
		m.report.Contents[name] = m.files[name]
	}
	return m.report, nil
}

// generated is a block with its header and the digest of its text.
type generated struct {
	Block
	header, digest string
}

// renamed returns the header of the block of the last import that differs from a new one by its name alone, and that
// the directory still has; "" if there is none. Such a block is given the new name, with the changes of the author.
func (m *merge) renamed(b generated, now map[string]importedBlock) string {
	kind, name, named := strings.Cut(b.header, " ")
	_, wasImported := m.last[b.header]
	if _, exists := m.found[b.header]; !m.options.Update || !named || wasImported || exists {
		return ""
	}
	for _, before := range slices.Sorted(maps.Keys(m.last)) {
		_, still := now[before]
		at, exists := m.found[before]
		old, sameKind := strings.CutPrefix(before, kind+" ")
		if still || !exists || !sameKind || relabel(at.text, kind, old, name) == at.text {
			continue
		}
		if digestOf(relabel(b.Text, kind, name, old)) == m.last[before].Digest {
			return before
		}
	}
	return ""
}

// rename gives a block of the directory a new name, and returns its file.
func (m *merge) rename(before, header string) string {
	at := m.found[before]
	kind, name, _ := strings.Cut(header, " ")
	text := relabel(at.text, kind, strings.TrimPrefix(before, kind+" "), name)
	m.files[at.file] = bytes.Replace(m.files[at.file], []byte(at.text), []byte(text), 1)
	m.touch(at.file)
	m.found[header] = place{at.file, text}
	return at.file
}

// relabel returns the text of a block of a kind with one label with another label.
func relabel(text, kind, from, to string) string {
	return strings.Replace(text, kind+" "+Quote(from)+" {", kind+" "+Quote(to)+" {", 1)
}

// place decides what becomes of one block, and edits the files.
func (m *merge) place(header, digest string, b Block) (State, string) {
	at, exists := m.found[header]
	last, wasImported := m.last[header]
	switch {
	case !exists && wasImported:
		return Removed, b.File
	case !exists:
		file := m.fileWithRoom(b.File, b.Text)
		m.append(file, b.Text)
		return Added, file
	case digestOf(at.text) == digest:
		return Unchanged, at.file
	case !wasImported:
		return Foreign, at.file
	case digestOf(at.text) == last.Digest:
		m.files[at.file] = bytes.Replace(m.files[at.file], []byte(at.text), []byte(b.Text), 1)
		m.touch(at.file)
		return Replaced, at.file
	case last.Digest == digest || !m.options.Update:
		return Kept, at.file
	}
	return Conflict, at.file
}

// MaxFileSize is the size up to which blocks share a file. It leaves room for changes within what a load accepts.
const MaxFileSize = 512 << 10

// fileWithRoom returns the file of a new block: the one that is named, or the first of those with a number, as in
// tables_2.hcl, which has room for it. Without Update none that existed gets a number.
func (m *merge) fileWithRoom(file, text string) string {
	base := strings.TrimSuffix(file, ".hcl")
	for n := 2; ; n++ {
		size := len(m.files[file])
		isOther := n > 2 && m.existed[file] && !m.options.Update
		if size == 0 || size+len(text) <= MaxFileSize && !isOther {
			return file
		}
		file = fmt.Sprintf("%s_%d.hcl", base, n)
	}
}

func (m *merge) append(file, text string) {
	src := m.files[file]
	if len(src) > 0 {
		src = append(bytes.TrimRight(src, "\n"), "\n\n"...)
	}
	m.files[file] = append(append(src, strings.Trim(text, "\n")...), '\n')
	m.touch(file)
}

func (m *merge) touch(file string) {
	if !slices.Contains(m.changed, file) {
		m.changed = append(m.changed, file)
	}
}

// format formats the changed files, and adds the whole ones. New files consist of formatted blocks.
func (m *merge) format() error {
	slices.Sort(m.changed)
	for _, file := range m.changed {
		if !m.existed[file] {
			continue
		}
		formatted, diags := syntax.Format(file, m.files[file])
		if diags.HasErrors() {
			return fmt.Errorf("%s cannot be written: %s", file, diags[0].Text())
		}
		m.files[file] = formatted
	}
	for _, name := range slices.Sorted(maps.Keys(m.result.Files)) {
		after := m.result.Files[name]
		if before, err := os.ReadFile(filepath.Join(m.dir, name)); err != nil || !bytes.Equal(before, after) {
			m.files[name] = after
			m.touch(name)
		}
	}
	return nil
}

// write writes the changed files and the manifest. All are written beside their names before the first is renamed.
func (m *merge) write() error {
	src, err := json.MarshalIndent(m.manifest, "", "  ")
	if err != nil {
		return err
	}
	m.files[ManifestFile] = append(src, '\n')
	names := append(slices.Clone(m.changed), ManifestFile)
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(m.dir, filepath.FromSlash(name)))
		if err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", name)
		}
	}
	const suffix = ".hatchel-tmp"
	for _, name := range names {
		target := filepath.Join(m.dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(target), 0o755)
		if err == nil {
			err = os.WriteFile(target+suffix, m.files[name], 0o644)
		}
		if err != nil {
			for _, name := range names {
				_ = os.Remove(filepath.Join(m.dir, filepath.FromSlash(name)) + suffix)
			}
			return err
		}
	}
	for _, name := range names {
		target := filepath.Join(m.dir, filepath.FromSlash(name))
		if err := os.Rename(target+suffix, target); err != nil {
			return err
		}
	}
	return nil
}
