package openapi

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/internal/printable"
	"hatchel/internal/tokens"
)

// Group is what one tag of a document would add.
type Group struct {
	Tag    string `json:"tag"`
	Tools  int    `json:"tools"`
	Reads  int    `json:"reads"`
	Writes int    `json:"writes"`
	Tokens int    `json:"tokens"` // estimated
}

// TooMany is the error of an import without a selection that is too large.
type TooMany struct {
	Groups []Group
	Total  Group

	maxTools, maxTokens int
	path                string // a pattern that selects something
}

func (e *TooMany) Error() string {
	return fmt.Sprintf("%d tools take ≈ %d tokens of the context of a model: select a part, or write --all",
		e.Total.Tools, e.Total.Tokens)
}

// checkSize refuses an import that nobody has limited.
func (g *generator) checkSize() error {
	e := &TooMany{Total: Group{Tag: "all"}, maxTools: g.MaxTools, maxTokens: g.MaxTokens}
	position := map[string]int{}
	for _, op := range g.operations {
		op.tokens = tokens.Estimate(op.name+" "+op.text) + tokens.Estimate(string(op.schema))
		if op.returns != nil {
			op.tokens += tokens.Estimate(string((&schemaWriter{}).appendTree(nil, op.returns)))
		}
		i, there := position[op.group]
		if !there {
			i = len(e.Groups)
			position[op.group] = i
			e.Groups = append(e.Groups, Group{Tag: op.group})
		}
		for _, of := range []*Group{&e.Groups[i], &e.Total} {
			of.Tools++
			of.Tokens += op.tokens
			if op.reads() {
				of.Reads++
			} else {
				of.Writes++
			}
		}
	}
	if g.filtered() || e.Total.Tools <= g.MaxTools && e.Total.Tokens <= g.MaxTokens {
		return nil
	}
	constant, _, _ := strings.Cut(g.operations[0].path, "{")
	e.path = constant[:strings.LastIndexByte(constant, '/')+1] + "**"
	slices.SortStableFunc(e.Groups, func(a, b Group) int { return strings.Compare(a.Tag, b.Tag) })
	return e
}

// Table writes the groups as the lines of a table, and the command that takes one of them.
func (e *TooMany) Table(source string) string {
	var out strings.Builder
	width := 3
	for _, g := range e.Groups {
		width = max(width, min(len(g.Tag), 40))
	}
	row := func(tag string, cells ...any) {
		fmt.Fprintf(&out, "%-*s", width, printable.Reveal(tag, ""))
		for _, c := range cells {
			fmt.Fprintf(&out, "  %8v", c)
		}
		out.WriteByte('\n')
	}
	row("tag", "tools", "reads", "writes", "≈ tokens")
	for _, g := range append(slices.Clone(e.Groups), e.Total) {
		row(g.Tag, g.Tools, g.Reads, g.Writes, g.Tokens)
	}
	best := e.Groups[0]
	for _, g := range e.Groups { // the largest that needs no more selection
		fits := func(g Group) bool { return g.Tools <= e.maxTools && g.Tokens <= e.maxTokens }
		if fits(g) && (!fits(best) || g.Tools > best.Tools) {
			best = g
		}
	}
	command := "hatchel import openapi " + Redacted(source) + " -o tools"
	fmt.Fprintf(&out, "\nOne tag:     %s --tag %q\n", command, best.Tag)
	fmt.Fprintf(&out, "Only reads:  %s --tag %q --read-only\n", command, best.Tag)
	fmt.Fprintf(&out, "A path:      %s --path %q\n", command, e.path)
	return out.String()
}
