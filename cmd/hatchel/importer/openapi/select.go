package openapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/hcl/tokens"
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
}

func (e *TooMany) Error() string {
	return fmt.Sprintf("%d tools take ≈ %d tokens of the context of a model: select a part, or write --all",
		e.Total.Tools, e.Total.Tokens)
}

// checkSize refuses an import that nobody has limited.
func (g *generator) checkSize() error {
	e := &TooMany{Total: Group{Tag: "all"}}
	position := map[string]int{}
	for _, op := range g.operations {
		op.tokens = tokens.Estimate(op.name+" "+op.text) + tokens.Estimate(string(inputSchema(op)))
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
	slices.SortStableFunc(e.Groups, func(a, b Group) int { return strings.Compare(a.Tag, b.Tag) })
	return e
}

// inputSchema returns the input schema of an operation, about as it is advertised.
func inputSchema(op *operation) []byte {
	var members []*branch
	for _, in := range op.inputs {
		members = append(members, &branch{in.name, in.tree, in.required})
	}
	return appendObject(nil, members, "")
}

func appendObject(dst []byte, members []*branch, text string) []byte {
	dst = append(dst, `{"type":"object",`...)
	if text != "" {
		dst = append(append(append(dst, `"description":`...), quoteJSON(text)...), ',')
	}
	dst = append(dst, `"properties":{`...)
	var required []string
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, quoteJSON(m.name)...), ':'), appendTree(nil, m.tree)...)
		if m.required {
			required = append(required, m.name)
		}
	}
	dst = append(dst, '}')
	if required != nil {
		names, _ := json.Marshal(required)
		dst = append(append(dst, `,"required":`...), names...)
	}
	return append(dst, `,"additionalProperties":false}`...)
}

func appendTree(dst []byte, t *tree) []byte {
	if t.kind == objectKind {
		return appendObject(dst, t.members, t.text)
	}
	var parts []string
	add := func(name, v string) {
		if v != "" {
			parts = append(parts, `"`+name+`":`+v)
		}
	}
	if t.kind == oneOfKind {
		var options []string
		for _, o := range t.options {
			options = append(options, string(appendTree(nil, o)))
		}
		add("anyOf", "["+strings.Join(options, ",")+"]")
	} else if t.kind != anyKind {
		add("type", `"`+strings.NewReplacer("list", "array", "set", "array", "map", "object", "bool", "boolean", "file",
			"object").Replace(string(t.kind))+`"`)
	}
	if t.text != "" {
		add("description", quoteJSON(t.text))
	}
	if t.elem != nil {
		word := "items"
		if t.kind == mapKind {
			word = "additionalProperties"
		}
		add(word, string(appendTree(nil, t.elem)))
	}
	if len(t.enum) > 0 {
		add("enum", "["+strings.Join(t.enum, ",")+"]")
	}
	b := t.bounds
	for name, v := range map[string]string{"minimum": b.min, "maximum": b.max, "minLength": b.minLength,
		"maxLength": b.maxLength, "minItems": b.minItems, "maxItems": b.maxItems} {
		add(name, v)
	}
	if t.pattern != "" {
		add("pattern", quoteJSON(t.pattern))
	}
	if t.format != "" {
		add("format", `"`+t.format+`"`)
	}
	return append(append(append(dst, '{'), strings.Join(parts, ",")...), '}')
}

// Table writes the groups as the lines of a table, and the command that takes one of them.
func (e *TooMany) Table(source string) string {
	var out strings.Builder
	width := 3
	for _, g := range e.Groups {
		width = max(width, min(len(g.Tag), 40))
	}
	row := func(tag string, cells ...any) {
		fmt.Fprintf(&out, "%-*s", width, importer.Printable(tag))
		for _, c := range cells {
			fmt.Fprintf(&out, "  %8v", c)
		}
		out.WriteByte('\n')
	}
	row("tag", "tools", "reads", "writes", "≈ tokens")
	for _, g := range append(slices.Clone(e.Groups), e.Total) {
		row(g.Tag, g.Tools, g.Reads, g.Writes, g.Tokens)
	}
	fmt.Fprintf(&out, "\nOne tag:  hatchel import openapi %s --tag %q\n", Redacted(source), e.Groups[0].Tag)
	return out.String()
}
