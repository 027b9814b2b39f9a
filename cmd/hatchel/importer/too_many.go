package importer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hatchel/internal/printable"
)

// The numbers of tools and of their estimated tokens up to which an import needs no selection: models read every tool.
const (
	MaxTools  = 40
	MaxTokens = 25_000
)

// Group is what one part of a source, such as a tag of a document, would add.
type Group struct {
	Name   string
	Tools  int
	Reads  int
	Writes int
	Tokens int // estimated
}

// TooMany is the error of an import without a selection that is too large. Groups are sorted by their names.
type TooMany struct {
	Groups []Group
	Total  Group

	noun     string
	position map[string]int
}

// NewTooMany returns an error without tools. noun is what a group is called, such as tag.
func NewTooMany(noun string) *TooMany {
	return &TooMany{Total: Group{Name: "all"}, noun: noun, position: map[string]int{}}
}

func (e *TooMany) Error() string {
	return fmt.Sprintf("%d tools take ≈ %d tokens of the context of a model: select a part, or write --all",
		e.Total.Tools, e.Total.Tokens)
}

// MarshalJSON writes the groups, each with its name under the noun.
func (e *TooMany) MarshalJSON() ([]byte, error) {
	object := func(g Group) map[string]any {
		return map[string]any{e.noun: g.Name, "tools": g.Tools, "reads": g.Reads, "writes": g.Writes,
			"tokens": g.Tokens}
	}
	groups := []map[string]any{}
	for _, g := range e.Groups {
		groups = append(groups, object(g))
	}
	return json.Marshal(map[string]any{"Groups": groups, "Total": object(e.Total)})
}

// Add counts a tool of a group.
func (e *TooMany) Add(group string, reads bool, tokens int) {
	i, there := e.position[group]
	if !there {
		i = len(e.Groups)
		e.position[group] = i
		e.Groups = append(e.Groups, Group{Name: group})
	}
	for _, of := range []*Group{&e.Groups[i], &e.Total} {
		of.Tools++
		of.Tokens += tokens
		if reads {
			of.Reads++
		} else {
			of.Writes++
		}
	}
}

// Exceeds reports whether there are more tools, or tokens, than a selection is needed for. Then it sorts the groups.
func (e *TooMany) Exceeds(maxTools, maxTokens int) bool {
	if e.Total.Tools <= maxTools && e.Total.Tokens <= maxTokens {
		return false
	}
	slices.SortStableFunc(e.Groups, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	return true
}

// Best returns the largest group that needs no more selection, or else the first.
func (e *TooMany) Best(maxTools, maxTokens int) Group {
	best := e.Groups[0]
	fits := func(g Group) bool { return g.Tools <= maxTools && g.Tokens <= maxTokens }
	for _, g := range e.Groups {
		if fits(g) && (!fits(best) || g.Tools > best.Tools) {
			best = g
		}
	}
	return best
}

// Table writes the groups as the lines of a table.
func (e *TooMany) Table() string {
	var out strings.Builder
	width := 3
	for _, g := range e.Groups {
		width = max(width, min(len(g.Name), 40))
	}
	row := func(name string, cells ...any) {
		fmt.Fprintf(&out, "%-*s", width, printable.Reveal(name, ""))
		for _, c := range cells {
			fmt.Fprintf(&out, "  %8v", c)
		}
		out.WriteByte('\n')
	}
	row(e.noun, "tools", "reads", "writes", "≈ tokens")
	for _, g := range append(slices.Clone(e.Groups), e.Total) {
		row(g.Name, g.Tools, g.Reads, g.Writes, g.Tokens)
	}
	return out.String()
}
