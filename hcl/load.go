// Package hcl is the language: it turns the files of a folder into a Config and diagnostics.
//
// Load is the entry point. It reads an fs.FS and nothing else but the variables and secrets it is given; it opens no connection, runs no program and
// starts no goroutine. A Config without errors holds nothing that can fail to be understood later: every expression was compiled, every name resolved.
package hcl

import (
	"fmt"
	"io/fs"
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/functions"
	"hatchel/hcl/program"
	"hatchel/hcl/schema"
)

// Options are what a load may read beside the files.
type Options struct {
	Vars       map[string]string                 // values of variables; they win over the environment and defaults
	Getenv     func(string) (string, bool)       // the environment, for variables and secrets; nil is an empty one
	ReadSecret func(path string) ([]byte, error) // reads the file of a secret; nil refuses
	Cache      *Cache                            // keeps what did not change between loads; may be nil
	Now        func() time.Time                  // the clock of expr programs; nil is time.Now
	Parallel   func(n int, do func(i int))       // calls do for 0 to n-1, in any order and on any goroutines, and returns when all are done; nil does it in order
}

// Load reads a configuration. The Config is never nil; it may be used only when the diagnostics hold no errors. It finds every mistake of
// every file in one pass.
func Load(fsys fs.FS, kinds Kinds, opts Options) (*Config, diag.Diagnostics) {
	defer opts.Cache.lock()()
	l := newLoader(fsys, kinds, opts)
	files := l.readSources()
	for _, f := range files {
		l.config.Sources[f.name] = f.src
		l.partial = l.partial || f.diags.HasErrors()
		l.indexBlocks(f)
	}
	l.env.Partial = l.partial
	l.decodeValues()
	l.digestValues()
	l.decodeAuth()
	l.decodeConnections()
	l.checkTokenExchange()
	l.decodeAudit()
	l.decodeState()
	l.decodeFiles()
	l.decodeWebhooks()
	l.reuseGlobals()
	l.dropStaleBlocks(files)
	tools := l.decodeTools()
	l.decodePrompts(tools)
	l.decodeResources(tools)
	l.decodeToolsets()
	l.decodePolicies()
	l.decodeApprovals()
	l.warnUnused()
	l.config.Connections, l.config.Server, l.config.Secrets = l.globals.connections, l.globals.server, l.globals.secretValues
	l.config.ID, l.config.Partial = l.configID(files), l.config.Partial || l.partial
	opts.Cache.store(files, l.globals)
	return l.config, finalDiagnostics(files, l.diags).Scrub(l.globals.secretValues)
}

// sourceBlock is one top-level block and the file it stands in.
type sourceBlock struct {
	*hclsyntax.Block
	file  *sourceFile
	index int // among the blocks of the file that are offered to clients
}

// label returns the label at i, or empty.
func (b sourceBlock) label(i int) string {
	if i < len(b.Labels) {
		return b.Labels[i]
	}
	return ""
}

// A loader holds what one Load has found so far.
type loader struct {
	*globals
	files fileReader
	kinds Kinds
	opts  Options
	*blockSpecs

	config   *Config
	diags    diag.Diagnostics
	blocks   map[string][]sourceBlock
	partial  bool // a file could not be read: what it may declare is not missed
	used     map[*Connection]bool
	notified map[string]bool // the webhooks that something names
	env      decode.Env
	declared map[string]diag.Range // where each name was first declared, by "kind name"
}

