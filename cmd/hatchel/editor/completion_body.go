package editor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
)

// addFields adds the arguments and blocks that a body takes and does not have: first those that it needs.
func (c *completion) addFields() {
	after := strings.TrimSpace(c.after())
	onlyArguments := strings.HasPrefix(after, "=")
	onlyBlocks := strings.HasPrefix(after, "{") || strings.HasPrefix(after, `"`)
	body := c.finding.block.Body
	var rest []Item
	for _, spec := range c.finding.parts {
		for _, f := range spec {
			isArgument := f.DecodeAttr != nil
			_, has := body.Attributes[f.Name]
			has = has || !f.Many && !isArgument && decode.FindBlock(body, f.Name) != nil
			if has || isArgument && onlyBlocks || !isArgument && onlyArguments {
				continue
			}
			item := Item{Label: f.Name, Kind: ItemArgument, Detail: f.Type, Doc: c.fieldDoc(f)}
			switch {
			case !isArgument:
				item.Kind, item.Detail = ItemBlock, "block"
				if !onlyBlocks {
					item.Insert, item.Snippet = blockSnippet(f.Name, f.Label, c.nestedSpec(c.finding.block, f)), true
				}
			case !onlyArguments:
				item.Insert, item.Snippet = f.Name+" = "+placeholder(f), true
			}
			if isNeeded(spec, f, body) {
				c.add(item)
			} else {
				rest = append(rest, item)
			}
		}
	}
	for _, item := range rest {
		c.add(item)
	}
}

// isNeeded reports whether a body needs an argument or block that it does not have: it is required, or one of several
// of which one is required and none is set.
func isNeeded(spec decode.Spec, f decode.Field, body *hclsyntax.Body) bool {
	what, required := f.Choice()
	if !required {
		return f.Required
	}
	return !slices.ContainsFunc(spec, func(other decode.Field) bool {
		w, _ := other.Choice()
		return w == what && (body.Attributes[other.Name] != nil || decode.FindBlock(body, other.Name) != nil)
	})
}

func (c *completion) fieldDoc(f decode.Field) string {
	doc := f.Doc
	if f.Default != "" {
		doc += "\n\nDefault: " + f.Default
	}
	return doc
}

// nestedSpec returns the spec of a nested block. The blocks of adapters are found by their names.
func (c *completion) nestedSpec(outer *hclsyntax.Block, f decode.Field) decode.Spec {
	if spec := f.Nested(); spec != nil {
		return spec
	}
	key := f.Name
	if key == "tool" {
		key = "tool step"
	}
	if k := c.Kind(key); k != nil && outer.Type != "test" {
		return k.Spec
	}
	return nil
}

// placeholder returns the place for the value of an argument.
func placeholder(f decode.Field) string {
	switch {
	case f.Type == "bool":
		return "${0:true}"
	case f.Type == "SQL":
		return "<<-SQL\n  $0\nSQL"
	case f.Type == "shell script":
		return "<<-SH\n  $0\nSH"
	case strings.HasPrefix(f.Type, "list"):
		return "[$0]"
	case f.Type == "map of values":
		return "{\n  $0\n}"
	case f.Type == "duration":
		return `"${0:30s}"`
	case strings.Contains(f.Type, `"`), f.Type == "string", f.Type == "template", f.Type == "URL", f.Type == "size",
		strings.HasPrefix(f.Type, "expr"), f.Type == "string, secret allowed":
		return `"$0"`
	}
	return "$0"
}

// blockSnippet returns a block with its label and the arguments that it requires.
func blockSnippet(name, label string, spec decode.Spec) string {
	var b strings.Builder
	b.WriteString(name)
	n := 1
	if label != "" {
		fmt.Fprintf(&b, ` "${%d:%s}"`, n, label)
		n++
	}
	b.WriteString(" {\n")
	for _, f := range spec {
		if f.Required && f.DecodeAttr != nil {
			fmt.Fprintf(&b, "  %s = %s\n", f.Name, strings.NewReplacer("$0", fmt.Sprintf("$%d", n), "${0:",
				fmt.Sprintf("${%d:", n)).Replace(placeholder(f)))
			n++
		}
	}
	if n == 1 || n == 2 && label != "" {
		b.WriteString("  $0\n")
	}
	b.WriteString("}")
	return b.String()
}
