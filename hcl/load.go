// Package hcl loads a configuration: it turns the files of a directory into a Config and
// diagnostics.
//
// Load is the entry point. It reads an fs.FS, variables and secrets, and nothing else: it opens no
// connection, runs no program and starts no goroutine. In a Config without errors every expression
// is compiled and every name is resolved.
package hcl

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"sync"
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/schema"
)

// Options are the inputs of a load besides the files. Secrets are read, unless ForCheck, ForEditor or ForTests has made
// the Options.
type Options struct {
	Dir        string                            // the absolute configuration directory
	Vars       map[string]string                 // values of variables; they override the environment and defaults
	Getenv     func(string) (string, bool)       // the environment, for variables and secrets; nil for an empty one
	ReadSecret func(path string) ([]byte, error) // reads the file of a secret; nil for an error
	// ReadSecretCommand returns what a command prints without its last line break, to be used for ttl. The error
	// follows the words "the command", or is ErrSecretCommands; a value beside it is that of an earlier run, which is
	// used. Nil leaves the values of such secrets unknown.
	ReadSecretCommand func(command []string, ttl time.Duration) ([]byte, error)

	Cache     *Cache           // reuses unchanged parts of the previous load; may be nil
	AnyVars   bool             // values of variables that no file declares are ignored
	UnsetVars bool             // a variable without a value is unknown, and not reported
	Start     bool             // of a process: server { on_missing } may refuse tools
	Tests     bool             // test blocks are collected, in Config.Tests
	Now       func() time.Time // the clock of expirations; nil for time.Now
	// calls do for 0 to n-1, in any order and concurrently, and returns when all are done; nil for
	// sequential calls
	Parallel func(n int, do func(i int))

	noSecrets   bool                              // see ForCheck
	observe     func(file string) decode.Observer // see ForEditor
	testSecrets map[string]string                 // see ForTests; nil except there
	realSecrets bool
}

// ForCheck returns the options of a load of which nothing is called: no secret is read, and the value of each is
// unknown.
func (o Options) ForCheck() Options {
	o.noSecrets, o.Start = true, true
	return o
}

// ForEditor returns the options of a load for an editor, which reads no secrets. Observe returns who is told of a block
// of a file while it is decoded; nil for nobody.
func (o Options) ForEditor(observe func(file string) decode.Observer) Options {
	o.observe, o.Tests, o.AnyVars = observe, true, true
	return o.ForCheck()
}

// ForTests returns the options of a load for tests. Secrets are the values of secrets, by name. The value of another
// one is "test-" and its name, or with real what the environment and files hold.
func (o Options) ForTests(secrets map[string]string, real bool) Options {
	if secrets == nil {
		secrets = map[string]string{}
	}
	o.Tests, o.testSecrets, o.realSecrets = true, secrets, real
	return o
}

// Load reads a configuration and reports every mistake of every file in one pass. The Config is
// never nil; it may be used only if the diagnostics have no errors.
func Load(fsys fs.FS, kinds Kinds, opts Options) (*Config, Diagnostics) {
	if opts.Cache == nil {
		opts.Cache = NewCache()
	}
	opts.Cache.mu.Lock()
	defer opts.Cache.mu.Unlock()
	l := newLoader(fsys, kinds, opts)
	files := l.readSources()
	for _, f := range files {
		l.diags = append(l.diags, f.credentials...)
		l.config.Sources[f.name] = f.src
		l.partial = l.partial || f.diags.HasErrors()
		l.indexBlocks(f)
	}
	l.env.Partial = l.partial
	l.decodeAll(globalBlocks)
	l.checkUpstreamTokens()
	l.reuseGlobals()
	l.dropStaleBlocks(files)
	l.decodeAll(exposedBlocks)
	l.checkViews()
	l.config.Masks = l.globals.masks
	l.checkMasks()
	l.reportMissing()
	l.warnUnused()
	l.warnUnknownCallers(files)
	l.warnUncopiedClaims()
	l.warnSameRequests()
	l.config.Connections, l.config.Server = l.globals.connections, l.globals.server
	l.config.Secrets, l.config.SecretNames = l.globals.secretValues, l.globals.secretNames
	l.config.Values, l.config.FileDigests = l.valueBlocks(), l.digestsOfFiles()
	l.config.VariableTypes = l.globals.variableTypes()
	l.config.ID, l.config.Partial = l.configID(files), l.config.Partial || l.partial
	l.findCode()
	if opts.Tests {
		l.config.NewTestDecoder = l.newTestDecoder
	}
	if opts.observe != nil {
		l.config.DecodeAgain = l.forEditor().decodeAgain
	}
	opts.Cache.store(files, l.globals)
	l.freeDecoders()
	return l.config, finalDiagnostics(files, l.conceal(l.diags)).Scrub(l.globals.secretValues)
}

