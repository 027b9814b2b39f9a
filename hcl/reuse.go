package hcl

import (
	"crypto/sha256"
	"sync"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
)

// cachedBlock block is what is kept of a tool, a prompt or a resource for the next load: blocks of
// files in which nothing changed are taken from the load before, unless they look at what may have
// changed elsewhere: tools, or files of the folder.
type cachedBlock struct {
	result          any // *Tool, *Prompt or *Resource
	enabled         bool
	descriptionRefs []descriptionRef
	diags           diag.Diagnostics
	deps            *dependencies
}

// dropStaleBlocks forgets what was decoded under other globals, and reads the syntax again that was
// dropped then.
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

// reparse reads the syntax of a file again, and returns the blocks that it offers with everything
// in them.
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

// cachedOperation stands for a block of which the load before has left everything; nil when there
// is none.
func cachedOperation(b sourceBlock) *operationDecoder {
	if k := b.file.cached[b.index]; k != nil {
		return &operationDecoder{block: b, descriptionRefs: k.descriptionRefs, cached: k, enabled: k.enabled}
	}
	return nil
}

// reusable reports whether a decoded block holds for as long as its file and the globals do.
func (w *operationDecoder) reusable() bool { return len(w.calls) == 0 && !w.dec.Deps.ReadsFiles }

// dropBody drops the syntax of a block that is kept: now, so that memory holds the syntax or the
// tools of a large folder, and not both.
func (w *operationDecoder) dropBody() {
	if w.reusable() {
		w.block.Body = nil
	}
}

// commit takes what a block has found, and keeps it for the next load.
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

// Cache keeps what a load made of files that the next one finds unchanged: their syntax, and their
// tools while nothing that tools can see has changed. It is safe for concurrent use: loads with the
// same Cache run one after the other. A Cache serves one set of kinds, and one clock.
type Cache struct {
	mu      sync.Mutex
	files   map[[sha256.Size]byte]*sourceFile // guarded by mu, which a load holds
	globals *globals                          // guarded by mu
}

// NewCache returns an empty Cache.
func NewCache() *Cache { return &Cache{} }

// lock is held for a whole load; what it returns ends that.
func (c *Cache) lock() (unlock func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	return c.mu.Unlock
}

// parseFile returns the syntax of a file, from the load before if it is the same.
func (c *Cache) parseFile(name string, src []byte) *sourceFile {
	s := newSourceFile(name, src)
	if c != nil {
		if known := c.files[s.digest]; known != nil {
			return known
		}
	}
	return parseSource(s)
}

// reusableGlobals returns the globals of the load before when they have this key.
func (c *Cache) reusableGlobals(key string) *globals {
	if c == nil || c.globals == nil || c.globals.key != key {
		return nil
	}
	return c.globals
}

// store remembers these files and forgets all others.
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
