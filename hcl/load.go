// Package hcl is the language: it turns the files of a folder into a Config and diagnostics.
//
// Load is the entry point. It reads an fs.FS and nothing else but the variables and secrets it is
// given; it opens no connection, runs no program and starts no goroutine. A Config without errors
// holds nothing that can fail to be understood later: every expression was compiled, every name
// resolved.
package hcl

import (
	"fmt"
	"io/fs"
	"slices"
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/exprlang"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/schema"
)

// Options are what a load may read beside the files.
type Options struct {
	Vars       map[string]string                 // values of variables; they win over the environment and defaults
	Getenv     func(string) (string, bool)       // the environment, for variables and secrets; nil is an empty one
	ReadSecret func(path string) ([]byte, error) // reads the file of a secret; nil refuses
	Cache      *Cache                            // keeps what did not change between loads; may be nil
	Now        func() time.Time                  // the clock of expr programs; nil is time.Now
	// calls do for 0 to n-1, in any order and on any goroutines, and returns when all are done; nil
	// does it in order
	Parallel func(n int, do func(i int))
}

// Load reads a configuration. The Config is never nil; it may be used only when the diagnostics
// hold no errors. It finds every mistake of every file in one pass.
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
	for _, t := range globalBlocks {
		t.decode(l)
	}
	l.checkTokenExchange()
	l.reuseGlobals()
	l.dropStaleBlocks(files)
	for _, t := range exposedBlocks {
		t.decode(l)
	}
	l.warnUnused()
	l.config.Connections, l.config.Server, l.config.Secrets = l.globals.connections, l.globals.server,
		l.globals.secretValues
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
	tools    map[string]*toolDecoder // by name, for steps that call one
	declared map[string]diag.Range   // where each name was first declared, by "kind name"
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
		globals: newGlobals(),
		files:   fileReader{fsys: fsys}, kinds: kinds, opts: opts,
		config:     &Config{Sources: map[string][]byte{}},
		blocks:     map[string][]sourceBlock{},
		used:       map[*Connection]bool{},
		notified:   map[string]bool{},
		blockSpecs: newBlockSpecs(kinds),
		declared:   map[string]diag.Range{},
	}
	l.env = decode.Env{
		CompileEnv: hclexpr.CompileEnv{Now: opts.Now, Functions: l.functionContext, Programs: new(exprlang.Cache)},
		UploadURL:  &l.config.Files.uploadURL,
		NamedType: func(name string, r hclv2.Range) (*schema.Type,
			hclv2.Diagnostics) {
			return l.types.resolve(name, r)
		},
	}
	l.types = &lazyTypes{loader: l, blocks: map[string]sourceBlock{}, done: map[string]*schema.Type{}}
	return l
}

// blockType is a type of block at the top of a file.
type blockType struct {
	name   string
	labels int
	form   string        // how it begins
	decode func(*loader) // decodes all blocks of the type
}

// globalBlocks are the blocks that everything can read, in the order in which they are decoded.
// Types come first and are resolved on demand.
var globalBlocks = []blockType{
	{"type", 1, `type "name" {`, (*loader).declareTypes},
	{"variable", 1, `variable "name" {`, (*loader).decodeVariables},
	{"secret", 1, `secret "name" {`, (*loader).decodeSecrets},
	{"locals", 0, "locals {", (*loader).decodeLocals},
	{"server", 0, "server {", (*loader).decodeServer},
	{"tls", 0, "tls {", (*loader).decodeTLS},
	{"auth", 0, "auth {", (*loader).decodeAuth},
	{"connection", 2, `connection "http" "name" {`, (*loader).decodeConnections},
	{"audit", 0, "audit {", (*loader).decodeAudit},
	{"state", 0, "state {", (*loader).decodeState},
	{"files", 0, "files {", (*loader).decodeFiles},
	{"webhook", 1, `webhook "name" {`, (*loader).decodeWebhooks},
}

// exposedBlocks are the blocks that are offered to clients, or that decide about those, in the
// order in which they are decoded: nothing else can read them.
var exposedBlocks = []blockType{
	{"tool", 1, `tool "name" {`, (*loader).decodeTools},
	{"prompt", 1, `prompt "name" {`, (*loader).decodePrompts},
	{"resource", 1, `resource "name" {`, (*loader).decodeResources},
	{"toolset", 1, `toolset "name" {`, (*loader).decodeToolsets},
	{"policy", 1, `policy "name" {`, (*loader).decodePolicies},
	{"approvals", 0, "approvals {", (*loader).decodeApprovers},
}

// findBlockType finds a type of block by its name, and says whether its blocks are exposed.
func findBlockType(name string) (found blockType, exposed, ok bool) {
	for i, types := range [][]blockType{globalBlocks, exposedBlocks} {
		for _, t := range types {
			if t.name == name {
				return t, i == 1, true
			}
		}
	}
	return blockType{}, false, false
}

// blockTypeNames are the names of all types of blocks, sorted.
func blockTypeNames() (names []string) {
	for _, t := range slices.Concat(globalBlocks, exposedBlocks) {
		names = append(names, t.name)
	}
	slices.Sort(names)
	return names
}

// indexBlocks puts the blocks of a file where they belong and reports what stands at the top of a
// file and should not.
func (l *loader) indexBlocks(f *sourceFile) {
	for _, a := range f.body.Attributes {
		l.errorf(a.NameRange, "Unexpected argument",
			"Arguments belong inside blocks. The top level of a file has the blocks %s.",
			diag.JoinAnd(blockTypeNames()))
		l.config.Partial = true
	}
	f.exposed = 0
	for _, b := range f.body.Blocks {
		want, exposed, ok := findBlockType(b.Type)
		switch {
		case !ok:
			l.errorf(b.TypeRange, "Unknown block", "There is no block %q.%s", b.Type,
				decode.TopLevelHint(b.Type, diag.SuggestOr(b.Type, blockTypeNames(),
					" The top-level blocks are "+diag.JoinAnd(blockTypeNames())+".")))
			l.config.Partial = true
			continue
		case len(b.Labels) != want.labels:
			r := b.TypeRange
			if len(b.Labels) > want.labels {
				r = b.LabelRanges[want.labels]
			}
			l.errorf(r, "Wrong number of labels", "%s block is written `%s`.",
				diag.ToSentence(diag.WithArticle(b.Type)), want.form)
			l.config.Partial = true
			continue
		}
		l.blocks[b.Type] = append(l.blocks[b.Type], sourceBlock{b, f, f.exposed})
		if exposed {
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
		l.errorf(r, "Duplicate "+noun, "The %s %q is already declared at %s:%d.", noun, name, first.File,
			first.Start.Line)
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
	return &diag.Diagnostic{Summary: "Invalid name", Subject: diag.RangeOf(r),
		Detail: fmt.Sprintf("The name of %s is used in expressions, so it must start with a letter and "+
			"consist of letters, digits, _ and -: not %q.", diag.WithArticle(noun), name)}
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

// eachBlock calls do for every block of a type, with a Decoder for its file, and takes over what
// that reports.
func (l *loader) eachBlock(name string, do func(d *decode.Decoder, b sourceBlock)) {
	for _, b := range l.blocks[name] {
		d := l.newDecoder(b.file)
		do(d, b)
		l.report(d)
	}
}

// report takes over the diagnostics of a Decoder, which has none afterwards.
func (l *loader) report(d *decode.Decoder) {
	l.diags = append(l.diags, d.Diags...)
	d.Diags = nil
}
