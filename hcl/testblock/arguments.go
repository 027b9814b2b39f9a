package testblock

import (
	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/schema"
)

// argument is an argument that is computed for each element of a test.
type argument struct {
	name, doc string
	typ       *schema.Type
}

var (
	anyType   = eval.AnyType
	textType  = eval.StringType
	intType   = eval.IntegerType
	boolType  = eval.BoolType
	textsType = schema.ListOf(eval.StringType)
	listType  = schema.ListOf(eval.AnyType.AsNullable())
	mapType   = &schema.Type{Kind: schema.Map, Elem: eval.AnyType.AsNullable()}
	namesType = &schema.Type{Kind: schema.Map, Elem: eval.StringType}
	rowsType  = schema.ListOf(mapType)
)

var typeDocs = map[*schema.Type]string{
	anyType: "value", textType: "template", intType: "integer", boolType: "bool", textsType: "list of strings",
	listType: "list of values", mapType: "map of values", namesType: "map of strings", rowsType: "list of rows",
}

// arguments are the arguments of one block that are computed for each element.
type arguments struct {
	of    []argument
	exprs []*hclexpr.Expr
}

func newArguments(of []argument) *arguments { return &arguments{of, make([]*hclexpr.Expr, len(of))} }

func (a *arguments) spec() decode.Spec {
	spec := make(decode.Spec, len(a.of))
	for i, arg := range a.of {
		spec[i] = decode.Attr(&a.exprs[i], arg.name, arg.doc).TypeDoc(typeDocs[arg.typ])
	}
	return spec
}

// ranges returns the places of the values that are set.
func (a *arguments) ranges() map[string]diag.Range {
	out := map[string]diag.Range{}
	for i, e := range a.exprs {
		if e != nil {
			out[a.of[i].name] = e.Range
		}
	}
	return out
}

// values computes the values that are set, and reports those of another type.
func (a *arguments) values(e *element) map[string]any {
	out := map[string]any{}
	for i, arg := range a.of {
		if a.exprs[i] != nil {
			out[arg.name] = e.value(a.exprs[i], arg.name, arg.typ)
		}
	}
	return out
}

// value computes a value, and reports one of another type.
func (e *element) value(x *hclexpr.Expr, name string, t *schema.Type) any {
	v, err := x.Eval(e.frame)
	if err != nil {
		e.diags.Errorf(x.Range, "Invalid value", "%s cannot be computed: %s.", name, err)
		return nil
	}
	if t == anyType {
		return v
	}
	checked, violations := t.Compile().Check(v)
	for _, violation := range violations {
		e.diags.Errorf(x.Range, "Wrong type", "%s: %s.", name, violation)
	}
	return checked
}

var callerArguments = []argument{
	{name: "subject", doc: "The subject, as in caller.subject.", typ: textType},
	{name: "groups", doc: "The groups.", typ: textsType},
	{name: "scopes", doc: "The granted scopes.", typ: textsType},
	{name: "claims", doc: "The claims of the token.", typ: mapType},
	{name: "headers", doc: "The headers of the request.", typ: namesType},
}

var answerArguments = []argument{
	{name: "accept", doc: "Accepts a form with these fields, or a page with {}.", typ: mapType},
	{name: "decline", doc: "Declines the question, with true.", typ: boolType},
	{name: "cancel", doc: "Dismisses the question, with true.", typ: boolType},
	{name: "text", doc: "The answer of the model of the client.", typ: textType},
	{name: "roots", doc: "The folders of the client: a list of URIs.", typ: textsType},
	{name: "approve", doc: "The decision of an operator about the call, in a block without label.", typ: boolType},
}

