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
	g         *generator
	dialect   string
	params    []parameter
	templates []parameter
	inputs    map[string]string // names of inputs by names of parameters
	used      map[string]bool
	last      int               // the number of the last marker that has one, from which ? counts
	ordered   bool              // a ? was read
	numbered  string            // a marker with a number that was read
	byCaller  string            // a statement that the caller writes, instead of the translated one
	texts     map[string]string // markers that are only text, by names of their parameters
}

func newStatement(g *generator, dialect string, t *tool) *statement {
	b := &statement{
		g: g, dialect: dialect, params: t.Parameters, templates: t.TemplateParameters,
		inputs: map[string]string{}, used: map[string]bool{}, texts: map[string]string{},
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

// sqlRest matches the tokens of a statement besides its texts and names in quotes: comments, actions of Go templates,
// references to the environment, words, markers, and anything else.
const sqlRest = `|--[^\n]*|/\*(?s:.*?)\*/|\{\{(?s:.*?)\}\}|` + referencePattern + `|[\pL_][\pL\pN_$]*` +
	`|\$[0-9]+|\$[A-Za-z_]*\$|\?[0-9]*|::|:=|[$:]` + markerName + `|@@?` + markerName + `|(?s:.)`

const markerName = `[A-Za-z_][A-Za-z0-9_]*`

// sqlTokens match the tokens of a statement, by dialect.
var sqlTokens = map[string]*lazyregexp.Regexp{
	"postgres": lazyregexp.New(`[eE]'(?:[^'\\]|''|\\(?s:.))*'|'(?:[^']|'')*'|"(?:[^"]|"")*"` + sqlRest),
	"mysql": lazyregexp.New(`'(?:[^'\\]|''|\\(?s:.))*'|"(?:[^"\\]|""|\\(?s:.))*"` + "|`(?:[^`]|``)*`" +
		`|#[^\n]*` + sqlRest),
	"sqlite": lazyregexp.New(`'(?:[^']|'')*'|"(?:[^"]|"")*"` + "|`(?:[^`]|``)*`" + `|\[[^\]\n]*\]` + sqlRest),
}

// explained matches a statement that is wholly, or behind EXPLAIN, a text of the caller.
var explained = lazyregexp.New(`(?is)^\s*((?:explain\b[^{}']*)?)\{\{\s*\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}\s*;?\s*$`)

// body matches a statement whose text has semicolons of its own.
var body = lazyregexp.New(`(?i)^\s*CREATE\b[^;]*\b(TRIGGER|PROCEDURE|FUNCTION|EVENT|PACKAGE)\b`)

// translate returns the statements as templates of the language, in which every marker is a bound value. There is none
// if the caller writes the statement.
func (b *statement) translate(text string) (list []string, err error) {
	if m := explained.FindStringSubmatch(text); m != nil && b.template(m[2]) != nil {
		b.used[m[2]] = true
		b.byCaller = "input." + b.inputs[m[2]]
		if prefix := strings.Join(strings.Fields(m[1]), " "); prefix != "" {
			b.byCaller = strings.TrimSuffix(importer.Quote(prefix+" "), `"`) + "${" + b.byCaller + `}"`
		}
		return nil, nil
	}
	text = strings.TrimRight(strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")), "; \n")
	if text == "" {
		return nil, errors.New("it has no statement")
	}
	if printable.HasHidden(text) || !importer.TemplateHolds(text) {
		return nil, errors.New("its statement has characters that a reviewer cannot see, or $${")
	}
	var out strings.Builder
	whole, empty := body.MatchString(text), true
	for rest := text; rest != ""; {
		token := sqlTokens[b.dialect].FindString(rest)
		if b.dialect == "postgres" && strings.HasPrefix(token, "/*") {
			token = nestedComment(rest)
		}
		rest = rest[len(token):]
		if dollarQuote.MatchString(token) && b.dialect == "postgres" {
			if end := strings.Index(rest, token); end >= 0 {
				token, rest = token+rest[:end+len(token)], rest[end+len(token):]
			}
		}
		if token == ";" && !whole {
			if !empty {
				list = append(list, out.String())
			}
			out.Reset()
			empty = true
			continue
		}
		empty = empty && (strings.TrimSpace(token) == "" || comment.MatchString(token))
		part, err := b.translateToken(token, out.String())
		if err != nil {
			return nil, err
		}
		out.WriteString(part)
	}
	if b.ordered && b.numbered != "" && b.dialect != "sqlite" {
		return nil, fmt.Errorf("its statement mixes the markers ? and %s", b.numbered)
	}
	if !empty {
		list = append(list, out.String())
	}
	if len(list) == 0 {
		return nil, errors.New("it has no statement")
	}
	return withoutTransaction(list), nil
}

// nestedComment returns the comment that a text begins with. Comments of PostgreSQL may contain others.
func nestedComment(text string) string {
	depth := 0
	for _, m := range commentMark.FindAllStringSubmatchIndex(text, -1) {
		if text[m[0]] == '/' {
			depth++
		} else {
			depth--
		}
		if depth == 0 {
			return text[:m[1]]
		}
	}
	return text
}

var commentMark = lazyregexp.New(`/\*|\*/`)

// comment matches a token that is a comment, but none whose text the server executes.
var comment = lazyregexp.New(`^(?:--|#.|/\*(?:[^!M]|M[^!]))`)

var (
	beginsTransaction = lazyregexp.New(`(?i)^\s*(BEGIN(\s+(DEFERRED|IMMEDIATE|EXCLUSIVE))?|START\s+TRANSACTION)` +
		`(\s+(TRANSACTION|WORK))?\s*$`)
	endsTransaction = lazyregexp.New(`(?i)^\s*(COMMIT|END)(\s+(TRANSACTION|WORK))?\s*$`)
)

// withoutTransaction returns the statements without those that begin and end a transaction around all of them: the
// statements of one tool are always one.
func withoutTransaction(list []string) (out []string) {
	for _, s := range list {
		out = append(out, strings.TrimSpace(s))
	}
	if n := len(out); n > 2 && beginsTransaction.MatchString(out[0]) && endsTransaction.MatchString(out[n-1]) {
		return out[1 : n-1]
	}
	return out
}

var dollarQuote = lazyregexp.New(`^\$[A-Za-z_]*\$$`)

// translateToken returns a token as text of a template. before is the text of its statement before it.
func (b *statement) translateToken(token, before string) (string, error) {
	inQuotes := len(token) > 1 && (strings.HasSuffix(token, "'") || token[0] == '"' && b.dialect == "mysql")
	switch {
	case strings.HasPrefix(token, "{{"):
		return b.action(strings.TrimSpace(strings.Trim(token, "{}")))
	case strings.Contains(token, "{{") && len(token) > 4:
		if inQuotes && token[0] != 'e' && token[0] != 'E' {
			return b.joined(token[1:len(token)-1], token[:1], before)
		}
		return "", errors.New("a template parameter stands inside a quoted name or a comment")
	case references.MatchString(token):
		return b.environment(token)
	case inQuotes, len(token) > 1 && strings.Contains(token[1:], "$"):
		b.noteText(token)
		return importer.Template(token), nil
	}
	if i, marker := b.marker(token, before); marker {
		return b.parameter(i, token)
	}
	return importer.Template(token), nil
}

// operand matches the end of a text behind which an operator is expected: a value or a name, but no keyword.
var (
	operand = lazyregexp.New(`(?i)[\pL\pN_$'"\])}]\s*$`)
	keyword = lazyregexp.New(`(?i)(?:^|[^\pL\pN_$])(SELECT|DISTINCT|WHERE|AND|OR|NOT|I?LIKE|IN|BETWEEN|LIMIT|` +
		`OFFSET|VALUES|WHEN|THEN|ELSE|CASE|SET|BY|HAVING|ON|RETURNING)\s*$`)
)

// marker returns the index of the parameter that a token stands for, and whether it stands for one. Between two values,
// ? is an operator of PostgreSQL.
func (b *statement) marker(token, before string) (int, bool) {
	if len(token) == 0 || !strings.ContainsRune("?$:@", rune(token[0])) {
		return 0, false
	}
	number, err := strconv.Atoi(token[1:])
	switch {
	case token == "?" && (b.dialect != "postgres" || !operand.MatchString(before) || keyword.MatchString(before)):
		b.last, b.ordered = b.last+1, true
		return b.last - 1, true
	case err == nil && (token[0] == '$' || token[0] == '?' && b.dialect == "sqlite"):
		b.last, b.numbered = max(b.last, number), token
		return number - 1, true
	case token[0] != '?' && len(token) > 1:
		for i, p := range b.params {
			if p.Name == token[1:] {
				return i, true
			}
		}
	}
	return 0, false
}

var markerText = lazyregexp.New(`[$?][0-9]+|\?|[$:@]` + markerName)

// noteText notes the markers in a name or in a text in quotes, which are no markers there.
func (b *statement) noteText(token string) {
	for _, m := range markerText.FindAllString(token, -1) {
		number, err := strconv.Atoi(m[1:])
		for i, p := range b.params {
			if m == "?" && b.dialect != "postgres" || err == nil && number == i+1 || m[1:] == p.Name {
				b.texts[p.Name] = m
			}
		}
	}
}

// parameter returns the value of the parameter with an index, for a marker.
func (b *statement) parameter(i int, marker string) (string, error) {
	if i < 0 || i >= len(b.params) {
		return "", fmt.Errorf("its statement has the marker %s for parameter %d, and there are %d", marker, i+1,
			len(b.params))
	}
	p := b.params[i]
	if p.ValueFromParam != "" {
		for j, other := range b.params {
			if other.Name == p.ValueFromParam && other.ValueFromParam == "" {
				return b.parameter(j, marker)
			}
		}
		return "", fmt.Errorf("parameter %s has the value of %s, and there is no such parameter", p.Name,
			p.ValueFromParam)
	}
	if p.EmbeddedBy != "" {
		return "", fmt.Errorf("parameter %s is a vector that the model %s computes of a text, which this server "+
			"does not do", p.Name, p.EmbeddedBy)
	}
	if len(p.AuthServices) > 0 {
		if field := p.AuthServices[0].Field; claimName.MatchString(field) {
			return "${caller.claims." + field + "}", nil
		}
		return "", fmt.Errorf("the claim of parameter %s has no name that can be written", p.Name)
	}
	b.used[p.Name] = true
	return "${input." + b.inputs[p.Name] + "}", nil
}

// environment returns a token in which the values of variables stand for references to the environment.
func (b *statement) environment(token string) (string, error) {
	out, at := "", 0
	for _, m := range references.FindAllStringSubmatchIndex(token, -1) {
		ref := reference.FindStringSubmatch(token[m[0]:m[1]])
		if importer.IsCredential(ref[1], "") {
			return "", fmt.Errorf("its statement has the credential %s of the environment", ref[1])
		}
		if ref[2] == "" {
			return "", fmt.Errorf("its statement has the text %s of the environment, which must be known to check the "+
				"statement: write a default, as in ${%[1]s:…}", ref[1])
		}
		out += importer.Template(token[at:m[0]]) + "${raw(" + b.g.variable(ref) + ")}"
		at = m[1]
	}
	return out + importer.Template(token[at:]), nil
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
	anyAction   = lazyregexp.New(`\{\{-?((?s:.*?))-?\}\}`)
	plainAction = lazyregexp.New(`^(?:array +)?\.([A-Za-z_][A-Za-z0-9_]*)$`)
	ifAction    = lazyregexp.New(`^if +\.([A-Za-z_][A-Za-z0-9_]*)$`)
)

// typed matches a word before a text in quotes that is part of the text's type, so that the text must be constant.
var typed = lazyregexp.New(`(?i)\b(INTERVAL|DATE|TIME|TIMESTAMP|TIMESTAMPTZ)\s*$`)

// joined returns the value of a text in quotes with template parameters, whose values are bound.
func (b *statement) joined(text, quote, before string) (string, error) {
	if b.dialect == "postgres" && typed.MatchString(before) {
		return "", errors.New("a template parameter stands in the text of a constant; write a cast, as in $1::interval")
	}
	var parts []string
	at := 0
	for _, m := range anyAction.FindAllStringSubmatchIndex(text, -1) {
		action := strings.TrimSpace(text[m[2]:m[3]])
		name := plainAction.FindStringSubmatch(action)
		if name == nil || b.template(name[1]) == nil {
			return "", fmt.Errorf("the template {{%s}} has no counterpart", action)
		}
		if b.template(name[1]).Escape != "" {
			return "", fmt.Errorf("template parameter %s is quoted, and stands inside quotes", name[1])
		}
		b.used[name[1]] = true
		if m[0] > at {
			parts = append(parts, quote+importer.Template(text[at:m[0]])+quote)
		}
		parts = append(parts, "${input."+b.inputs[name[1]]+"}")
		at = m[1]
	}
	if at < len(text) {
		parts = append(parts, quote+importer.Template(text[at:])+quote)
	}
	switch {
	case strings.Contains(strings.Join(parts, ""), "{{"):
		return "", errors.New("a template in quotes has no counterpart")
	case len(parts) == 1:
		return parts[0], nil
	case b.dialect == "mysql":
		return "CONCAT(" + strings.Join(parts, ", ") + ")", nil
	}
	return "(" + strings.Join(parts, " || ") + ")", nil
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
	case p.Type == "integer" || p.Type == "float" || p.Type == "boolean" || p.Escape == "single-quotes":
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
	locksRows   = lazyregexp.New(`(?i)\bFOR\s+(NO\s+KEY\s+)?(UPDATE|SHARE|KEY\s+SHARE)\b`)
	changesData = lazyregexp.New(`(?i)\b(INSERT|UPDATE|DELETE|MERGE|REPLACE)\b`)
	analyzes    = lazyregexp.New(`(?i)^\s*EXPLAIN\s*(\([^)]*)?\bANALYZE\b`) // and so executes
)

// writesData reports whether a statement changes something.
func writesData(text string) bool {
	text = noise.ReplaceAllString(text, " ")
	switch strings.ToUpper(firstWord.FindString(text)) {
	case "SELECT", "VALUES", "TABLE":
		return locksRows.MatchString(text)
	case "EXPLAIN":
		return analyzes.MatchString(text) && changesData.MatchString(text)
	case "PRAGMA":
		return strings.Contains(text, "=")
	case "SHOW", "DESCRIBE", "DESC":
		return false
	case "WITH":
		return changesData.MatchString(text) || locksRows.MatchString(text)
	}
	return true
}

// onlyFunction matches a statement that selects what one function returns.
var onlyFunction = lazyregexp.New(`(?is)^\s*SELECT\s+(?:\*\s+FROM\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*\(` +
	`((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)(?:\s+(?:AS\s+)?[A-Za-z_][A-Za-z0-9_]*)?\s*$`)

// builtin matches the names of functions of a database that do not write, as far as statements are only one call.
var builtin = lazyregexp.New(`(?i)^(pg_|json|jsonb|to_|array_|string_|regexp_|date_|coalesce$|count$|sum$|max$|min$|` +
	`avg$|now$|version$|generate_series$|unnest$|current_|length$|upper$|lower$|concat|substr|round$|abs$|format$|` +
	`exists$|database$|user$|sqlite_|random$|rand$|uuid|gen_random_uuid$|st_|ts_|extract$|cast$|if$|ifnull$|make_|` +
	`(date|time|datetime|julianday|unixepoch|strftime|timediff|replace|trim|printf|typeof|last_insert_rowid)$)`)

// unknownFunction returns the name of the function that a statement consists of, if it may write.
func unknownFunction(text string) string {
	m := onlyFunction.FindStringSubmatch(text)
	if m == nil || builtin.MatchString(m[1]) {
		return ""
	}
	return m[1]
}
