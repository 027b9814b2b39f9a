// Package mcpshell generates tools from a configuration of MCPShell: commands with parameters and constraints.
package mcpshell

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"hatchel/cmd/hatchel/importer"
	"hatchel/cmd/hatchel/importer/yamlfile"
)

// maxSource is the maximum size of a configuration in bytes.
const maxSource = 8 << 20

const leftOut = "tool left out" // a kind of loss

// file is a configuration as it is written.
type file struct {
	Prompts yaml.Node
	MCP     struct {
		Description string
		Run         struct{ Shell string }
		Tools       []yaml.Node
	}
}

// tool is one tool as it is written.
type tool struct {
	Name, Description string
	Params            yaml.Node
	Constraints       []string
	Requirements      struct{ OS string }
	Run               struct {
		Command, Timeout string
		Env              []string
		Runners          []runner
		Runner           string // of an older form, with Options
		Options          map[string]any
	}
	Runners []runner // of an older form, too
	Output  struct{ Prefix string }

	params    map[string]*parameter
	order     []*parameter
	inherited []string
	words     map[string]bool // parameters whose inputs get a pattern of one word
	line      int
}

type runner struct {
	Name         string
	Requirements struct{ OS string }
	Options      map[string]any
}

// parameter is one parameter, and its input.
type parameter struct {
	Type, Description string
	Required          bool
	Default           any

	name, input, kind string
	rules             rules
	used              bool
}

// generator generates the blocks.
type generator struct {
	result  *importer.Result
	file    string
	shell   string
	check   importer.Check
	names   importer.Names
	secrets map[string]string // blocks by the names of environment variables
	order   []string          // of secrets
}

// Import generates the blocks of a configuration. name is that of its file, for the report.
func Import(name string, src []byte, check importer.Check) (*importer.Result, error) {
	if len(src) > maxSource {
		return nil, fmt.Errorf("%s is larger than %d MiB", name, maxSource>>20)
	}
	root, err := yamlfile.Parse(src)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	var f file
	if root != nil {
		if err := yamlfile.Decode(root, &f); err != nil {
			return nil, fmt.Errorf("%s: it cannot be read: %w", name, err)
		}
	}
	if len(f.MCP.Tools) == 0 {
		return nil, fmt.Errorf("%s has no tools: it is no configuration of MCPShell", name)
	}
	result := &importer.Result{Source: "mcpshell " + strings.TrimSuffix(name, path.Ext(name))}
	g := &generator{result: result, file: name, shell: f.MCP.Run.Shell, check: check, names: importer.Names{},
		secrets: map[string]string{}}
	if f.MCP.Description != "" {
		g.lose("mcp", "description of the server left out", "write it as instructions of a server block", 0)
	}
	if f.Prompts.Kind != 0 {
		g.lose("prompts", "prompts left out", "they are for a client of MCPShell", f.Prompts.Line)
	}
	for i := range f.MCP.Tools {
		g.addTool(&f.MCP.Tools[i])
	}
	var secrets []importer.Block
	for _, env := range g.order {
		secrets = append(secrets, importer.Block{File: toolsFile, Text: g.secrets[env], Origin: name})
		g.result.Export(env)
	}
	g.result.Blocks = append(secrets, g.result.Blocks...)
	return g.result, nil
}

const toolsFile = "mcpshell.hcl"

func (g *generator) lose(name, kind, detail string, line int) {
	at := g.file
	if line > 0 {
		at = fmt.Sprintf("%s:%d", g.file, line)
	}
	g.result.Lose(name, kind, detail, at)
}

// addTool adds the block of one tool, or reports why there is none.
func (g *generator) addTool(n *yaml.Node) {
	t := &tool{line: n.Line}
	if err := yamlfile.Decode(n, t); err != nil {
		g.lose(t.Name, leftOut, "it cannot be read: "+err.Error(), n.Line)
		return
	}
	losses := len(g.result.Losses)
	name := t.Name
	if !toolName.MatchString(name) {
		name = importer.Identifier(name)
		g.lose(t.Name, "renamed", "to "+name, t.line)
	}
	name = g.names.Take(name, 64)
	text, err := g.confine(t, name)
	if err != nil {
		g.result.Losses = g.result.Losses[:losses]
		g.lose(t.Name, leftOut, err.Error(), t.line)
		delete(g.names, name)
		return
	}
	for _, m := range secretName.FindAllStringSubmatch(text, -1) {
		if env := strings.ToUpper(m[1]); !slices.Contains(g.order, env) && g.secrets[env] != "" {
			g.order = append(g.order, env)
		}
	}
	g.result.Blocks = append(g.result.Blocks, importer.Block{
		File: toolsFile, Text: text, Origin: fmt.Sprintf("%s:%d", g.file, t.line),
	})
}

