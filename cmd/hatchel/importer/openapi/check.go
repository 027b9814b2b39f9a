package openapi

import (
	"slices"

	"hatchel/cmd/hatchel/importer"
)

// dropMistakes removes the tools that do not load. It reports whether there was one.
func (g *generator) dropMistakes() (dropped bool, err error) {
	if g.Check == nil {
		return false, nil
	}
	layout := importer.NewLayout(g.result.Blocks)
	mistakes, err := g.Check(layout.Files)
	for i := range g.result.Blocks {
		g.result.Blocks[i].Header = importer.HeaderOf(g.result.Blocks[i].Text)
	}
	for _, m := range mistakes {
		block := layout.Find(m)
		for j, op := range g.operations {
			if block >= 0 && op.source == g.result.Blocks[block].Text {
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
