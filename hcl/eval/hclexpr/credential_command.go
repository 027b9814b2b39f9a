package hclexpr

import (
	"fmt"
	"slices"
	"strings"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/template"
	"hatchel/hcl/value"
	"hatchel/internal/credential"
)

// CheckWords refuses credentials in the words of a command line, which begins with a prefix.
func (c *Compiler) CheckWords(e hclsyntax.Expression, prefix []string) {
	if c.parts == nil {
		return
	}
	list, places := slices.Clone(prefix), make([]hclsyntax.Expression, len(prefix))
	c.eachWord(e, func(x hclsyntax.Expression, text string) {
		list, places = append(list, text), append(places, x)
	})
	i, m, found := credential.FindWord(list)
	if !found || places[i] == nil {
		return
	}
	if _, shown := credential.Find(list[i]); shown { // LiteralCredentials reports it
		return
	}
	c.refuseCredential(places[i].Range(), fmt.Sprintf("The word holds %s, a credential.", m.Noun), m.Name,
		list[i][m.Start:m.End])
}

// eachWord calls do with the words of a command, those of branches one after the other.
func (c *Compiler) eachWord(e hclsyntax.Expression, do func(e hclsyntax.Expression, text string)) {
	switch x := e.(type) {
	case *hclsyntax.TupleConsExpr:
		for _, word := range x.Exprs {
			c.eachWord(word, do)
		}
	case *hclsyntax.ParenthesesExpr:
		c.eachWord(x.Expression, do)
	case *hclsyntax.ConditionalExpr:
		c.eachWord(x.TrueResult, do)
		c.eachWord(x.FalseResult, do)
	case *hclsyntax.ObjectConsExpr:
		for _, item := range x.Items {
			if key, _ := c.keyText(item.KeyExpr); key == "command" {
				c.eachWord(item.ValueExpr, do)
			}
		}
	default:
		if list, ok := c.parts[e].Value.([]any); ok && c.parts[e].Known && !c.parts[e].Sensitive {
			for _, word := range list {
				text, _ := value.Text(word)
				do(e, text)
			}
			return
		}
		do(e, c.writtenText(e))
	}
}

// CheckBody refuses credentials in the text of a body, such as the members of its JSON.
func (c *Compiler) CheckBody(e hclsyntax.Expression) {
	if c.parts == nil {
		return
	}
	text := c.writtenText(e)
	if m, found := credential.FindNamed(text); found && credential.IsKnown(text[m.Start:m.End]) && m.Name != "" {
		if _, shown := credential.Find(text); !shown {
			c.refuseCredential(e.Range(), fmt.Sprintf("The text holds %s, a credential.", m.Noun), m.Name,
				text[m.Start:m.End])
		}
	}
}

// CheckScript refuses credentials in the commands of a script.
func (c *Compiler) CheckScript(e hclsyntax.Expression, commands [][]string) {
	if c.parts == nil {
		return
	}
	placeOf := c.placesIn(e)
	for _, list := range commands {
		i, m, found := credential.FindWord(list)
		if !found {
			continue
		}
		if _, shown := credential.Find(list[i]); shown {
			continue
		}
		text := list[i][m.Start:m.End]
		c.refuseCredential(placeOf(text), fmt.Sprintf("The command holds %s, a credential.", m.Noun), m.Name, text)
	}
}

// placesIn returns a function that returns where a text is written in a template, or the whole template. Each literal
// is aligned with its source once. Texts that come in the order of the template are found in linear time.
func (c *Compiler) placesIn(e hclsyntax.Expression) func(text string) hclv2.Range {
	var literals []*template.Text
	if t, ok := e.(*hclsyntax.TemplateExpr); ok {
		for _, part := range t.Parts {
			if l, ok := part.(*hclsyntax.LiteralValueExpr); ok {
				decoded, _ := LiteralValue(l.Val).(string)
				literals = append(literals, c.literalText(decoded, l.SrcRange))
			}
		}
	}
	latest := 0 // the literal of the text before
	return func(text string) hclv2.Range {
		for n := range literals {
			at := (latest + n) % len(literals)
			if i := strings.Index(literals[at].Value, text); i >= 0 {
				latest = at
				return literals[at].Place(i, i+len(text))
			}
		}
		return e.Range()
	}
}
