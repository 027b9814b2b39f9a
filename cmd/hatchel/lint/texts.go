package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/cmd/hatchel/lint/injection"
	"hatchel/hcl/diag"
	"hatchel/internal/printable"
)

// spoken are the arguments whose texts models read, besides what locals and variables hold.
var spoken = []string{"title", "description", "instructions", "text", "error", "type", "is", "fields", "enum",
	"example", "default", "returns", "schema", "message", "meta", "result_meta", "areas"}

// Findings of one rule beyond these say nothing new.
const (
	maxPerFile = 100
	maxPerText = 10
)

// checkTexts finds hidden text in all sources and values, and text that instructs models in what they read. What
// prompts and questions say to a model on behalf of a user is theirs to say.
func (c *checker) checkTexts() {
	for _, f := range c.sources {
		text := strings.TrimPrefix(string(f.src), "\ufeff")
		skip := len(f.src) - len(text)
		for i, m := range printable.Hidden(text) {
			if i == maxPerFile {
				break
			}
			c.reportHidden(f.rangeOf(m.Start+skip, m.End+skip), text[m.Start:m.End], m)
		}
		eachBlock(f.body, nil, func(b *hclsyntax.Block, around []*hclsyntax.Block) {
			for i, label := range b.Labels {
				if len(around) > 0 { // the text of a check, of an expectation
					for _, m := range c.steering(label) {
						c.reportSteering(diag.RangeOf(b.LabelRanges[i]), m)
					}
				}
			}
			for _, a := range b.Body.Attributes {
				if !isSpoken(b, around, a.Name) {
					continue
				}
				for _, l := range f.literalsOf(a.Expr) {
					c.checkLiteral(l)
				}
			}
		})
	}
	c.checkValues()
}

// minSteering is the number of bytes of the shortest phrase.
const minSteering = 12

// steering returns the matches of a text. A text that occurs several times is read once.
func (c *checker) steering(text string) []printable.Match {
	if len(text) < minSteering {
		return nil
	}
	found, known := c.steers[text]
	if !known {
		found = injection.Steering(text)
		c.steers[text] = found
	}
	return found
}

func isSpoken(b *hclsyntax.Block, around []*hclsyntax.Block, argument string) bool {
	if b.Type == "locals" || b.Type == "variable" {
		return true
	}
	if b.Type == "message" && len(around) == 1 && around[0].Type == "prompt" {
		return false
	}
	return slices.Contains(spoken, argument)
}

// checkLiteral finds hidden characters that are written as escapes, and phrases that instruct, in what models read.
func (c *checker) checkLiteral(l *literal) {
	for i, m := range printable.Hidden(l.text) {
		if i == maxPerText {
			break
		}
		at := l.source(m.Start, m.End)
		if len(printable.Hidden(string(l.file.src[at.Start.Byte:at.End.Byte]))) == 0 {
			c.reportHidden(at, l.text[m.Start:m.End], m)
		}
	}
	for i, m := range c.steering(l.text) {
		if i == maxPerText {
			break
		}
		c.reportSteering(l.source(m.Start, m.End), m)
	}
}

// checkValues checks what clients receive, for texts that no literal shows: values that expressions join or files
// hold. A finding is at the first line of the block.
func (c *checker) checkValues() {
	check := func(at diag.Range, texts ...string) {
		for _, text := range texts {
			if m := printable.Hidden(text); len(m) > 0 && !c.hasFinding("hidden-text", at) {
				c.reportHidden(at, text[m[0].Start:m[0].End], m[0])
			}
			if m := c.steering(text); len(m) > 0 && !c.hasFinding("steering", at) {
				c.reportSteering(at, m[0])
			}
		}
	}
	server := c.serverRange()
	check(server, c.config.Server.Title, c.config.Server.Instructions)
	for _, t := range c.config.Tools {
		check(t.Range, c.tools[t.Name]...)
	}
	for _, t := range c.config.Toolsets {
		check(t.Range, t.Title, t.Instructions)
		if t.Search != nil {
			check(t.Range, t.Search.Areas)
		}
	}
	for _, p := range c.config.Prompts {
		check(p.Range, p.Title, p.Description)
		for _, a := range p.Arguments() {
			check(p.Range, a.Title, a.Description)
		}
	}
	for _, r := range c.config.Resources {
		check(r.Range, r.Title, r.Description)
	}
}

// hasFinding reports whether a rule has a finding inside of the block that begins at a range, or in text that is
// shared by blocks.
func (c *checker) hasFinding(rule string, header diag.Range) bool {
	return slices.ContainsFunc(c.found, func(f Finding) bool {
		if f.Rule != rule {
			return false
		}
		b := c.blockAt(f.Subject)
		return b == nil || diag.RangeOf(b.DefRange()) == header ||
			slices.Contains([]string{"type", "locals", "variable"}, b.Type)
	})
}

// blockAt returns the top-level block around a range, or nil.
func (c *checker) blockAt(r diag.Range) *hclsyntax.Block {
	for _, f := range c.sources {
		if f.name != r.File {
			continue
		}
		for _, b := range f.body.Blocks {
			if whole := b.Range(); whole.Start.Byte <= r.Start.Byte && r.Start.Byte <= b.CloseBraceRange.End.Byte {
				return b
			}
		}
	}
	return nil
}

// serverRange returns the first line of the server block, or the zero Range.
func (c *checker) serverRange() diag.Range {
	for _, f := range c.sources {
		for _, b := range f.body.Blocks {
			if b.Type == "server" {
				return diag.RangeOf(b.DefRange())
			}
		}
	}
	return diag.Range{}
}

func (c *checker) reportHidden(at diag.Range, text string, m printable.Match) {
	c.report("hidden-text", diag.Error, at, "Hidden text",
		fmt.Sprintf("It %s: %s. Remove them, or write them as an escape, as in \\u200b, where a backend needs them.",
			m.Why, printable.Names(text)))
}

func (c *checker) reportSteering(at diag.Range, m printable.Match) {
	c.report("steering", diag.Error, at, "Text that instructs models",
		fmt.Sprintf("It %s. Describe what the tool does and when to use it. If it is meant, write "+
			"`# lint:allow steering` and the reason above it.", m.Why))
}
