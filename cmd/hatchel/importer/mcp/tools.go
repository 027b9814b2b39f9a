package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"hatchel/adapters/mcp/definition"
	"hatchel/cmd/hatchel/importer"
	"hatchel/cmd/hatchel/importer/openapi"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/printable"
	"hatchel/internal/tokens"
)

// tool is a tool of the server, and the block that it becomes.
type tool struct {
	definition.Definition
	name string // of the block
	text string // the block, once it is written
}

const (
	maxToolName  = 64
	maxInputName = 60
	maxTitle     = 120  // bytes
	maxToolText  = 2000 // bytes of a description
	maxSchema    = 16 << 10

	toolLeftOut = "tool left out" // a kind of loss
)

var toolName = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_-]*$`)

// nameTools gives each selected tool a name that is no other tool's. The names do not depend on the order of the
// server's list, and a tool whose own name is possible has that.
func (g *generator) nameTools(selected []definition.Definition) {
	names := importer.Names{}
	for name := range g.Taken {
		names[name] = true
	}
	own := importer.Names{}
	for _, d := range selected {
		name := g.Prefix + d.Name
		if toolName.MatchString(name) && len(name) <= maxToolName && !names[name] && d.TaskSupport != "required" {
			own[name], names[name] = true, true
		}
	}
	byName := func(a, b definition.Definition) int { return strings.Compare(a.Name, b.Name) }
	for _, d := range slices.SortedFunc(slices.Values(selected), byName) {
		if d.TaskSupport == "required" {
			g.lose(d.Name, toolLeftOut, "the server carries it out as a task only, and an mcp block calls tools "+
				"directly")
			continue
		}
		wanted := g.Prefix + d.Name
		if own[wanted] {
			g.tools = append(g.tools, &tool{Definition: d, name: wanted})
			continue
		}
		name := wanted
		if !toolName.MatchString(name) {
			name = importer.Identifier(name)
		}
		if names[name] {
			name = g.Prefix + importer.Identifier(g.server.Name+"_"+d.Name)
		}
		if len(name) > maxToolName {
			sum := sha256.Sum256([]byte(d.Name))
			suffix := "_" + hex.EncodeToString(sum[:3])
			name = strings.TrimRight(name[:maxToolName-len(suffix)], "_-") + suffix
		}
		name = names.Take(name, maxToolName)
		if name != wanted {
			why := "it has characters that names do not have"
			switch {
			case g.Taken[wanted]:
				why = "another tool has its name"
			case len(wanted) > maxToolName:
				why = fmt.Sprintf("a name has at most %d characters", maxToolName)
			case toolName.MatchString(wanted):
				why = "another tool of the server has its name, apart from characters that names do not have"
			}
			g.lose(d.Name, "tool renamed", "to "+name+": "+why)
		}
		g.tools = append(g.tools, &tool{Definition: d, name: name})
	}
	place := map[string]int{}
	for i, d := range selected {
		place[d.Name] = i
	}
	slices.SortFunc(g.tools, func(a, b *tool) int { return place[a.Name] - place[b.Name] })
}

func (g *generator) lose(name, kind, detail string) {
	g.result.Lose(lossName(name), kind, detail, g.server.Origin)
}

// lossName returns the name of a tool as losses have it.
func lossName(name string) string { return importer.WithoutCredentials(printable.Reveal(name, "")) }

// describe returns a text of the server for models.
func (g *generator) describe(name, what, text string, max int) string {
	out := g.result.Describe(name, what, text, g.server.Origin, max)
	if len(text) > max && out != "" {
		g.lose(name, "text shortened", fmt.Sprintf("%s has %d bytes, and the first %d are written", what, len(text),
			len(out)))
	}
	return out
}

// write writes the block of a tool.
func (g *generator) write(t *tool) {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	out.WriteString(importer.Comment(strings.ReplaceAll(t.Name+" of "+g.server.Name, "\n", " ")))
	line("tool %s {", importer.Quote(t.name))
	if title := g.describe(t.Name, "its title", t.Title, maxTitle); title != "" && title != t.name {
		line("title = %s", importer.Quote(title))
	}
	text := g.describe(t.Name, "its description", t.Description, maxToolText)
	if text == "" {
		text = strings.ReplaceAll(t.name, "_", " ") + "."
		g.lose(t.Name, "no description", "it was made of the name")
	}
	line("description = %s", importer.Quote(text))
	out.WriteString(g.hints(t.Hints()))
	inputs, arguments := g.inputs(t)
	out.WriteString(inputs)
	line("mcp %s {\ncall = %s", importer.Quote(g.server.Name), importer.Quote(t.Name))
	if arguments != nil {
		line("arguments = %s", importer.Map(arguments))
	}
	line("}")
	if t.OutputSchema != "" {
		out.WriteString(g.returns(t))
	}
	t.text = out.String() + "}"
}

// hints writes what the server says of the effects of a tool: as comments for a reviewer, or as arguments.
func (g *generator) hints(h definition.Hints) string {
	var out strings.Builder
	say := func(hint *bool, is bool, argument string) {
		switch {
		case hint == nil || *hint != is:
		case g.TrustHints:
			out.WriteString(argument + "\n")
		default:
			out.WriteString("# " + argument + " # the server says so\n")
		}
	}
	say(h.ReadOnly, true, "read_only = true")
	if h.ReadOnly == nil || !*h.ReadOnly {
		say(h.Destructive, false, "destructive = false")
		say(h.Idempotent, true, "idempotent = true")
	}
	say(h.OpenWorld, false, "open_world = false")
	return out.String()
}

// schemaOptions bound the types of one tool.
func schemaOptions() openapi.Options {
	o := openapi.Defaults()
	o.MaxSchema = maxSchema
	return o
}

// inputs writes the inputs of a tool, and the arguments of its call if their names differ.
func (g *generator) inputs(t *tool) (inputs string, arguments []string) {
	properties, losses, err := openapi.JSONSchema([]byte(t.InputSchema), schemaOptions())
	if err != nil {
		g.lose(t.Name, "arguments left out", "its input schema cannot be read: "+err.Error())
	}
	for _, l := range losses {
		g.lose(t.Name, l.Kind, l.Detail)
	}
	var out strings.Builder
	names := importer.Names{}
	isOwn := func(name string) bool { return openapi.IsIdentifier(name) && len(name) <= maxInputName }
	for _, p := range properties {
		names[p.Name] = isOwn(p.Name)
	}
	isRenamed := false
	for _, p := range properties {
		name := p.Name
		if !isOwn(name) {
			name = names.Take(importer.Identifier(name), maxInputName)
			isRenamed = true
			g.lose(t.Name, "argument renamed", p.Name+" is "+name)
		}
		if strings.Contains(p.Type, "\n") {
			fmt.Fprintf(&out, "input %s {\ntype = %s\n}\n", importer.Quote(name), p.Type)
		} else {
			out.WriteString(importer.Input(name, p.Type))
		}
		arguments = append(arguments, importer.Key(p.Name)+" = input."+name)
	}
	if !isRenamed {
		arguments = nil
	}
	return out.String(), arguments
}

// returns writes the type of the result of a tool.
func (g *generator) returns(t *tool) string {
	typ, losses, err := openapi.JSONSchemaType([]byte(t.OutputSchema), schemaOptions())
	if err != nil {
		g.lose(t.Name, "no returns", "its output schema cannot be read: "+err.Error())
		return ""
	}
	for _, l := range losses {
		g.lose(t.Name, "result: "+l.Kind, l.Detail)
	}
	return "returns = " + typ + "\n"
}

// count counts the tools of a server.
func (g *generator) count(e *importer.TooMany) {
	for _, t := range g.tools {
		h := t.Hints()
		e.Add(g.server.Name, h.ReadOnly != nil && *h.ReadOnly,
			tokens.Estimate(t.name+" "+t.Title+" "+t.Description)+tokens.Estimate(t.InputSchema)+
				tokens.Estimate(t.OutputSchema))
	}
}
