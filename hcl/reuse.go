package hcl

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"hatchel/hcl/diag"
)

// cachedBlock block is what is kept of a tool, a prompt or a resource for the next load: blocks of files in which nothing changed are taken from the load
// before, unless they look at what may have changed elsewhere: tools, or files of the folder.
type cachedBlock struct {
	result          any // *Tool, *Prompt or *Resource
	enabled         bool
	descriptionRefs []descriptionRef
	diags           diag.Diagnostics
	deps            *dependencies
}

// dropStaleBlocks forgets what was decoded under other globals, and reads the syntax again that was dropped then.
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
		for i, b := range blocks {
			if topLevel[kind].offered && again[b.file] != nil {
				blocks[i].Block = again[b.file][b.index]
			}
		}
	}
}

// reparse reads the syntax of a file again, and returns the blocks that it offers with everything in them.
func (s *sourceFile) reparse() (offered []*hclsyntax.Block) {
	s.bodiesDropped = false
	parseSource(s)
	for _, b := range s.body.Blocks {
		if known, ok := topLevel[b.Type]; ok && known.offered && len(b.Labels) == known.labels {
			offered = append(offered, b)
		}
	}
	return offered
}

// cachedOperation stands for a block of which the load before has left everything; nil when there is none.
func cachedOperation(b sourceBlock) *operationDecoder {
	if k := b.file.cached[b.index]; k != nil {
		return &operationDecoder{block: b, descriptionRefs: k.descriptionRefs, cached: k, enabled: k.enabled}
	}
	return nil
}

// reusable reports whether a decoded block holds for as long as its file and the globals do.
func (w *operationDecoder) reusable() bool { return len(w.calls) == 0 && !w.dec.Deps.ReadsFiles }

// dropBody drops the syntax of a block that is kept: now, so that memory holds the syntax or the tools of a large folder, and not both.
func (w *operationDecoder) dropBody() {
	if w.reusable() {
		w.block.Body = nil
	}
}

// commit takes what a block has found, and keeps it for the next load.
func (l *loader) commit(w *operationDecoder, made any, tools map[string]*toolDecoder) {
	k := w.cached
	if k == nil {
		k = &cachedBlock{result: made, enabled: w.enabled, descriptionRefs: w.descriptionRefs, diags: w.dec.Diags, deps: w.deps}
		if f := w.block.file; w.reusable() {
			f.cached[w.block.index], f.bodiesDropped = k, true
		}
	}
	l.markUsed(k.deps)
	l.diags = append(l.diags, k.diags...)
	for _, s := range k.descriptionRefs {
		if tools[s.name] == nil {
			l.diags = append(l.diags, s.warning)
		}
	}
}
