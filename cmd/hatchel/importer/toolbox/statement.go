package toolbox

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/printable"
)

// statement translates the statement of one tool.
type statement struct {
	dialect   string
	params    []parameter
	templates []parameter
	inputs    map[string]string // names of inputs by names of parameters
	used      map[string]bool
	next      int    // of the parameters that ? takes in order
	byCaller  string // a statement that the caller writes, instead of the translated one
}

func newStatement(dialect string, t *tool) *statement {
	b := &statement{
		dialect: dialect, params: t.Parameters, templates: t.TemplateParameters,
		inputs: map[string]string{}, used: map[string]bool{},
	}
	names := importer.Names{}
	for _, list := range [][]parameter{t.Parameters, t.TemplateParameters} {
		for _, p := range list {
			name := p.Name
			if !claimName.MatchString(name) {
				name = importer.Identifier(name)
			}
			b.inputs[p.Name] = names.Take(name, 60)
		}
	}
	return b
}

// sqlToken matches what a statement consists of: texts, names in quotes, comments, dollar quotes, actions of Go
// templates, markers, and anything else.
var sqlToken = lazyregexp.New(`'(?:[^']|'')*'` + "|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`" +
	`|--[^\n]*|/\*(?s:.*?)\*/|\{\{(?s:.*?)\}\}|\$[0-9]+|\$[A-Za-z_]*\$|\?[0-9]*|::|:[A-Za-z_][A-Za-z0-9_]*|(?s:.)`)

// explained matches a statement that is wholly, or behind EXPLAIN, a text of the caller.
var explained = lazyregexp.New(`(?is)^\s*((?:explain\b[^{}']*)?)\{\{\s*\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}\s*;?\s*$`)

