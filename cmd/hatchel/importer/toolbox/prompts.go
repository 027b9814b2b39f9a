package toolbox

import (
	"fmt"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/yamlfile"
)

var promptReference = lazyregexp.New(`\{\{\s*\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}`)

// addPrompt adds the block of one prompt.
func (g *generator) addPrompt(i item) {
	var p struct {
		Description string
		Arguments   []parameter
		Messages    []struct{ Role, Content string }
	}
	if err := yamlfile.Decode(i.node, &p); err != nil || len(p.Messages) == 0 {
		g.lose(i.name, "prompt left out", "it has no messages that can be read", i.line)
		return
	}
	names := map[string]string{}
	taken := importer.Names{}
	out := "prompt " + importer.Quote(importer.Identifier(i.name)) + " {\ndescription = " +
		importer.Quote(g.describe(i, "its description", p.Description, 1000)) + "\n"
	for _, a := range p.Arguments {
		if a.Type == "" {
			a.Type = "string"
		}
		a.Description = g.describe(i, "the description of "+a.Name, a.Description, 500)
		typ, err := a.inputType(false)
		if err != nil {
			g.lose(i.name, "prompt left out", "argument "+a.Name+": "+err.Error(), i.line)
			return
		}
		names[a.Name] = taken.Take(importer.Identifier(a.Name), 60)
		out += "argument " + importer.Quote(names[a.Name]) + " { type = " + typ + " }\n"
	}
	for _, m := range p.Messages {
		if importer.Steers(m.Content) {
			g.lose(i.name, "prompt left out", "a message instructs models beyond the prompt", i.line)
			return
		}
		role := "user"
		if m.Role == "assistant" {
			role = m.Role
		}
		text := ""
		for rest := m.Content; rest != ""; {
			at := promptReference.FindStringSubmatchIndex(rest)
			if at == nil || names[rest[at[2]:at[3]]] == "" {
				text += quoteInner(rest)
				break
			}
			text += quoteInner(rest[:at[0]]) + "${input." + names[rest[at[2]:at[3]]] + "}"
			rest = rest[at[1]:]
		}
		out += "message " + importer.Quote(role) + " { text = \"" + text + "\" }\n"
	}
	out += "}\n"
	if err := g.check(out); err != nil {
		g.lose(i.name, "prompt left out", err.Error(), i.line)
		return
	}
	g.result.Blocks = append(g.result.Blocks, importer.Block{File: "prompts.hcl", Text: out,
		Origin: fmt.Sprintf("%s:%d", g.file, i.line)})
}

// quoteInner returns text for the inside of a quoted template.
func quoteInner(s string) string {
	quoted := importer.Quote(s)
	return quoted[1 : len(quoted)-1]
}
