package hcl

import (
	"sort"
	"strings"
)

// A decoded tool block is what is kept of it for the next load.
type decoded struct {
	tool    *Tool
	enabled bool
	spoken  []spoken
	diags   Diagnostics
	uses    *uses
}

// tools decodes the tool blocks: first the inputs of all, so that each can call the others, then everything else. Blocks of files in which nothing changed
// are taken from the load before, unless they look at what may have changed elsewhere: other tools, or files of the folder.
func (l *loader) tools() {
	decls := make([]*toolDecl, len(l.blocks["tool"]))
	places := l.keepers(decls)
	l.opts.Parallel(len(decls), func(i int) {
		if decls[i] == nil {
			decls[i] = l.declare(l.blocks["tool"][i])
		}
	})
	byName := make(map[string]*toolDecl, len(decls))
	for _, t := range decls {
		if l.claim("tool", t.tool.Name, t.block) {
			byName[t.tool.Name] = t
		}
	}
	l.opts.Parallel(len(decls), func(i int) {
		t := decls[i]
		if t.kept != nil {
			return
		}
		t.dec.tools = byName
		t.decode()
		if t.keepable() {
			t.block.Body = nil // now, so that memory holds the syntax or the tools of a large folder, and not both
		}
	})
	for i, t := range decls {
		l.accept(t, places[i], byName)
	}
	l.cycles(decls)
	l.confusable(byName)
	for _, name := range sortedNames(byName) {
		if t := byName[name]; t.enabled {
			l.config.Tools = append(l.config.Tools, t.tool)
		}
	}
}

// keepers takes over what the load before left of unchanged files, and says which of its file's tool blocks each one is.
func (l *loader) keepers(decls []*toolDecl) []int {
	blocks := l.blocks["tool"]
	places := make([]int, len(blocks))
	type span struct{ from, to int }
	var stale []span // blocks of files whose tools must be decoded
	for i := 0; i < len(blocks); {
		f, first := blocks[i].file, i
		for ; i < len(blocks) && blocks[i].file == f; i++ {
			places[i] = i - first
		}
		if f.under != l.globals || len(f.tools) != i-first {
			f.under, f.tools = l.globals, make([]*decoded, i-first)
			stale = append(stale, span{first, i})
			continue
		}
		for n, k := range f.tools {
			if k != nil {
				decls[first+n] = &toolDecl{tool: k.tool, workDecl: &workDecl{block: blocks[first+n]}, enabled: k.enabled, spoken: k.spoken, kept: k}
			}
		}
	}
	l.opts.Parallel(len(stale), func(i int) {
		f := blocks[stale[i].from].file
		if !f.bare {
			return
		}
		for n, b := range f.whole() {
			blocks[stale[i].from+n].Block = b
		}
	})
	return places
}

// keepable reports whether a decoded tool holds for as long as its file and the globals do.
func (t *toolDecl) keepable() bool { return len(t.calls) == 0 && !t.dec.uses.files }

// accept takes what a tool has found, and keeps it for the next load.
func (l *loader) accept(t *toolDecl, place int, byName map[string]*toolDecl) {
	k := t.kept
	if k == nil {
		k = &decoded{tool: t.tool, enabled: t.enabled, spoken: t.spoken, diags: t.dec.diags, uses: t.dec.uses}
		if t.keepable() {
			t.block.file.tools[place], t.block.file.bare = k, true
		}
	}
	l.note(k.uses)
	l.diags = append(l.diags, k.diags...)
	for _, s := range k.spoken {
		if byName[s.name] == nil {
			l.diags = append(l.diags, s.warning)
		}
	}
}

// confusable warns about names that a model would mix up.
func (l *loader) confusable(tools map[string]*toolDecl) {
	seen := make(map[string]string, len(tools))
	separators := strings.NewReplacer("-", "", "_", "", ".", "")
	for _, name := range sortedNames(tools) {
		plain := separators.Replace(strings.ToLower(name))
		if other, ok := seen[plain]; ok {
			l.warnf(at(tools[name].block.LabelRanges[0]), "Easily confused names", "The tools %q and %q differ only in case or separators; a model will mix them up.", other, name)
			continue
		}
		seen[plain] = name
	}
}

// joined is a list of names in a sentence.
func joined(names []string) string {
	names = append([]string(nil), names...)
	sort.Strings(names)
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