// translate returns the statement as a template of the language, in which every marker is a bound value.
func (b *statement) translate(text string) (string, error) {
	if m := explained.FindStringSubmatch(text); m != nil && b.template(m[2]) != nil {
		b.used[m[2]] = true
		b.byCaller = "input." + b.inputs[m[2]]
		if prefix := strings.Join(strings.Fields(m[1]), " "); prefix != "" {
			b.byCaller = strings.TrimSuffix(importer.Quote(prefix+" "), `"`) + "${" + b.byCaller + `}"`
		}
		return "", nil
	}
	text = strings.TrimRight(strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")), "; \n")
	if text == "" {
		return "", errors.New("it has no statement")
	}
	if printable.HasHidden(text) || !importer.TemplateHolds(text) {
		return "", errors.New("its statement has characters that a reviewer cannot see, or $${")
	}
	var out strings.Builder
	for rest := text; rest != ""; {
		token := sqlToken.FindString(rest)
		rest = rest[len(token):]
		if dollarQuote.MatchString(token) && b.dialect == "postgres" {
			if end := strings.Index(rest, token); end >= 0 {
				token, rest = token+rest[:end+len(token)], rest[end+len(token):]
			}
		}
		part, err := b.translateToken(token)
		if err != nil {
			return "", err
		}
		out.WriteString(part)
	}
	return out.String(), nil
}

var dollarQuote = lazyregexp.New(`^\$[A-Za-z_]*\$$`)

func (b *statement) translateToken(token string) (string, error) {
	switch {
	case strings.HasPrefix(token, "{{"):
		return b.action(strings.TrimSpace(strings.Trim(token, "{}")))
	case strings.Contains(token, "{{") && len(token) > 4:
		inner := strings.TrimSpace(token[1 : len(token)-1])
		alone := strings.HasPrefix(inner, "{{") && strings.HasSuffix(inner, "}}") && strings.Count(inner, "{{") == 1
		if token[0] == '\'' && alone {
			return b.quoted(strings.TrimSpace(strings.Trim(inner, "{}")))
		}
		return "", errors.New("a template parameter stands inside quotes or a comment with other text")
	case b.dialect == "postgres" && len(token) > 1 && token[0] == '$' && token[1] >= '0' && token[1] <= '9':
		n, _ := strconv.Atoi(token[1:])
		return b.parameter(n - 1)
	case b.dialect != "postgres" && token[0] == '?':
		if n, err := strconv.Atoi(token[1:]); err == nil {
			return b.parameter(n - 1)
		}
		b.next++
		return b.parameter(b.next - 1)
	case b.dialect == "sqlite" && len(token) > 1 && token[0] == ':' && token[1] != ':':
		for i, p := range b.params {
			if p.Name == token[1:] {
				return b.parameter(i)
			}
		}
	}
	return importer.Template(token), nil
}

// parameter returns the value of the parameter with an index.
func (b *statement) parameter(i int) (string, error) {
	if i < 0 || i >= len(b.params) {
		return "", fmt.Errorf("its statement has a marker for parameter %d, and there are %d", i+1, len(b.params))
	}
	p := b.params[i]
	if len(p.AuthServices) > 0 {
		if field := p.AuthServices[0].Field; claimName.MatchString(field) {
			return "${caller.claims." + field + "}", nil
		}
		return "", fmt.Errorf("the claim of parameter %s has no name that can be written", p.Name)
	}
	b.used[p.Name] = true
	return "${input." + b.inputs[p.Name] + "}", nil
}

// claimName matches names that are identifiers of the language.
var claimName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (b *statement) template(name string) *parameter {
	for i, p := range b.templates {
		if p.Name == name {
			return &b.templates[i]
		}
	}
	return nil
}

var (
	plainAction = lazyregexp.New(`^(?:array +)?\.([A-Za-z_][A-Za-z0-9_]*)$`)
	ifAction    = lazyregexp.New(`^if +\.([A-Za-z_][A-Za-z0-9_]*)$`)
)

// quoted returns the value of a template parameter that stands alone in quotes.
func (b *statement) quoted(action string) (string, error) {
	m := plainAction.FindStringSubmatch(action)
	if m == nil || b.template(m[1]) == nil {
		return "", fmt.Errorf("the template {{%s}} has no counterpart", action)
	}
	b.used[m[1]] = true
	return "${input." + b.inputs[m[1]] + "}", nil
}

// action translates {{…}} outside of quotes.
func (b *statement) action(action string) (string, error) {
	if m := ifAction.FindStringSubmatch(action); m != nil && b.template(m[1]) != nil {
		p := b.template(m[1])
		b.used[p.Name] = true
		name := "input." + b.inputs[p.Name]
		switch {
		case p.Type == "boolean":
			return "%{if " + name + "}", nil
		case p.Type == "string" && p.Default != nil:
			return "%{if " + name + ` != ""}`, nil
		case p.Type == "string":
			return "%{if " + name + " != null}", nil
		}
		return "", fmt.Errorf("{{if .%s}} tests a parameter of the type %s", p.Name, p.Type)
	}
	if action == "end" {
		return "%{endif}", nil
	}
	if action == "else" {
		return "%{else}", nil
	}
	m := plainAction.FindStringSubmatch(action)
	if m == nil || b.template(m[1]) == nil {
		return "", fmt.Errorf("the template {{%s}} has no counterpart", action)
	}
	p := b.template(m[1])
	b.used[p.Name] = true
	name := "input." + b.inputs[p.Name]
	switch {
	case p.Type == "integer" || p.Type == "float" || p.Type == "boolean":
		return "${" + name + "}", nil
	case len(p.AllowedValues) > 0 || p.Items != nil && len(p.Items.AllowedValues) > 0:
		return "${ident(" + name + ")}", nil
	}
	return "", fmt.Errorf("template parameter %s has no allowedValues, so a caller could write any SQL; list them, "+
		"or use a parameter", p.Name)
}

// writing matches the first word of statements that change something, and such words after WITH.
var (
	noise       = lazyregexp.New(`'(?:[^']|'')*'|--[^\n]*|/\*(?s:.*?)\*/`)
	firstWord   = lazyregexp.New(`[A-Za-z]+`)
	changesData = lazyregexp.New(`(?i)\b(INSERT|UPDATE|DELETE|MERGE|REPLACE)\b`)
)

// writesData reports whether a statement changes something.
func writesData(text string) bool {
	text = noise.ReplaceAllString(text, " ")
	switch strings.ToUpper(firstWord.FindString(text)) {
	case "SELECT", "VALUES", "SHOW", "EXPLAIN", "TABLE", "DESCRIBE", "DESC", "PRAGMA":
		return false
	case "WITH":
		return changesData.MatchString(text)
	}
	return true
}
