package edit

import (
	"fmt"
	"regexp"
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
	var written *hclsyntax.Block // whose type is at the cursor
	for _, b := range body.Blocks {
		if b.Type == mark {
			written = b
		}
	}
	n := 0
	for _, spec := range c.finding.parts {
		for _, f := range spec {
			n++
			isArgument := f.DecodeAttr != nil
			_, has := body.Attributes[f.Name]
			has = has || !f.Many && !isArgument && decode.FindBlock(body, f.Name) != nil
			if has || isArgument && onlyBlocks || !isArgument && onlyArguments {
				continue
			}
			score := -float64(n) / 10
			if f.Required || chosenFrom(spec, f, body) == choiceOpen {
				score += 60
			}
			if chosenFrom(spec, f, body) == choiceMade {
				score -= 60
			}
			score += 5 * c.useScore(f.Name, '=')
			item := Item{Label: f.Name, Kind: ItemArgument, Detail: f.Type, Doc: c.fieldDoc(f)}
			if isArgument {
				if onlyArguments {
					score += valueScore(strings.TrimSpace(after[1:]), f)
				} else {
					item.Insert, item.Snippet = f.Name+" = "+placeholder(f), true
				}
			} else {
				nested := c.nestedSpec(c.finding.block, f)
				item.Kind, item.Detail = ItemBlock, "block"
				if onlyBlocks {
					score += blockScore(after, written, f.Label, nested)
					if f.Name == "step" {
						score += c.stepScore(written)
					}
				} else {
					item.Insert, item.Snippet = blockSnippet(f.Name, f.Label, nested), true
				}
			}
			item.score = score
			c.add(item)
		}
	}
}

// choice says whether one of several arguments, of which only one may be set, is set.
type choice int

const (
	choiceNone choice = iota // it is no choice
	choiceOpen
	choiceMade
)

func chosenFrom(spec decode.Spec, f decode.Field, body *hclsyntax.Body) choice {
	what, required := f.Choice()
	if what == "" {
		return choiceNone
	}
	for _, other := range spec {
		if w, _ := other.Choice(); w == what && (body.Attributes[other.Name] != nil ||
			decode.FindBlock(body, other.Name) != nil) {
			return choiceMade
		}
	}
	if required {
		return choiceOpen
	}
	return choiceNone
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

var (
	durationValue = regexp.MustCompile(`^"[0-9.]+(ns|us|ms|s|m|h)`)
	sizeValue     = regexp.MustCompile(`^"[0-9.]+ ?[KMGT]i?B"`)
	sqlValue      = regexp.MustCompile(`(?i)^(<<-?SQL|"\s*(select|insert|update|delete|with|create)\b)`)
	urlValue      = regexp.MustCompile(`^"(https?:|/)`)
	typeValue     = regexp.MustCompile(
		`^(string|integer|number|bool|list|set|map|object|enum|optional|nullable|any|file|one_of|type)\b`)
	exprValue  = regexp.MustCompile(`^"[^"$]*([|]|&&|==|!=|[<>]|\bin\b|\b(input|output|step|caller|result)\b\.)`)
	proseValue = regexp.MustCompile(`^(<<-?TEXT|"[A-Z][a-z]+ [a-z])`)
)

// valueScore says how well a value that is already written fits an argument.
func valueScore(value string, f decode.Field) float64 {
	if value == "" {
		return 0
	}
	fits := func(match bool, is ...string) float64 {
		switch {
		case slices.Contains(is, f.Type):
			return map[bool]float64{true: 50, false: -20}[match]
		case match:
			return -20
		}
		return 0
	}
	score := fits(durationValue.MatchString(value), "duration") +
		fits(sizeValue.MatchString(value), "size") +
		fits(sqlValue.MatchString(value), "SQL") +
		fits(typeValue.MatchString(value), "type") +
		fits(exprValue.MatchString(value), "expr", "expr, true or false") +
		fits(value[0] >= '0' && value[0] <= '9', "integer", "number") +
		fits(strings.HasPrefix(value, "true") || strings.HasPrefix(value, "false"), "bool") +
		fits(strings.HasPrefix(value, "{"), "map of values")
	if proseValue.MatchString(value) && (f.Name == "description" || f.Name == "title" || f.Name == "message") {
		score += 30
	}
	if urlValue.MatchString(value) && (f.Type == "URL" || strings.Contains(f.Name, "url")) {
		score += 30
	}
	if strings.HasPrefix(value, "[") != strings.HasPrefix(f.Type, "list") {
		score -= 20
	}
	if word, _, ok := strings.Cut(strings.TrimPrefix(value, `"`), `"`); ok && strings.Contains(f.Type, `"`) {
		if strings.Contains(f.Type, `"`+word+`"`) {
			score += 80
		} else {
			score -= 40
		}
	}
	if strings.Contains(value, "secret.") && f.Secret {
		score += 30
	}
	return score
}

// blockScore says how well a block whose labels and body are already written fits.
func blockScore(after string, written *hclsyntax.Block, label string, nested decode.Spec) float64 {
	score := 0.0
	if labelled := strings.HasPrefix(after, `"`); labelled && label == "" {
		score -= 60
	}
	if written == nil {
		return score
	}
	if len(written.Labels) == 0 && label != "" && label != "connection" && label != "message" {
		score -= 60
	}
	has := func(name string) bool {
		return slices.ContainsFunc(nested, func(n decode.Field) bool { return n.Name == name })
	}
	for name := range written.Body.Attributes {
		if has(name) {
			score += 20
		} else if len(nested) > 0 {
			score -= 20
		}
	}
	for _, b := range written.Body.Blocks {
		if has(b.Type) {
			score += 20
		} else if len(nested) > 0 {
			score -= 5
		}
	}
	for _, n := range nested {
		if n.Required && n.DecodeAttr != nil && written.Body.Attributes[n.Name] == nil {
			score -= 15
		}
	}
	return score
}

// stepScore prefers a step for a block that has a backend in it.
func (c *completion) stepScore(written *hclsyntax.Block) float64 {
	if written == nil || len(written.Labels) != 1 {
		return 0
	}
	for _, b := range written.Body.Blocks {
		for _, spec := range c.finding.parts {
			for _, f := range spec {
				if f.Name == b.Type && f.Name != "input" && f.Name != "expect" && f.Label != "" {
					return 40
				}
			}
		}
	}
	return 0
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
