package editor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/lint"
	"hatchel/hcl"
	"hatchel/hcl/surface"
)

// hoverLabel describes the declaration that a label names, or else the block.
func (p *Project) hoverLabel(at *Place) *Hover {
	b := at.Block()
	span := spanOf(b.LabelRanges[at.Label])
	if found := p.SymbolAt(at.File, at.Offset); found != nil {
		if text := p.describe(found.Symbol); text != "" {
			return &Hover{text, span}
		}
	}
	if b.Kind == nil {
		return nil
	}
	return &Hover{b.Kind.Documentation(), span}
}

// describe returns what a declaration offers to clients, as Markdown; empty if nothing is known of it.
func (p *Project) describe(s Symbol) string {
	switch s.Kind {
	case "tool":
		for _, t := range p.Config.Tools {
			if t.Name == s.Name {
				return p.describeTool(t)
			}
		}
	case "input":
		return p.inputOf(s)
	case "connection", "prompt", "resource", "webhook", "type":
		return p.declaredAt(s)
	}
	return ""
}

// declaredAt says where something is declared, after its first line.
func (p *Project) declaredAt(s Symbol) string {
	found := p.declared(s)
	if len(found) == 0 {
		return ""
	}
	at := found[0].At
	line, _, _ := strings.Cut(string(p.Config.Sources[at.File][found[0].Whole.Start.Byte:]), "\n")
	return fmt.Sprintf("```hcl\n%s\n```\n%s:%d", strings.TrimRight(line, " {\r"), at.File, at.Start.Line)
}

// maxSchema is the number of bytes of a schema that a hover shows.
const maxSchema = 4 << 10

// describeTool describes a tool: what models read of it, what its calls do, and how many tokens it takes in a list.
func (p *Project) describeTool(t *hcl.Tool) string {
	var out strings.Builder
	fmt.Fprintf(&out, "**%s**", t.Name)
	if p.Entry != nil {
		fmt.Fprintf(&out, ", ≈ %d tokens", lint.Tokens(p.Entry(t)))
	}
	fmt.Fprintf(&out, "\n\n%s", t.Description)
	if lines := p.Does(t); len(lines) > 0 {
		fmt.Fprintf(&out, "\n\nWhat a call does:\n```\n%s\n```", strings.Join(lines, "\n"))
	}
	var indented bytes.Buffer
	schema := t.Input.AppendSchema(nil)
	if len(schema) <= maxSchema && json.Indent(&indented, schema, "", "  ") == nil {
		fmt.Fprintf(&out, "\n\n```json\n%s\n```", indented.String())
	}
	return out.String()
}

// inputOf describes an input by its schema.
func (p *Project) inputOf(s Symbol) string {
	op := p.operation(s.Owner)
	if op == nil {
		return ""
	}
	m, ok := op.Input.Lookup(s.Name)
	if !ok {
		return ""
	}
	text := "`" + m.Type.String() + "`"
	if m.Optional {
		text += ", optional"
	}
	if m.Type.Description != "" {
		text += "\n\n" + m.Type.Description
	}
	return text
}

// operation returns what a first line such as "tool x" declares; nil for nothing.
func (p *Project) operation(owner string) *hcl.Operation {
	kind, name, _ := strings.Cut(owner, " ")
	switch kind {
	case "tool":
		for _, t := range p.Config.Tools {
			if t.Name == name {
				return &t.Operation
			}
		}
	case "prompt":
		for _, x := range p.Config.Prompts {
			if x.Name == name {
				return &x.Operation
			}
		}
	case "resource":
		for _, r := range p.Config.Resources {
			if r.Name == name {
				return &r.Operation
			}
		}
	}
	return nil
}

// Does returns what the calls of a tool do, as hatchel lock lists it; nothing while the configuration has errors.
func (p *Project) Does(t *hcl.Tool) []string {
	if p.Diags.HasErrors() {
		return nil
	}
	one := *p.Config
	one.Tools, one.Prompts, one.Resources, one.Skills, one.Toolsets = []*hcl.Tool{t}, nil, nil, nil, nil
	one.Sources = map[string][]byte{t.Range.File: p.Config.Sources[t.Range.File]}
	for i := range p.Config.Blocks {
		b := &p.Config.Blocks[i]
		if slices.Contains([]string{"connection", "locals", "variable", "secret"}, b.Type) {
			one.Sources[b.Header.File] = p.Config.Sources[b.Header.File]
		}
	}
	if found := surface.Of(&one, nil).Tools[t.Name]; found != nil {
		return found.Does
	}
	return nil
}
