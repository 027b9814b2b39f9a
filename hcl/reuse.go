package hcl

import (
	"crypto/sha256"
	"sync"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// cachedBlock is a decoded tool, prompt or resource that the next load can reuse if its file is
// unchanged and it does not depend on other tools or on files.
type cachedBlock struct {
	result          any // *Tool, *Prompt or *Resource
	enabled         bool
	descriptionRefs []descriptionRef
	diags           Diagnostics
	deps            *dependencies
}

// dropStaleBlocks removes blocks that were decoded with other globals, and parses their dropped
// syntax again.
func (l *loader) dropStaleBlocks(files []*sourceFile) {
	var bare []*sourceFile
	for _, f := range files {
		if f.decodedWith == l.globals {
			continue
		}
		f.decodedWith, f.cached = l.globals, make([]*cachedBlock, f.exposed)
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

// reparse parses a file again and returns its exposed blocks with their bodies.
func (s *sourceFile) reparse() (offered []*hclsyntax.Block) {
	s.bodiesDropped = false
	parseSource(s)
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
		return &operationDecoder{block: b, descriptionRefs: k.descriptionRefs, cached: k, enabled: k.enabled}
	}
	return nil
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
func (l *loader) commit(w *operationDecoder, made any) {
	k := w.cached
	if k == nil {
		k = &cachedBlock{result: made, enabled: w.enabled, descriptionRefs: w.descriptionRefs, diags: w.dec.Diags,
			deps: w.deps}
		if f := w.block.file; w.reusable() {
			f.cached[w.block.index], f.bodiesDropped = k, true
		}
	}
	l.markUsed(k.deps)
	l.diags = append(l.diags, k.diags...)
	for _, s := range k.descriptionRefs {
		if l.tools[s.name] == nil {
			l.diags = append(l.diags, s.warning)
		}
	}
}

// Cache keeps the syntax and the tools of unchanged files between loads. It is safe for concurrent
// use: loads with the same Cache run one after the other. A Cache serves one set of kinds and one
// clock.
type Cache struct {
	mu      sync.Mutex
	files   map[[sha256.Size]byte]*sourceFile // guarded by mu, which a load holds
	globals *globals                          // guarded by mu
}

// NewCache returns an empty Cache.
func NewCache() *Cache { return &Cache{} }

// lock locks the cache for a whole load and returns the function that unlocks it.
func (c *Cache) lock() (unlock func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	return c.mu.Unlock
}

// parseFile returns the syntax of a file, from the previous load if the file is unchanged.
func (c *Cache) parseFile(name string, src []byte) *sourceFile {
	s := newSourceFile(name, src)
	if c != nil {
		if known := c.files[s.digest]; known != nil {
			return known
		}
	}
	return parseSource(s)
}

// reusableGlobals returns the globals of the previous load if they have this key.
func (c *Cache) reusableGlobals(key string) *globals {
	if c == nil || c.globals == nil || c.globals.key != key {
		return nil
	}
	return c.globals
}

// store keeps these files and drops all others.
func (c *Cache) store(files []*sourceFile, g *globals) {
	if c == nil {
		return
	}
	c.files = make(map[[sha256.Size]byte]*sourceFile, len(files))
	for _, f := range files {
		c.files[f.digest] = f
	}
	c.globals = g
}
