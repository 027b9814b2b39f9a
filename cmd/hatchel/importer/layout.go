package importer

import (
	"slices"
	"strconv"
	"strings"
)

// Mistake is a diagnostic of a generated file.
type Mistake struct {
	File    string
	Line    int
	Text    string
	Warning bool
}

// Layout is blocks in as few files as may be, which are loaded before they are written.
type Layout struct {
	Files map[string][]byte
	at    map[string][]blockLine
}

// blockLine is the line of a file where a block begins.
type blockLine struct {
	line  int
	index int
}

// NewLayout lays blocks out.
func NewLayout(blocks []Block) *Layout {
	l := &Layout{map[string][]byte{}, map[string][]blockLine{}}
	var src []byte
	line, name := 1, ""
	for i, b := range blocks {
		if name == "" || len(src)+len(b.Text) > MaxFileSize {
			src, line, name = nil, 1, strconv.Itoa(i)+".hcl"
		}
		l.at[name] = append(l.at[name], blockLine{line, i})
		src = append(append(src, b.Text...), '\n')
		line += strings.Count(b.Text, "\n") + 1
		l.Files[name] = src
	}
	return l
}

// Find returns the index of the block that has a mistake, or -1 for one that is in none of the files.
func (l *Layout) Find(m Mistake) int {
	lines := l.at[m.File]
	i, found := slices.BinarySearchFunc(lines, m.Line, func(b blockLine, line int) int { return b.line - line })
	if !found {
		i--
	}
	if i < 0 {
		return -1
	}
	return lines[i].index
}

// HeaderOf returns the type and the labels of a block, which are names.
func HeaderOf(text string) string {
	for strings.HasPrefix(text, "#") {
		_, text, _ = strings.Cut(text, "\n")
	}
	line, _, _ := strings.Cut(text, " {")
	return strings.ReplaceAll(line, `"`, "")
}