// sourceBlock is one top-level block and its file.
type sourceBlock struct {
	*hclsyntax.Block
	file  *sourceFile
	index int // among the exposed blocks of the file
}

// loader is the state of one Load.
type loader struct {
	*globals
	fsys        fs.FS
	filesDigest string    // of the files that functions read for the globals
	fileDigests *sync.Map // of all files that functions read, by name
	opts        Options
	*blockSpecs

	config        *Config
	diags         Diagnostics
	blocks        map[string][]sourceBlock
	partial       bool // a file could not be read, so missing declarations are not reported
	used          map[*Connection]bool
	notified      map[string]bool // the webhooks that a block names
	env           decode.Env
	tools         map[string]*toolDecoder // by name, for steps that call tools
	disabled      []listedOperation       // they do not exist, and may be named
	declared      map[string]Range        // where each name was first declared, by "kind name"
	missing       []missingValue
	unreadSecrets map[string]*eval.Member // the secrets without their values, by name
	testSecrets   map[*eval.Member]bool   // those with "test-" and their names as values

	secretCommands map[string][]string // by secret
	again          bool                // a block is decoded again, which changes nothing; see Config.DecodeAgain
	untested       bool                // no test uses the blocks that are decoded

	foldersExplained bool // a diagnostic says that the files of all folders are one configuration
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
		fsys:    fsys, opts: opts,
		fileDigests: new(sync.Map),
		config: &Config{Kinds: kinds, Sources: map[string][]byte{},
			Code: map[*Backend]map[string]string{}, SecretCode: map[string]map[string]string{}},
		secretCommands: map[string][]string{},
		blocks:         map[string][]sourceBlock{},
		used:           map[*Connection]bool{},
		notified:       map[string]bool{},
		blockSpecs:     newBlockSpecs(kinds),
		declared:       map[string]Range{},

		unreadSecrets: map[string]*eval.Member{},
		testSecrets:   map[*eval.Member]bool{},
	}
	l.env = decode.Env{
		CompileEnv: hclexpr.CompileEnv{Dir: opts.Dir, Functions: l.functionContext, Tests: opts.Tests},
		Now:        opts.Now,
		UploadURL:  &l.config.Files.uploadURL,
		Misplaced:  map[string]string{},
		Patterns:   new(schema.Patterns),
	}
	for _, k := range kinds.Backends {
		maps.Copy(l.env.Misplaced, k.Misplaced)
	}
	l.types = &lazyTypes{loader: l, blocks: map[string]sourceBlock{}, done: map[string]*schema.Type{},
		defs: map[string]*schema.Definition{}}
	l.env.NamedType = l.types.resolve
	return l
}

// indexBlocks indexes the blocks of a file by their types and reports unknown blocks and arguments
// at the top level.
func (l *loader) indexBlocks(f *sourceFile) {
	for _, a := range f.body.Attributes {
		l.errorf(a.NameRange, "Unexpected argument",
			"Arguments belong inside blocks. The top level of a file has the blocks %s.",
			diag.JoinAnd(TopLevelBlocks()))
		l.config.Partial = true
	}
	f.exposed = 0
	for _, b := range f.body.Blocks {
		l.listBlock(b)
		want, exposed, ok := findBlockType(b.Type)
		switch {
		case isTest(b):
			l.collectTest(b, want, f)
			continue
		case !ok:
			l.errorf(b.TypeRange, "Unknown block", "There is no block %q.%s", b.Type,
				l.env.TopLevelHint(b.Type, diag.SuggestOr(b.Type, TopLevelBlocks(),
					" The top-level blocks are "+diag.JoinAnd(TopLevelBlocks())+".")))
			l.config.Partial = true
			continue
		case !l.checkLabels(b, want):
			l.config.Partial = true
			continue
		}
		l.blocks[b.Type] = append(l.blocks[b.Type], sourceBlock{b, f, f.exposed})
		if exposed {
			f.exposed++
		}
	}
}

