package hclexpr

import (
	"regexp"

	"hatchel/hcl/template"
)

// foreignPlaceholder finds what is a value in the templates of other languages: {{ input.x }},
// $input.x, {% if … %}. Other names, as in the templates that programs are given to fill in, are
// left alone.
var foreignPlaceholder = regexp.MustCompile(`\{\{-?\s*((?:input|var|local|step|output|each|secret|caller)\.[A-Za-z_](?:[\w.-]*\w)?)\s*-?\}\}|\$((?:input|var|local|step|output|each|secret|caller)\.[A-Za-z_](?:[\w.]*\w)?)|\{%-?\s*(?:if|for|else|endif|endfor)\b[^}]*%\}`)

// warnPlaceholder warns about text that would have been a value or structure elsewhere, and is sent
// as it stands here.
func (c *Compiler) warnPlaceholder(t *template.Text) {
	for _, m := range foreignPlaceholder.FindAllStringSubmatchIndex(t.Value, -1) {
		switch at, whole := t.Place(m[0], m[1]), t.Value[m[0]:m[1]]; {
		case m[2] >= 0:
			c.warnf(at, "Not a template", "This sends the characters %s. A value is written ${%s}.", whole,
				t.Value[m[2]:m[3]])
		case m[4] >= 0:
			c.warnf(at, "Not a template", "This sends the characters %s. A value is written ${%s}.", whole,
				t.Value[m[4]:m[5]])
		default:
			c.warnf(at, "Not a template",
				"This sends the characters %s. Structure is written %%{if …}, %%{else}, %%{endif}, %%{for …} and "+
					"%%{endfor}.", whole)
		}
	}
}
