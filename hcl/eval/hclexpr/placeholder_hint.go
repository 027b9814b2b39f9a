package hclexpr

import (
	"regexp"

	"hatchel/hcl/template"
)

// foreignPlaceholder matches what is a value in other template languages: {{ input.x }}, $input.x,
// {% if … %}. It does not match other names, because a template for another program may be sent as
// text.
var foreignPlaceholder = regexp.MustCompile(`\{\{-?\s*(` + rootName + `(?:[\w.-]*\w)?)\s*-?\}\}` +
	`|\$(` + rootName + `(?:[\w.]*\w)?)|\{%-?\s*(?:if|for|else|endif|endfor)\b[^}]*%\}`)

const rootName = `(?:input|var|local|step|output|each|secret|caller)\.[A-Za-z_]`

// warnPlaceholder warns about text that looks like a value or a directive of another template
// language.
func (c *Compiler) warnPlaceholder(t *template.Text) {
	for _, m := range foreignPlaceholder.FindAllStringSubmatchIndex(t.Value, -1) {
		switch at, whole := t.Place(m[0], m[1]), t.Value[m[0]:m[1]]; {
		case m[2] >= 0:
			c.warnf(at, "Not a template", "This sends the text %s. A value is written ${%s}.", whole,
				t.Value[m[2]:m[3]])
		case m[4] >= 0:
			c.warnf(at, "Not a template", "This sends the text %s. A value is written ${%s}.", whole,
				t.Value[m[4]:m[5]])
		default:
			c.warnf(at, "Not a template",
				"This sends the text %s. Directives are written %%{if …}, %%{else}, %%{endif}, %%{for …} and "+
					"%%{endfor}.", whole)
		}
	}
}
