package openapi

import (
	"slices"
	"strconv"
	"strings"

	"hatchel/cmd/hatchel/importer"
)

// dropMistakes removes the tools that do not load. It reports whether there was one.
func (g *generator) dropMistakes() (dropped bool, err error) {
	if g.Check == nil {
		return false, nil
	}
	files, at := g.checkedFiles()
	mistakes, err := g.Check(files)
	for i := range g.result.Blocks {
		g.result.Blocks[i].Header = headerOf(g.result.Blocks[i].Text)
	}
	for _, m := range mistakes {
		block := blockAt(at[m.File], m.Line)
		for j, op := range g.operations {
			if block != nil && op.source == block.Text {
				g.lose(op, "operation left out", "its tool would not load: "+m.Text, op.node)
				g.operations = slices.Delete(g.operations, j, j+1)
				op.connection.uses--
				dropped = true
				break
			}
		}
	}
	g.connections.all = slices.DeleteFunc(g.connections.all, func(c *connection) bool { return c.uses == 0 })
	return dropped, err
}

// blockLine is the line of a file where a block begins.
type blockLine struct {
	line  int
	block *importer.Block
}

// checkedFiles returns the blocks in as few files as may be, and where they begin.
func (g *generator) checkedFiles() (files map[string][]byte, at map[string][]blockLine) {
	files, at = map[string][]byte{}, map[string][]blockLine{}
	var src []byte
	line, name := 1, ""
	for i := range g.result.Blocks {
		b := &g.result.Blocks[i]
		if name == "" || len(src)+len(b.Text) > importer.MaxFileSize {
			src, line, name = nil, 1, strconv.Itoa(i)+".hcl"
		}
		at[name] = append(at[name], blockLine{line, b})
		src = append(append(src, b.Text...), '\n')
		line += strings.Count(b.Text, "\n") + 1
		files[name] = src
	}
	return files, at
}

// headerOf returns the type and the labels of a block, which are names.
func headerOf(text string) string {
	for strings.HasPrefix(text, "#") {
		_, text, _ = strings.Cut(text, "\n")
	}
	line, _, _ := strings.Cut(text, " {")
	return strings.ReplaceAll(line, `"`, "")
}

// blockAt returns the block that has a line of a file, or nil.
func blockAt(lines []blockLine, line int) *importer.Block {
	i, found := slices.BinarySearchFunc(lines, line, func(b blockLine, line int) int { return b.line - line })
	if !found {
		i--
	}
	if i < 0 || i >= len(lines) {
		return nil
	}
	return lines[i].block
}
