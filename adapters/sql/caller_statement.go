package sql

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl/template"
	"hatchel/hcl/template/sqltext"
	"hatchel/hcl/value"
)

// maxStatement is the maximum size of a caller's statement in bytes.
const maxStatement = 64 << 10

// runCallerStatement runs a statement that the caller wrote in a read-only transaction.
func (a *action) runCallerStatement(
	ctx context.Context, as identity, call *adapters.Call,
) (map[string]any, error) {
	text, kind, err := a.callerStatement(call)
	if err != nil {
		return nil, err
	}
	return a.runReadOnly(ctx, as, call, &execution{
		text: text, kind: kind, byCaller: true, last: true, origin: origin{call, a.dialect},
	})
}

// callerStatement returns the caller's statement. It accepts one complete statement that reads and has
// no placeholders.
func (a *action) callerStatement(call *adapters.Call) (text string, kind sqltext.Kind, err error) {
	v, err := a.Statement.Eval(call.Frame)
	if err != nil {
		return "", kind, modelError{err}
	}
	reject := func(format string, args ...any) (string, sqltext.Kind, error) {
		return "", kind, modelError{fmt.Errorf(format, args...)}
	}
	text, ok := v.(string)
	text = strings.TrimRight(strings.TrimSpace(text), "; \t\r\n")
	switch {
	case !ok:
		return reject("the statement must be a string, not %s", value.Kind(v))
	case text == "":
		return reject("the statement is empty")
	case len(text) > maxStatement:
		return reject("the statement has %d bytes; the maximum is %d", len(text), maxStatement)
	}
	p, diags := sqltext.Compile(&template.Tree{Nodes: []template.Node{&template.Text{Value: text}}}, a.dialect)
	if p == nil { // the first diagnostic is an error: warnings are about values, and there are none
		return reject("the statement was rejected: %s; write one complete statement with its values in it",
			strings.ToLower(diags[0].Summary))
	}
	if kind = p.KindOf(text); !readVerbs[kind.Verb] {
		return reject("the statement is %s; only statements that read are allowed: SELECT, WITH … SELECT, VALUES, "+
			"EXPLAIN, SHOW", cmp.Or(kind.Verb, "of an unknown kind"))
	}
	if a.dialect == sqltext.MySQL {
		upper := strings.ToUpper(text)
		switch {
		case strings.Contains(upper, "LOAD_FILE"): // also inside quotes: MySQL calls a function by its quoted name
			return reject("LOAD_FILE reads files of the database server and is not allowed; read tables instead")
		case writesOutsideTables(upper):
			return reject("SELECT … INTO writes and is not allowed; read the rows instead")
		}
	}
	return text, kind, nil
}

// readVerbs begin the statements that a caller may write. The database enforces that they only read.
var readVerbs = wordSet("SELECT VALUES TABLE EXPLAIN SHOW DESCRIBE DESC PRAGMA")

// writesOutsideTables reports whether a MySQL statement in upper case may write a file or a variable.
// A read-only transaction does not prevent that.
func writesOutsideTables(text string) bool {
	if strings.Contains(text, "/*!") || strings.Contains(text, "/*M!") { // comments that MySQL executes
		return true
	}
	notWord := func(r rune) bool {
		return !(r == '_' || r == '$' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r > 127)
	}
	words := strings.FieldsFunc(quotedMySQLText.ReplaceAllString(text, " ' "), notWord)
	return slices.Contains(words, "INTO")
}
