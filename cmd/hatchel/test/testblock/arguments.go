package testblock

import (
	"slices"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval/hclexpr"
	"hatchel/hcl/mock"
	"hatchel/hcl/schema"
)

// arguments are the arguments of one block that are computed for each element.
type arguments struct {
	of    []mock.Argument
	exprs []*hclexpr.Expr
}

func newArguments(of []mock.Argument) *arguments {
	return &arguments{of, make([]*hclexpr.Expr, len(of))}
}

func (a *arguments) spec() decode.Spec {
	spec := make(decode.Spec, len(a.of))
	for i, arg := range a.of {
		spec[i] = decode.Attr(&a.exprs[i], arg.Name, arg.Doc).TypeDoc(mock.TypeDocs[arg.Type])
	}
	return spec
}

// ranges returns the places of the values that are set.
func (a *arguments) ranges() map[string]diag.Range {
	out := map[string]diag.Range{}
	for i, e := range a.exprs {
		if e != nil {
			out[a.of[i].Name] = e.Range
		}
	}
	return out
}

// values computes the values that are set, and reports those of another type.
func (a *arguments) values(e *element) map[string]any {
	out := map[string]any{}
	for i, arg := range a.of {
		if a.exprs[i] != nil {
			out[arg.Name] = e.value(a.exprs[i], arg.Name, arg.Type)
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
	if t == mock.Any {
		return v
	}
	checked, violations, _ := t.Compile().Check(v, schema.Unlimited)
	for _, violation := range violations {
		e.diags.Errorf(x.Range, "Wrong type", "%s: %s.", name, violation)
	}
	return checked
}

// of returns arguments of one type: a name and a documentation for each.
func of(t *schema.Type, pairs ...string) []mock.Argument {
	out := make([]mock.Argument, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, mock.Argument{Name: pairs[i], Doc: pairs[i+1], Type: t})
	}
	return out
}

var callerArguments = slices.Concat(
	of(mock.Text, "subject", "The subject, as in caller.subject."),
	of(mock.Texts, "groups", "The groups.", "scopes", "The granted scopes."),
	of(mock.Map, "claims", "The claims of the token."),
	of(mock.Names, "headers", "The headers of the request."),
)

var answerArguments = slices.Concat(
	of(mock.Map, "accept", "Accepts a form with these fields, or a page with {}."),
	of(mock.Bool, "decline", "Declines the question, with true.", "cancel", "Dismisses the question, with true."),
	of(mock.Text, "text", "The answer of the model of the client."),
	of(mock.Texts, "roots", "The folders of the client: a list of URIs."),
	of(mock.Bool, "approve", "The decision of an operator about the call, in a block without label."),
)

var expectArguments = slices.Concat(
	of(mock.Text, "text", "The text of the result.",
		"text_matches", "A regular expression that the text of the result matches."),
	of(mock.Any, "result", "The structured result.", "contains", "A part of the structured result: some of the "+
		"members of an object, and some of the elements of a list, in any order, at every depth."),
	of(mock.Text, "golden", "A JSON file with the result, relative to the configuration directory. hatchel test "+
		"--update writes it.",
		"error", "The text of a call that fails.",
		"error_matches", "A regular expression that the text of a call that fails matches.",
		"refused", "The argument that its type refuses, such as \"id\" or \"lines[0].sku\"; \"\" for a schema that "+
			"refuses the arguments as a whole.",
		"denied", "The policy, or the tool, prompt or resource, whose rule denies the call."),
	of(mock.Texts, "masked", "Members of the structured result that hold what masks give in place of values: names, "+
		"which match at every depth, or paths that match at the end, as in a mask. At least one of each has a value."),
	of(mock.Integer, "fault", "The code of the protocol error that the call gives.",
		"failed", "How many elements and steps with on_error = \"continue\" fail. The outcome of such a call is "+
			"partial."),
	of(mock.Bool, "approval", "Whether the call needs the approval of an operator."),
)

const tapeDoc = "A file with recorded requests and answers, relative to the configuration directory, such as " +
	"\"orders.tape.json\". hatchel test --live --record writes it."
