package sql

import (
	"context"
	"fmt"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl/template"
	"hatchel/hcl/template/sqltext"
	"hatchel/hcl/value"
)

// maxStatement is how long a caller's statement may be, in bytes.
const maxStatement = 64 << 10

// statement runs a statement that the caller wrote, where the engine lets nothing be changed.
func (a *action) statement(ctx context.Context, call *adapters.Call) (map[string]any, error) {
	text, verb, err := a.asked(call)
	if err != nil {
		return nil, err
	}
	t := &table{limit: a.MaxRows}
	e := execution{text: text, verb: verb, rows: t, rowsWanted: true, once: true, last: true}
	if err := a.db.read(ctx, func(tx transaction) error { return tx.run(ctx, &e) }); err != nil {
		return nil, err
	}
	return rowsOf(t), nil
}

// asked is the caller's statement: one, complete, without placeholders, of a kind that reads.
func (a *action) asked(call *adapters.Call) (text, verb string, err error) {
	v, err := a.Statement.Eval(call.Frame)
	if err != nil {
		return "", "", refusal{err}
	}
	refuse := func(format string, args ...any) (string, string, error) {
		return "", "", refusal{fmt.Errorf(format, args...)}
	}
	text, ok := v.(string)
	text = strings.TrimRight(strings.TrimSpace(text), "; \t\r\n")
	switch {
	case !ok:
		return refuse("a statement is a text, and this is %s", value.Kind(v))
	case text == "":
		return refuse("the statement is empty")
	case len(text) > maxStatement:
		return refuse("the statement has %d bytes, and %d is the most", len(text), maxStatement)
	}
	p, diags := sqltext.Compile(&template.Tree{Nodes: []template.Node{&template.Text{Value: text}}}, a.dialect)
	if p == nil { // warnings are about values, which it has none of, so the first is a mistake
		return refuse("the statement is refused: %s; write one complete statement with its values in it", strings.ToLower(diags[0].Summary))
	}
	verb = p.Verb()
	if !reading[verb] {
		return refuse("only statements that read are run here: SELECT, WITH … SELECT, VALUES, EXPLAIN, SHOW")
	}
	if a.dialect == sqltext.MySQL && strings.Contains(strings.ToUpper(text), "LOAD_FILE") { // in whatever quotes: those of a name do not hide it from the server
		return refuse("LOAD_FILE reads files of the database's machine and is not run here; read tables")
	}
	if a.dialect == sqltext.MySQL && leavesServer(text) {
		return refuse("SELECT … INTO writes and is not run here; read the rows instead")
	}
	return text, verb, nil
}

// reading are the statements that a caller may write. The engine holds them to it.
var reading = map[string]bool{"SELECT": true, "VALUES": true, "TABLE": true, "EXPLAIN": true, "SHOW": true, "DESCRIBE": true, "DESC": true, "PRAGMA": true}

// leavesServer reports whether a statement of MySQL may write a file or a variable, which a read-only transaction does not stop.
func leavesServer(text string) bool {
	if strings.Contains(text, "/*!") || strings.Contains(strings.ToUpper(text), "/*M!") {
		return true
	}
	for _, word := range strings.FieldsFunc(strings.ToUpper(quotedMySQL.ReplaceAllString(text, " ' ")), func(r rune) bool {
		return !(r == '_' || r == '$' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r > 127)
	}) {
		if word == "INTO" {
			return true
		}
	}
	return false
}
