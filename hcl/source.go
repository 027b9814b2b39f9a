package hcl

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
)

// sourceFile is one parsed file.
type sourceFile struct {
	name        string
	src         []byte
	body        *hclsyntax.Body
	diags       Diagnostics // of the syntax
	credentials Diagnostics // the literals that are credentials
	digest      [sha256.Size]byte
	served      [sha256.Size]byte // digest of its blocks without tests
	exposed     int               // number of exposed blocks
	cached      []*decodedBlock   // decoded blocks of the previous load, in order
	observed    bool              // the decoded blocks have observers
	decodedWith *globals          // the globals that they were decoded with
	// the bodies of cached blocks were dropped, because syntax takes several times the memory of
	// the decoded blocks
	bodiesDropped bool
}

// readSources reads and parses every *.hcl file below the root in lexical order. Names that start
// with a dot are skipped.
func (l *loader) readSources() []*sourceFile {
	var files []*sourceFile
	err := fs.WalkDir(l.fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		hidden := strings.HasPrefix(path.Base(name), ".") && name != "."
		switch {
		case err != nil:
			l.reportUnreadable(name, err)
			if name == "." {
				return fs.SkipAll
			}
			return nil
		case entry.IsDir() && hidden:
			return fs.SkipDir
		case entry.IsDir() || hidden || path.Ext(name) != ".hcl":
			return nil
		}
		src, err := fs.ReadFile(l.fsys, name)
		if err != nil {
			l.reportUnreadable(name, err)
			return nil
		}
		files = append(files, &sourceFile{name: name, src: src})
		return nil
	})
	if err != nil {
		l.reportUnreadable(".", err)
	}
	l.opts.Parallel(len(files), func(i int) { files[i] = l.opts.Cache.parseFile(files[i].name, files[i].src) })
	return files
}

// digestServed computes the digest of what is served: of all blocks but tests, or of the whole file if it has mistakes.
func (s *sourceFile) digestServed() {
	if s.diags.HasErrors() || len(s.body.Attributes) > 0 {
		s.served = s.digest
		return
	}
	h := sha256.New()
	for _, b := range s.body.Blocks {
		if !isTest(b) {
			h.Write(s.src[b.TypeRange.Start.Byte:b.CloseBraceRange.End.Byte])
			h.Write([]byte{0})
		}
	}
	s.served = [sha256.Size]byte(h.Sum(nil))
}

// onlyTests reports whether nothing in the file is served.
func (s *sourceFile) onlyTests() bool {
	notTest := func(b *hclsyntax.Block) bool { return !isTest(b) }
	return !s.diags.HasErrors() && len(s.body.Attributes) == 0 && len(s.body.Blocks) > 0 &&
		!slices.ContainsFunc(s.body.Blocks, notTest)
}

// TestBlock is a test block, which Load finds and does not decode.
type TestBlock struct {
	*hclsyntax.Block
	Src []byte // of its file
}

// collectTest keeps a test block if tests are wanted.
func (l *loader) collectTest(b *hclsyntax.Block, of blockType, f *sourceFile) {
	if !l.opts.Tests || !l.checkLabels(b, of) {
		return
	}
	l.config.Tests = append(l.config.Tests, TestBlock{b, f.src})
}

// newTestDecoder returns a Decoder for a test block.
func (l *loader) newTestDecoder(b TestBlock) *decode.Decoder {
	d := l.newDecoder(&sourceFile{name: b.Range().Filename, src: b.Src})
	l.config.observe(d.Observer)
	d.Scope, d.Deps = l.base.DuringCall(), &eval.Dependencies{}
	d.ExemptCredentials = true
	return d
}

// reportUnreadable reports an unreadable file and suppresses errors about missing declarations. An
// error with a Reason method provides the text for the author.
func (l *loader) reportUnreadable(name string, err error) {
	l.partial = true
	why := "it cannot be read"
	var known interface{ Reason() string }
	switch {
	case errors.As(err, &known):
		why = known.Reason()
	case errors.Is(err, fs.ErrNotExist):
		why = "it does not exist"
	case errors.Is(err, fs.ErrPermission):
		why = "permission is denied"
	}
	what, where := "this file", Range{File: name, Start: diag.Pos{Line: 1, Column: 1},
		End: diag.Pos{Line: 1, Column: 1}}
	if name == "." {
		what, where = "the folder", Range{}
	}
	l.diags.Errorf(where, "Unreadable configuration", "%s could not be read: %s.", diag.ToSentence(what), why)
}

// finalDiagnostics sorts the diagnostics and drops follow-up errors: for a file with a syntax error
// only that error is shown.
func finalDiagnostics(files []*sourceFile, diags Diagnostics) Diagnostics {
	broken := map[string]bool{}
	for _, f := range files {
		broken[f.name] = f.diags.HasErrors()
	}
	out := slices.DeleteFunc(diags, func(d *Diagnostic) bool { return broken[d.Subject.File] })
	for _, f := range files {
		out = append(out, f.diags...)
	}
	return out.Sort().Limit()
}

// digestsOfFiles returns the digests of the files that functions have read, by name.
func (l *loader) digestsOfFiles() map[string]string {
	digests := map[string]string{}
	l.fileDigests.Range(func(name, digest any) bool {
		digests[name.(string)] = digest.(string)
		return true
	})
	return digests
}