var expectArguments = []argument{
	{name: "text", doc: "The text of the result.", typ: textType},
	{name: "text_matches", doc: "A regular expression that the text of the result matches.", typ: textType},
	{name: "result", doc: "The structured result.", typ: anyType},
	{name: "contains", doc: "A part of the structured result: some of the members of an object, and some of the " +
		"elements of a list, in any order, at every depth.", typ: anyType},
	{name: "golden", doc: "A JSON file with the result, relative to the configuration directory. hatchel test " +
		"--update writes it.", typ: textType},
	{name: "error", doc: "The text of a call that fails.", typ: textType},
	{name: "error_matches", doc: "A regular expression that the text of a call that fails matches.", typ: textType},
	{name: "refused", doc: "The argument that its type refuses, such as \"id\" or \"lines[0].sku\".", typ: textType},
	{name: "denied", doc: "The policy, or the tool, prompt or resource, whose rule denies the call.", typ: textType},
	{name: "fault", doc: "The code of the protocol error that the call gives.", typ: intType},
	{name: "approval", doc: "Whether the call needs the approval of an operator.", typ: boolType},
}

// verbArguments are the methods of a request, of which a mock has one.
var verbArguments = []argument{
	{name: "get", doc: "The path of a GET, below the base_url of the connection, or a whole URL for a block without " +
		"connection. * stands for one segment of the path, and ** for any number.", typ: textType},
	{name: "post", doc: "The path of a POST.", typ: textType},
	{name: "put", doc: "The path of a PUT.", typ: textType},
	{name: "patch", doc: "The path of a PATCH.", typ: textType},
	{name: "delete", doc: "The path of a DELETE.", typ: textType},
	{name: "head", doc: "The path of a HEAD.", typ: textType},
}

var httpArguments = []argument{
	{name: "query", doc: "A part of the query.", typ: mapType},
	{name: "headers", doc: "Some of the headers.", typ: namesType},
	{name: "json", doc: "A part of the JSON body.", typ: anyType},
	{name: "form", doc: "A part of the form.", typ: mapType},
	{name: "body", doc: "The whole body, as text.", typ: textType},
}

var httpReplyArguments = []argument{
	{name: "status", doc: "The status, by default 200.", typ: intType},
	{name: "headers", doc: "The headers.", typ: namesType},
	{name: "json", doc: "The body, as JSON.", typ: anyType},
	{name: "text", doc: "The body, as text.", typ: textType},
	{name: "file", doc: "A file with the body, relative to the configuration directory.", typ: textType},
	{name: "delay", doc: "How long the answer takes.", typ: textType},
	{name: "fail", doc: "How the request fails: \"refused\", \"timeout\" or \"reset\".", typ: textType},
}

var sqlArguments = []argument{
	{name: "statement", doc: "The statement, where * stands for any text. Spaces and line breaks count as one space.",
		typ: textType},
	{name: "args", doc: "The parameters of the statement.", typ: listType},
	{name: "init", doc: "Statements for a SQLite database in memory, which answers all statements itself.",
		typ: textType},
}

var sqlReplyArguments = []argument{
	{name: "rows", doc: "The rows, as objects.", typ: rowsType},
	{name: "affected", doc: "How many rows the statement has changed.", typ: intType},
	{name: "last_id", doc: "The id of the row that was inserted.", typ: intType},
	{name: "error", doc: "The message of the database that rejects the statement.", typ: textType},
	{name: "code", doc: "The code of that error: an SQLSTATE, or the number of MySQL and SQLite.", typ: textType},
	{name: "delay", doc: "How long the answer takes.", typ: textType},
}

var shellArguments = []argument{
	{name: "command", doc: "The program and its arguments. * stands for any text in a word, and a word ** for any " +
		"number of words.", typ: textsType},
	{name: "script", doc: "The script, where * stands for any text.", typ: textType},
	{name: "script_file", doc: "The file of a script, as it is declared.", typ: textType},
	{name: "stdin", doc: "The standard input.", typ: textType},
	{name: "env", doc: "Some of the environment variables.", typ: namesType},
}

var shellReplyArguments = []argument{
	{name: "stdout", doc: "The standard output.", typ: textType},
	{name: "stderr", doc: "The standard error.", typ: textType},
	{name: "exit", doc: "The exit code, by default 0.", typ: intType},
	{name: "delay", doc: "How long the program runs.", typ: textType},
}
