package hclexpr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/diag"
	"hatchel/hcl/template"
	"hatchel/internal/lazyregexp"
)

// foreignPlaceholder matches what is a value in other template languages: {{ input.x }}, $input.x,
// {% if … %}. It does not match other names, because a template for another program may be sent as
// text.
var foreignPlaceholder = lazyregexp.New(`\{\{-?\s*(` + rootName + `(?:[\w.-]*\w)?)\s*-?\}\}` +
	`|\$(` + rootName + `(?:[\w.]*\w)?)|\{%-?\s*(?:if|for|else|endif|endfor)\b[^}]*%\}`)

const rootName = `(?:input|var|local|step|output|each|secret|caller)\.[A-Za-z_]`

// warnPlaceholder warns about text that looks like a value or a directive of another template
// language.
func (c *Compiler) warnPlaceholder(t *template.Text) {
	for _, m := range foreignPlaceholder.FindAllStringSubmatchIndex(t.Value, -1) {
		at, whole := t.Place(m[0], m[1]), t.Value[m[0]:m[1]]
		from := max(m[2], m[4])
		if from < 0 {
			c.warnf(at, "Not a template", "This sends the text %s. Directives are written %%{if …}, %%{else}, "+
				"%%{endif}, %%{for …} and %%{endfor}.", whole)
			continue
		}
		name := t.Value[from:max(m[3], m[5])]
		c.warnf(at, "Not a template", "This sends the text %s. A value is written ${%s}.", whole,
			diag.Correct(whole, "${"+name+"}", name))
	}
}

// warnReference warns about a text like "output.path", which is sent as it is.
func (c *Compiler) warnReference(e hclsyntax.Expression) {
	t, ok := e.(*hclsyntax.TemplateExpr)
	if !ok || !t.IsStringLiteral() {
		return
	}
	s, _ := LiteralValue(t.Parts[0].(*hclsyntax.LiteralValueExpr).Val).(string)
	root, _, _ := strings.Cut(s, ".")
	if r, _ := c.Scope.Find(root); r != nil && referenceText.MatchString(s) {
		c.warnf(e.Range(), "Looks like a reference", `This sends the text %s. To send the value, write "${%s}".`,
			s, diag.Correct(`"`+s+`"`, `"${`+s+`}"`, s))
	}
}

// referenceText matches a text of the form a.b.c.
var referenceText = lazyregexp.New(`^\w+(\.\w*)+$`)

// embeddedLanguage is a language that another system parses out of a text. A value in the text is
// not one complete value to that system.
type embeddedLanguage struct {
	names   []string           // arguments and members that hold it; none: any
	pattern *lazyregexp.Regexp // matches the text of the author
	phrase  string
	advice  string // what to write, with the value as %s
}

var embeddedLanguages = []embeddedLanguage{
	{nil, lazyregexp.New(`(?s)^\s*(query|mutation|subscription|fragment)\b[^{]*\{`), "a GraphQL document",
		"Declare a variable in the document and send the value beside it: variables = { x = %s }."},
	{[]string{"query", "document"}, lazyregexp.New(`(?s)^\s*\{.*\{`), "a GraphQL document",
		"Declare a variable in the document and send the value beside it: variables = { x = %s }."},
	{nil, lazyregexp.New(`(?s)^\s*[{\[]\s*("|[{\[])`), "JSON",
		"Write the whole as a value, json = { x = %s }, or this part as ${jsonencode(%[1]s)}."},
	{[]string{"jql", "cql", "soql", "sosl", "aql", "kql", "spl", "promql", "logql", "sql", "filter", "$filter",
		"where"}, lazyregexp.New(`[=<>~:(]|\b(?i:in|like|contains|eq|ne|and|or)\b`), "a query",
		"Send it as a variable where that system has them, else as one quoted text, ${jsonencode(%s)}, or " +
			"allow only letters and digits by an enum, a pattern or a format."},
}

// warnEmbedded warns about values in a text that another system parses. Name is that of the
// argument or member with the text.
func (c *Compiler) warnEmbedded(name string, nodes []template.Node) {
	var text strings.Builder
	var interpolations []*template.Interpolation
	collectFreeValues(nodes, &text, &interpolations)
	if len(interpolations) == 0 {
		return
	}
	for _, l := range embeddedLanguages {
		if l.names != nil && !slices.Contains(l.names, name) || !l.pattern.MatchString(text.String()) {
			continue
		}
		for _, h := range interpolations {
			c.warnf(h.Range, "Value inside a query", "%s",
				fmt.Sprintf("%s becomes a part of %s, where quotes and brackets have a meaning. "+l.advice,
					h.Source, l.phrase, h.Source))
		}
		return
	}
}

// collectFreeValues collects the author's text, and the values that can be any text.
func collectFreeValues(nodes []template.Node, text *strings.Builder, interpolations *[]*template.Interpolation) {
	for _, n := range nodes {
		switch n := n.(type) {
		case *template.Text:
			text.WriteString(n.Value)
		case *template.Interpolation:
			free := n.Type.Kind == template.String || n.Type.Kind == template.Any || n.Type.Kind == template.List ||
				n.Type.Kind == template.Object
			if free && !n.Type.Known && !n.Type.Plain && !strings.HasPrefix(n.Source, "jsonencode(") {
				*interpolations = append(*interpolations, n)
			}
			text.WriteByte('x')
		case *template.If:
			collectFreeValues(n.Then, text, interpolations)
			collectFreeValues(n.Else, text, interpolations)
		case *template.For:
			collectFreeValues(n.Body, text, interpolations)
		}
	}
}
