package hcl

import (
	"crypto/sha256"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/syntax"
)

// decodedBlock is what a tool, prompt or resource block was decoded into. The next load can reuse it
// if its file is unchanged and it does not depend on other tools or on files.
type decodedBlock struct {
	op              *Operation
	result          any // the *Tool, *Prompt, *Resource or *Skill that op belongs to; nil for a completion
	enabled         bool
	descriptionRefs []descriptionRef
	diags           Diagnostics
	observer        decode.Observer // what it was told of; nil for none
	deps            *dependencies   // dependencies of the block
}

// dropStaleBlocks removes blocks that were decoded with other globals, and parses their dropped
// syntax again.
func (l *loader) dropStaleBlocks(files []*sourceFile) {
	var bare []*sourceFile
	for _, f := range files {
		if l.fits(f) {
			continue
		}
		f.observed = l.observer(f.name) != nil
		f.decodedWith, f.cached = l.globals, make([]*decodedBlock, f.exposed)
		if f.bodiesDropped {
			bare = append(bare, f)
		}
	}
	whole := make([][]*hclsyntax.Block, len(bare))
	l.opts.Parallel(len(bare), func(i int) { whole[i] = bare[i].reparse() })
	again := make(map[*sourceFile][]*hclsyntax.Block, len(bare))
	for i, f := range bare {
		again[f] = whole[i]
	}
	for kind, blocks := range l.blocks {
		_, exposed, _ := findBlockType(kind)
		for i, b := range blocks {
			if exposed && again[b.file] != nil {
				blocks[i].Block = again[b.file][b.index]
			}
		}
	}
}

// fits reports whether the decoded blocks of a file are what they would be decoded into.
func (l *loader) fits(f *sourceFile) bool {
	switch with := f.decodedWith; {
	case !f.observed && l.observer(f.name) != nil:
		return false
	case with == l.globals:
		return true
	case with == nil || with.partial || !l.globals.partial || with.sources != l.sources:
		return false
	}
	// With a file that cannot be read, what is missing is not reported. Nothing was missing before.
	return !slices.ContainsFunc(f.cached, func(k *decodedBlock) bool { return k != nil && len(k.diags) > 0 })
}

// reparse parses a file again and returns its exposed blocks with their bodies.
func (s *sourceFile) reparse() (offered []*hclsyntax.Block) {
	s.bodiesDropped = false
	s.body, s.diags = syntax.Parse(s.name, s.src)
	for _, b := range s.body.Blocks {
		if known, exposed, _ := findBlockType(b.Type); exposed && len(b.Labels) == known.labels {
			offered = append(offered, b)
		}
	}
	return offered
}

// cachedOperation returns the reusable operation of a block from the previous load; nil for none.
func cachedOperation(b sourceBlock) *operationDecoder {
	if k := b.file.cached[b.index]; k != nil {
		return &operationDecoder{block: b, decodedBlock: k, cached: true}
	}
	return nil
}

// decodeOperations decodes the prompt, the resource or the skill blocks, those of unchanged files excepted, and
// adds the enabled ones to the configuration, sorted by name. The tools that they call are complete.
func (l *loader) decodeOperations(kind string, decode func(b sourceBlock) *operationDecoder) {
	blocks := l.blocks[kind]
	all := make([]*operationDecoder, len(blocks))
	l.opts.Parallel(len(all), func(i int) {
		if all[i] = cachedOperation(blocks[i]); all[i] == nil {
			all[i] = decode(blocks[i])
			all[i].dropBody()
		}
	})
	for _, w := range all {
		l.commit(w)
		l.diags = append(l.diags, w.checkCalledToolsAsk()...)
		if !l.declare(kind, w.op.Name, w.block) {
			continue
		}
		if !w.enabled {
			l.disabled = append(l.disabled, listedOperation{kind + "s", w.op})
			continue
		}
		switch made := w.result.(type) {
		case *Prompt:
			l.config.Prompts = append(l.config.Prompts, made)
		case *Resource:
			if l.claimURI(made) {
				l.config.Resources = append(l.config.Resources, made)
			}
		case *Skill:
			if l.claimURI(&made.Resource) {
				l.config.Skills = append(l.config.Skills, made)
			}
		}
	}
	slices.SortFunc(l.config.Prompts, func(a, b *Prompt) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(l.config.Resources, func(a, b *Resource) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(l.config.Skills, func(a, b *Skill) int { return strings.Compare(a.Name, b.Name) })
}

// reusable reports whether a decoded block depends only on its file and the globals.
func (w *operationDecoder) reusable() bool { return len(w.calls) == 0 && !w.dec.Deps.ReadsFiles }

// dropBody drops the syntax of a reusable block, so that memory does not hold both the syntax and
// the tools of a large directory.
func (w *operationDecoder) dropBody() {
	if w.reusable() {
		w.block.Body = nil
	}
}

// commit collects the results of a block and keeps them for the next load.
func (l *loader) commit(w *operationDecoder) {
	if !w.cached {
		w.diags, w.observer = w.dec.Diags, w.dec.Observer
		if w.op != nil {
			w.op.Reads = w.deps.ReadsOf(w.block.file.name)
		}
		if f := w.block.file; w.reusable() {
			f.cached[w.block.index], f.bodiesDropped = w.decodedBlock, true
		}
	}
	l.config.observe(w.observer)
	l.markUsed(w.deps)
	l.refuse(w)
	l.diags = append(l.diags, w.diags...)
	for _, s := range w.descriptionRefs {
		if l.tools[s.name] == nil {
			l.diags = append(l.diags, s.warning)
		}
	}
}

// freeDecoders frees what only the load needs: compiled expressions keep the loader, which would keep all decoders.
func (l *loader) freeDecoders() {
	if !l.opts.Tests && l.opts.observe == nil { // these decode again
		l.tools, l.blocks = nil, nil
	}
}

// Cache keeps the syntax and the tools of unchanged files between loads. It is safe for concurrent
// use: loads with the same Cache run one after the other. A Cache serves one set of kinds and one
// clock.
type Cache struct {
	mu      sync.Mutex
	files   map[[sha256.Size]byte]*sourceFile // guarded by mu, which a load holds
	globals *globals                          // guarded by mu
	// the last globals of a load that could read all files; guarded by mu
	complete *globals
}

// NewCache returns an empty Cache.
func NewCache() *Cache { return &Cache{} }

// parseFile returns the syntax of a file, from the previous load if the file is unchanged.
func (c *Cache) parseFile(name string, src []byte) *sourceFile {
	h := sha256.New()
	h.Write([]byte(name + "\x00"))
	h.Write(src)
	digest := [sha256.Size]byte(h.Sum(nil))
	if known := c.files[digest]; known != nil {
		return known
	}
	s := &sourceFile{name: name, src: src, digest: digest}
	s.body, s.diags = syntax.Parse(name, src)
	s.credentials = literalCredentials(src, s.body)
	s.digestServed()
	return s
}

// store keeps these files and drops all others.
func (c *Cache) store(files []*sourceFile, g *globals) {
	c.files = make(map[[sha256.Size]byte]*sourceFile, len(files))
	for _, f := range files {
		c.files[f.digest] = f
	}
	c.globals = g
	if !g.partial {
		c.complete = g
	}
}
