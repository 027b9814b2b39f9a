package testblock

import (
	"slices"
	"strings"

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
	checked, violations, _ := t.Compile().Check(v, schema.Unlimited)
	for _, violation := range violations {
		e.diags.Errorf(x.Range, "Wrong type", "%s: %s.", name, violation)
	}
	return checked
}

// of returns arguments of one type: a name and a documentation for each.
func of(t *schema.Type, pairs ...string) []argument {
	out := make([]argument, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, argument{pairs[i], pairs[i+1], t})
	}
	return out
}

var callerArguments = slices.Concat(
	of(textType, "subject", "The subject, as in caller.subject."),
	of(textsType, "groups", "The groups.", "scopes", "The granted scopes."),
	of(mapType, "claims", "The claims of the token."),
	of(namesType, "headers", "The headers of the request."),
)

var answerArguments = slices.Concat(
	of(mapType, "accept", "Accepts a form with these fields, or a page with {}."),
	of(boolType, "decline", "Declines the question, with true.", "cancel", "Dismisses the question, with true."),
	of(textType, "text", "The answer of the model of the client."),
	of(textsType, "roots", "The folders of the client: a list of URIs."),
	of(boolType, "approve", "The decision of an operator about the call, in a block without label."),
)

var expectArguments = slices.Concat(
	of(textType, "text", "The text of the result.",
		"text_matches", "A regular expression that the text of the result matches."),
	of(anyType, "result", "The structured result.", "contains", "A part of the structured result: some of the "+
		"members of an object, and some of the elements of a list, in any order, at every depth."),
	of(textType, "golden", "A JSON file with the result, relative to the configuration directory. hatchel test "+
		"--update writes it.",
		"error", "The text of a call that fails.",
		"error_matches", "A regular expression that the text of a call that fails matches.",
		"refused", "The argument that its type refuses, such as \"id\" or \"lines[0].sku\"; \"\" for a schema that "+
			"refuses the arguments as a whole.",
		"denied", "The policy, or the tool, prompt or resource, whose rule denies the call."),
	of(intType, "fault", "The code of the protocol error that the call gives.",
		"failed", "How many elements and steps with on_error = \"continue\" fail. The outcome of such a call is "+
			"partial."),
	of(boolType, "approval", "Whether the call needs the approval of an operator."),
)

// methods are those of a request, of which a mock has one.
var methods = []string{"get", "post", "put", "patch", "delete", "head"}

// verbArguments are the methods with the path of the request.
var verbArguments = func() (out []argument) {
	for _, method := range methods {
		doc := "The path of a " + strings.ToUpper(method) + "."
		if method == "get" {
			doc = "The path of a GET, below the base_url of the connection, or a whole URL, which a mock without " +
				"connection has. * stands for one segment of the path, and ** for any number."
		}
		out = append(out, of(textType, method, doc)...)
	}
	return out
}()

const tapeDoc = "A file with recorded requests and answers, relative to the configuration directory, such as " +
	"\"orders.tape.json\". hatchel test --live --record writes it."

// mockArguments are the arguments of a kind of mock.
type mockArguments struct {
	choice          string     // names request in a message
	request         []argument // of which a mock has one
	details         []argument // what else is asked
	answers         []argument // of which a reply has at most one
	answeredBesides []argument
}

// mockKinds are the kinds of mocks.
var mockKinds = map[string]*mockArguments{
	"http": {
		choice:  "the request",
		request: verbArguments,
		details: slices.Concat(
			of(mapType, "query", "A part of the query."),
			of(namesType, "headers", "Some of the headers."),
			of(anyType, "json", "A part of the JSON body."),
			of(mapType, "form", "A part of the form."),
			of(textType, "body", "The whole body, as text."),
		),
		answers: slices.Concat(
			of(anyType, "json", "The body, as JSON."),
			of(textType, "text", "The body, as text.",
				"file", "A file with the body, relative to the configuration directory.",
				"fail", "How the request fails: \"refused\", \"timeout\" or \"reset\"."),
		),
		answeredBesides: slices.Concat(
			of(intType, "status", "The status, by default 200."),
			of(namesType, "headers", "The headers."),
			of(textType, "delay", "How long the answer takes."),
		),
	},
	"sql": {
		choice: "what is answered",
		request: of(textType,
			"statement", "The statement or a part of it, such as \"INSERT INTO invoices\". With a * it is the whole "+
				"statement, where * stands for any text. Spaces and line breaks count as one space.",
			"init", "Statements for a SQLite database in memory, which answers all statements itself."),
		details: of(listType, "args", "The parameters of the statement. Without statement, the mock answers every "+
			"statement with them."),
		answers: slices.Concat(
			of(rowsType, "rows", "The rows, as objects."),
			of(textType, "error", "The message of the database that rejects the statement."),
		),
		answeredBesides: slices.Concat(
			of(intType, "affected", "How many rows the statement has changed.",
				"last_id", "The id of the row that was inserted."),
			of(textType, "code", "The code of the error: an SQLSTATE, or the number of MySQL and SQLite.",
				"delay", "How long the answer takes."),
		),
	},
	"shell": {
		choice: "what is run",
		request: slices.Concat(
			of(textsType, "command", "The program and its arguments. * stands for any text in a word, and a word ** "+
				"for any number of words."),
			of(textType, "script", "The script, where * stands for any text.",
				"script_file", "The file of a script, as it is declared."),
		),
		details: slices.Concat(
			of(textType, "stdin", "The standard input."),
			of(namesType, "env", "Some of the environment variables."),
		),
		answeredBesides: slices.Concat(
			of(textType, "stdout", "The standard output.", "stderr", "The standard error."),
			of(intType, "exit", "The exit code, by default 0."),
			of(textType, "delay", "How long the program runs."),
		),
	},
}
