package hcl

import (
	"hatchel/hcl/diag"
	"strings"
)

// decodeTools decodes the tool blocks: first the inputs of all, so that each can call the others, then everything else.
func (l *loader) decodeTools() map[string]*toolDecoder {
	blocks := l.blocks["tool"]
	decls := make([]*toolDecoder, len(blocks))
	l.opts.Parallel(len(decls), func(i int) {
		if w := cachedOperation(blocks[i]); w != nil {
			decls[i] = &toolDecoder{tool: w.cached.result.(*Tool), operationDecoder: w}
			return
		}
		decls[i] = l.declareTool(blocks[i])
	})
	byName := make(map[string]*toolDecoder, len(decls))
	for _, t := range decls {
		if l.declare("tool", t.tool.Name, t.block) {
			byName[t.tool.Name] = t
		}
	}
	l.opts.Parallel(len(decls), func(i int) {
		if t := decls[i]; t.cached == nil {
			t.tools = byName
			t.decode()
			t.dropBody()
		}
	})
	for _, t := range decls {
		l.commit(t.operationDecoder, t.tool, byName)
	}
	l.checkCycles(decls)
	l.warnConfusableNames(byName)
	for _, name := range diag.SortedNames(byName) {
		if t := byName[name]; t.enabled {
			l.config.Tools = append(l.config.Tools, t.tool)
		}
	}
	return byName
}

// warnConfusableNames warns about names that a model would mix up.
func (l *loader) warnConfusableNames(tools map[string]*toolDecoder) {
	seen := make(map[string]string, len(tools))
	separators := strings.NewReplacer("-", "", "_", "", ".", "")
	for _, name := range diag.SortedNames(tools) {
		plain := separators.Replace(strings.ToLower(name))
		if other, ok := seen[plain]; ok {
			l.diags.Warnf(diag.RangeOf(tools[name].block.LabelRanges[0]), "Easily confused names", "The tools %q and %q differ only in case or separators; a model will mix them up.", other, name)
			continue
		}
		seen[plain] = name
	}
}