// decodeAll decodes all blocks of types.
func (l *loader) decodeAll(types []blockType) {
	for _, t := range types {
		l.untested = t.untested
		t.decode(l)
	}
}

// checkLabels reports a wrong number of labels, and returns whether the number is right.
func (l *loader) checkLabels(b *hclsyntax.Block, want blockType) bool {
	if len(b.Labels) == want.labels {
		return true
	}
	r := b.TypeRange
	if len(b.Labels) > want.labels {
		r = b.LabelRanges[want.labels]
	}
	l.errorf(r, "Wrong number of labels", "%s block is written `%s`.", diag.ToSentence(diag.WithArticle(b.Type)),
		want.form)
	return false
}

func (l *loader) errorf(r hclv2.Range, summary, format string, args ...any) {
	l.diags.Errorf(diag.RangeOf(r), summary, format, args...)
}

// declare registers a name and reports duplicates. It returns whether the name is new.
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
		l.errorf(r, "Duplicate "+noun, "The %s %q is already declared at %s:%d.%s", noun, name, first.File,
			first.Start.Line, l.explainFolders(first.File, r.Filename))
		l.diags.Relate(first)
		return false
	}
	l.declared[key] = diag.RangeOf(r)
	return true
}

// explainFolders says once, of the first duplicate in another folder, that both folders are one configuration.
func (l *loader) explainFolders(first, second string) string {
	a, b := path.Dir(first), path.Dir(second)
	if a == b || l.foldersExplained {
		return ""
	}
	l.foldersExplained = true
	const text = " Files in all folders below the directory are one configuration. If %s and %s are two, name one of " +
		"them in place of the directory, or exclude one in .hatchelignore."
	return fmt.Sprintf(text, folderText(a), folderText(b))
}

// folderText names a folder below the directory.
func folderText(folder string) string {
	if folder == "." {
		return "the directory itself"
	}
	return folder
}

// headerRange returns the range of the type and the labels of a block.
func headerRange(b *hclsyntax.Block) Range { return diag.RangeOf(b.DefRange()) }

// labelRange returns the range of the first label of a block.
func labelRange(b *hclsyntax.Block) Range { return diag.RangeOf(b.LabelRanges[0]) }

// newDecoder returns a Decoder for the blocks of a file.
func (l *loader) newDecoder(f *sourceFile) *decode.Decoder {
	return &decode.Decoder{Env: &l.env, Src: f.src, LoadScope: l.base, Scope: l.base, Ranges: map[any]Range{},
		Observer: l.observer(f.name)}
}

// configID returns the digest of all inputs of the configuration, with the files that it reads, and without its tests.
func (l *loader) configID(files []*sourceFile) string {
	parts := []string{l.inputsDigest}
	for _, f := range files {
		if !f.onlyTests() {
			parts = append(parts, f.name, string(f.served[:]))
		}
	}
	for _, name := range diag.SortedNames(l.config.FileDigests) {
		parts = append(parts, name, l.config.FileDigests[name])
	}
	return eval.HashParts(parts...)
}

// eachBlock calls do for every block of a type, with a Decoder for its file, and collects the
// diagnostics.
func (l *loader) eachBlock(name string, do func(d *decode.Decoder, b sourceBlock)) {
	for _, b := range l.blocks[name] {
		d := l.newDecoder(b.file)
		d.Deps = &eval.Dependencies{}
		l.hideTestSecrets(d)
		do(d, b)
		l.config.observe(d.Observer)
		l.recordBlock(b, d.Deps)
		l.diags = append(l.diags, d.Diags...)
	}
}

// onlyBlock is eachBlock for a type of which there may be one block; further ones are reported and
// not decoded.
func (l *loader) onlyBlock(name string, do func(d *decode.Decoder, b sourceBlock)) {
	l.eachBlock(name, func(d *decode.Decoder, b sourceBlock) {
		first := l.blocks[name][0]
		if b.Block == first.Block {
			do(d, b)
			return
		}
		d.Errorf(b.DefRange(), "Duplicate "+name, "There may be only one %s block; the first is at %s:%d.%s", name,
			first.file.name, first.DefRange().Start.Line, l.explainFolders(first.file.name, b.file.name))
		d.Diags.Relate(headerRange(first.Block))
	})
}
