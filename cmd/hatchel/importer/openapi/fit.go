package openapi

import (
	"fmt"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/tokens"
)

const (
	// maxToolTokens is what hatchel lint accepts of a tool, without its annotations. A larger --max-schema lifts it.
	maxToolTokens = 1350
	minToolBytes  = 3 << 10 // a tool below has fewer tokens

	maxFits     = 6  // tries to make an input schema small enough
	maxOpLosses = 50 // losses of the schema of one operation
)

// fitInputs makes trees of the schemas of the inputs. Their sizes are estimates, so a schema that turns out too large
// is tried again with a smaller budget.
func (g *generator) fitInputs(op *operation) {
	budget := g.Options
	for try := 1; ; try++ {
		losses := g.expandInputs(op, budget)
		op.schema = inputSchema(op)
		size := len(op.schema)
		excess := float64(size) / float64(g.MaxSchema)
		if size > minToolBytes && g.MaxSchema <= Defaults().MaxSchema {
			excess = max(excess, float64(tokens.Estimate(op.title+op.text+string(op.schema)))/maxToolTokens)
		}
		if excess > 1 && try < maxFits {
			budget.MaxSchema = int(float64(budget.MaxSchema)/excess) - 50*try
			continue
		}
		if size > g.MaxSchema {
			g.lose(op, "schema stays too large", fmt.Sprintf("%d bytes, although nothing is left to cut; leave out "+
				"inputs that agents do not need", size), op.node)
		}
		for i, l := range losses {
			if i < maxOpLosses {
				g.result.Lose(op.label(), l.Kind, l.Detail, l.Origin)
			}
		}
		return
	}
}

// expandInputs makes trees that fit a budget.
func (g *generator) expandInputs(op *operation, budget Options) (losses []importer.Loss) {
	for _, json := range []bool{false, true} {
		var members []*member
		var texts []string
		var of []*input
		left := budget
		for _, in := range op.inputs {
			if in.json == json {
				members = append(members, &member{in.name, in.schema, in.required})
				texts = append(texts, in.text)
				of = append(of, in)
			} else if json {
				left.MaxSchema -= leafSize(in.tree) + len(in.name) + 20
			}
		}
		if len(members) == 0 {
			continue
		}
		branches, lost := expand(members, texts, left, true, json)
		losses = append(losses, lost...)
		for i, b := range branches {
			of[i].tree = b.tree
		}
	}
	return losses
}