var (
	toolName   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	secretName = regexp.MustCompile(`= secret\.([a-z0-9_]+)`)
)

// secretBlocks returns the secrets that a tool reads.
func (g *generator) secretBlocks(text string) (blocks []string) {
	for _, m := range secretName.FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, g.secrets[strings.ToUpper(m[1])])
	}
	return blocks
}

// toolText returns the block of a tool.
func (g *generator) toolText(t *tool, name string) (string, error) {
	if err := t.readParams(); err != nil {
		return "", err
	}
	checks, err := g.constraints(t)
	if err != nil {
		return "", err
	}
	for _, p := range t.order {
		if t.words[p.name] {
			p.confineTo()
			g.lose(t.Name, "pattern added", p.name+": a shell reads its value as one word, and no program as an option",
				t.line)
		}
	}
	shell, err := g.shellBlock(t)
	if err != nil {
		return "", err
	}
	text := g.text(t)
	description := g.describe(t, t.Name, t.Description, 2000)
	if description == "" {
		description = strings.ReplaceAll(name, "_", " ") + "."
		g.lose(t.Name, "no description", "it was made of the name", t.line)
	}
	out := "tool " + importer.Quote(name) + " {\ndescription = " + importer.Quote(description) + "\n"
	for _, p := range t.order {
		if !p.used && !strings.Contains(checks, "input."+p.input) {
			g.lose(t.Name, "parameter left out", p.name+" is not used in the command", t.line)
			continue
		}
		typ, err := g.inputType(t, p)
		if err != nil {
			return "", fmt.Errorf("parameter %s: %w", p.name, err)
		}
		out += "input " + importer.Quote(p.input) + " { type = " + typ + " }\n"
	}
	return out + checks + "\n" + shell + text + "}\n", nil
}

// describe returns a text of the source for models.
func (g *generator) describe(t *tool, of, text string, max int) string {
	return g.result.Describe(t.Name, "the description of "+of, text, fmt.Sprintf("%s:%d", g.file, t.line), max)
}

// inProgram returns a parameter in the language in quotes: an absent one is empty, zero or false.
func (t *tool) inProgram(name string) (string, error) {
	p := t.params[name]
	switch {
	case p == nil:
		return "", fmt.Errorf("there is no parameter %s", name)
	case p.nullable() && p.kind == "string":
		return "(input." + p.input + ` ?? "")`, nil
	case p.nullable():
		return "(input." + p.input + " ?? 0)", nil
	}
	return "input." + p.input, nil
}

// text returns the argument for the answer: what the program writes, after the prefix.
func (g *generator) text(t *tool) string {
	prefix := ""
	pieces, err := t.readTemplate(t.Output.Prefix)
	for _, p := range pieces {
		if p.condition != nil || p.env != "" {
			err = errors.New("it has a condition")
			break
		}
		if prefix += inner(p.text); p.param != nil {
			prefix += p.param.interpolation()
		}
	}
	if err != nil {
		g.lose(t.Name, "prefix of the output left out", err.Error(), t.line)
		prefix = ""
	}
	if prefix = strings.TrimSpace(prefix); prefix != "" {
		prefix += `\n\n`
	}
	return `text = "` + prefix + "${output.stdout}\"\n"
}

// shellBlock returns the shell block.
func (g *generator) shellBlock(t *tool) (string, error) {
	if strings.TrimSpace(t.Run.Command) == "" {
		return "", errors.New("it has no command")
	}
	pieces, err := t.readTemplate(strings.Trim(strings.ReplaceAll(t.Run.Command, "\r\n", "\n"), "\n"))
	if err != nil {
		return "", err
	}
	out := "shell {\n"
	if words, merges := argv(pieces); words != nil {
		out += "command = [" + strings.Join(words, ", ") + "]\n"
		if merges {
			out += "stderr = \"merge\"\n"
		}
	} else {
		text, err := script(pieces)
		if err != nil {
			return "", err
		}
		if strings.HasSuffix(g.shell, "bash") && !strings.HasPrefix(text, "#!") {
			text = "#!/bin/bash\n" + text
		}
		out += "script = " + importer.Heredoc("SH", printWords(text))
	}
	env, err := g.environment(t)
	if err != nil {
		return "", err
	}
	out += env
	if t.Run.Timeout != "" {
		d, err := time.ParseDuration(t.Run.Timeout)
		if err != nil || d <= 0 {
			return "", fmt.Errorf("its timeout %q is no duration", t.Run.Timeout)
		}
		out += fmt.Sprintf("timeout = \"%ds\"\n", max(int(d.Seconds()), 1))
	}
	sandbox, err := g.sandbox(t)
	return out + sandbox + "}\n", err
}
