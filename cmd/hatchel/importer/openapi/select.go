package openapi

import (
	"fmt"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/tokens"
)

// TooMany is the error of an import without a selection that is too large.
type TooMany struct {
	*importer.TooMany

	maxTools, maxTokens int
	path                string // a pattern that selects something
}

// checkSize refuses an import that nobody has limited.
func (g *generator) checkSize() error {
	e := &TooMany{TooMany: importer.NewTooMany("tag"), maxTools: g.MaxTools, maxTokens: g.MaxTokens}
	for _, op := range g.operations {
		op.tokens = tokens.Estimate(op.name+" "+op.text) + tokens.Estimate(string(op.schema))
		if op.returns != nil {
			op.tokens += tokens.Estimate(string((&schemaWriter{}).appendTree(nil, op.returns)))
		}
		e.Add(op.group, op.reads(), op.tokens)
	}
	if g.filtered() || !e.Exceeds(g.MaxTools, g.MaxTokens) {
		return nil
	}
	constant, _, _ := strings.Cut(g.operations[0].path, "{")
	e.path = constant[:strings.LastIndexByte(constant, '/')+1] + "**"
	return e
}

// Table writes the groups as the lines of a table, and the command that takes one of them.
func (e *TooMany) Table(source string) string {
	best := e.Best(e.maxTools, e.maxTokens)
	command := "hatchel import openapi " + Redacted(source) + " -o tools"
	return e.TooMany.Table() + fmt.Sprintf("\nOne tag:     %s --tag %q\n", command, best.Name) +
		fmt.Sprintf("Only reads:  %s --tag %q --read-only\n", command, best.Name) +
		fmt.Sprintf("A path:      %s --path %q\n", command, e.path)
}
