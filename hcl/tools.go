package hcl

import "strings"

// tools decodes the tool blocks: first the inputs of all, so that each can call the others, then everything else.
func (l *loader) tools() map[string]*toolDecl {
	blocks := l.blocks["tool"]
	decls := make([]*toolDecl, len(blocks))
	l.opts.Parallel(len(decls), func(i int) {
		if w := keptWork(blocks[i]); w != nil {
			decls[i] = &toolDecl{tool: w.kept.made.(*Tool), workDecl: w}
			return
		}
		decls[i] = l.declare(blocks[i])
	})
	byName := make(map[string]*toolDecl, len(decls))
	for _, t := range decls {
		if l.claim("tool", t.tool.Name, t.block) {
			byName[t.tool.Name] = t
		}
	}
	l.opts.Parallel(len(decls), func(i int) {
		if t := decls[i]; t.kept == nil {
			t.dec.tools = byName
			t.decode()
			t.shed()
		}
	})
	for _, t := range decls {
		l.accept(t.workDecl, t.tool, byName)
	}
	l.cycles(decls)
	l.confusable(byName)
	for _, name := range sortedNames(byName) {
		if t := byName[name]; t.enabled {
			l.config.Tools = append(l.config.Tools, t.tool)
		}
	}
	return byName
}

// confusable warns about names that a model would mix up.
func (l *loader) confusable(tools map[string]*toolDecl) {
	seen := make(map[string]string, len(tools))
	separators := strings.NewReplacer("-", "", "_", "", ".", "")
	for _, name := range sortedNames(tools) {
		plain := separators.Replace(strings.ToLower(name))
		if other, ok := seen[plain]; ok {
			l.diags.warnf(at(tools[name].block.LabelRanges[0]), "Easily confused names", "The tools %q and %q differ only in case or separators; a model will mix them up.", other, name)
			continue
		}
		seen[plain] = name
	}
}