func newLoader(fsys fs.FS, kinds Kinds, opts Options) *loader {
	if opts.Getenv == nil {
		opts.Getenv = func(string) (string, bool) { return "", false }
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Parallel == nil {
		opts.Parallel = func(n int, do func(int)) {
			for i := range n {
				do(i)
			}
		}
	}
	l := &loader{
		globals: &globals{connectionsByKind: map[string]map[string]*Connection{}, patterns: new(functions.Patterns)},
		files:   fileReader{fsys: fsys}, kinds: kinds, opts: opts,
		config:     &Config{Sources: map[string][]byte{}},
		blocks:     map[string][]sourceBlock{},
		used:       map[*Connection]bool{},
		notified:   map[string]bool{},
		blockSpecs: newBlockSpecs(kinds),
		declared:   map[string]diag.Range{},
	}
	l.env = decode.Env{
		CompileEnv: hclexpr.CompileEnv{Now: opts.Now, Functions: l.functionContext, Programs: new(program.Cache)},
		UploadURL:  &l.config.Files.uploadURL,
		NamedType:  func(name string, r hclv2.Range) (*schema.Type, hclv2.Diagnostics) { return l.types.resolve(name, r) },
	}
	return l
}

// topLevel are the blocks of a file, how many labels each has, and which of them are offered to clients: nothing else can read those.
var topLevel = map[string]struct {
	labels  int
	form    string
	offered bool
}{
	"server": {0, "server {", false}, "variable": {1, `variable "name" {`, false}, "secret": {1, `secret "name" {`, false}, "locals": {0, "locals {", false},
	"type": {1, `type "name" {`, false}, "auth": {0, "auth {", false}, "tls": {0, "tls {", false}, "audit": {0, "audit {", false}, "state": {0, "state {", false}, "files": {0, "files {", false}, "connection": {2, `connection "http" "name" {`, false}, "tool": {1, `tool "name" {`, true},
	"prompt": {1, `prompt "name" {`, true}, "resource": {1, `resource "name" {`, true}, "toolset": {1, `toolset "name" {`, true},
	"policy": {1, `policy "name" {`, true}, "webhook": {1, `webhook "name" {`, false}, "approvals": {0, "approvals {", true},
}

// indexBlocks puts the blocks of a file where they belong and reports what stands at the top of a file and should not. It is the one place
// that tells block types apart.
func (l *loader) indexBlocks(f *sourceFile) {
	for _, a := range f.body.Attributes {
		l.errorf(a.NameRange, "Unexpected argument", "Arguments stand inside blocks. At the top of a file there are blocks: %s.", diag.JoinAnd(diag.SortedNames(topLevel)))
		l.config.Partial = true
	}
	f.exposed = 0
	for _, b := range f.body.Blocks {
		want, ok := topLevel[b.Type]
		switch {
		case !ok:
			l.errorf(b.TypeRange, "Unknown block", "There is no block %q.%s", b.Type, decode.TopLevelHint(b.Type, diag.SuggestOr(b.Type, diag.SortedNames(topLevel), " At the top of a file there are "+diag.JoinAnd(diag.SortedNames(topLevel))+".")))
			l.config.Partial = true
			continue
		case len(b.Labels) != want.labels:
			r := b.TypeRange
			if len(b.Labels) > want.labels {
				r = b.LabelRanges[want.labels]
			}
			l.errorf(r, "Wrong number of labels", "%s block is written `%s`.", diag.ToSentence(diag.WithArticle(b.Type)), want.form)
			l.config.Partial = true
			continue
		}
		l.blocks[b.Type] = append(l.blocks[b.Type], sourceBlock{b, f, f.exposed})
		if want.offered {
			f.exposed++
		}
	}
}

func (l *loader) errorf(r hclv2.Range, summary, format string, args ...any) {
	l.diags.Errorf(diag.RangeOf(r), summary, format, args...)
}

// declare reports a name that was declared before, and says whether it is new.
func (l *loader) declare(noun, name string, b sourceBlock) bool {
	r := b.DefRange()
	if len(b.LabelRanges) > 0 {
		r = b.LabelRanges[len(b.LabelRanges)-1]
	}
	return l.declareAt(noun, name, r)
}

func (l *loader) declareAt(noun, name string, r hclv2.Range) bool {
	key := noun + " " + name
	if first, twice := l.declared[key]; twice {
		l.errorf(r, "Duplicate "+noun, "The %s %q is already declared at %s:%d.", noun, name, first.File, first.Start.Line)
		return false
	}
	l.declared[key] = diag.RangeOf(r)
	return true
}

// checkIdentifier reports a name that could not be written in an expression.
func (l *loader) checkIdentifier(noun, name string, r hclv2.Range) {
	if !hclsyntax.ValidIdentifier(name) {
		l.diags = append(l.diags, invalidName(noun, name, r))
	}
}

func invalidName(noun, name string, r hclv2.Range) *diag.Diagnostic {
	return &diag.Diagnostic{Summary: "Invalid name", Subject: diag.RangeOf(r), Detail: fmt.Sprintf("The name of %s is written in expressions, so it starts with a letter and holds letters, digits, _ and -: %q cannot be one.", diag.WithArticle(noun), name)}
}

// newDecoder starts decoding blocks of a file.
func (l *loader) newDecoder(f *sourceFile) *decode.Decoder {
	return &decode.Decoder{Env: &l.env, Src: f.src, LoadScope: l.base, Scope: l.base, Ranges: map[any]diag.Range{}}
}

// configID digests everything the configuration was made of.
func (l *loader) configID(files []*sourceFile) string {
	parts := []string{l.environmentDigest()}
	for _, f := range files {
		parts = append(parts, f.name, string(f.digest[:]))
	}
	return eval.HashParts(parts...)
}
