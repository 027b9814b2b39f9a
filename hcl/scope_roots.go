package hcl

import (
	"fmt"
	"slices"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// The roots of a call with their types. Their values are in the Frame.

// inputRoot returns the root input: arguments, or the variables of a URI.
func inputRoot(t *schema.Type) *eval.Root {
	r := &eval.Root{Noun: "input", Type: t, Members: map[string]*eval.Member{},
		Value: func(f *eval.Frame) (any, error) {
			if f.NoCall {
				return nil, eval.ErrNoCall
			}
			return f.Input, nil
		}}
	for _, m := range t.Members {
		r.Members[m.Name] = inputMember(m)
	}
	return r
}

func inputMember(m *schema.Member) *eval.Member {
	name := m.Name
	out := &eval.Member{Local: true, Type: m.Type, Eval: func(f *eval.Frame) (any, error) {
		if f.NoCall {
			return nil, eval.ErrNoCall
		}
		return f.Input[name], nil
	}}
	switch {
	case m.Type.Nullable:
		out.NullReason = fmt.Sprintf("input.%s may be null", name)
	case m.Optional && !m.HasDefault:
		out.NullReason = fmt.Sprintf("input.%s is optional, so it may be null here", name)
	}
	if m.Optional && !m.HasDefault {
		out.Absent = func(f *eval.Frame) bool {
			_, isNull := f.Input[name]
			return !isNull || !m.Type.Nullable
		}
	}
	return out
}

// stepRoot returns the root step: the results of earlier steps.
func stepRoot(members map[string]*eval.Member, later map[string]string) *eval.Root {
	return &eval.Root{Noun: "step", Members: members, Unavailable: later, Type: eval.AnyType}
}

// stepMember returns the member for the result of one step; why explains when it may be null.
func stepMember(name string, t *schema.Type, why string, facts eval.Facts) *eval.Member {
	facts.NullReason = why
	return &eval.Member{Local: true, Type: t, Facts: facts,
		Eval: func(f *eval.Frame) (any, error) {
			if out, ran := f.Steps[name]; ran {
				return out, nil
			}
			return nil, eval.ErrStepNotRun // in a plan
		}}
}

var callerType = schema.ObjectOf(
	&schema.Member{Name: "subject", Type: eval.StringType, Optional: true},
	&schema.Member{Name: "groups", Type: schema.ListOf(eval.StringType)},
	&schema.Member{Name: "claims", Type: &schema.Type{Kind: schema.Map, Elem: eval.AnyType}},
	&schema.Member{Name: "scopes", Type: schema.ListOf(eval.StringType)},
	&schema.Member{Name: "headers", Type: &schema.Type{Kind: schema.Map, Elem: eval.StringType}},
	&schema.Member{Name: "client", Type: &schema.Type{Kind: schema.Map, Elem: eval.AnyType}},
	&schema.Member{Name: "capabilities", Type: schema.ListOf(capabilityType)},
)

// callerRoot returns the root caller.
func callerRoot() *eval.Root {
	r := callRoot("caller", callerType, func(f *eval.Frame) any { return f.ReadCaller() })
	r.Facts.CallerSpecific = true
	return r
}

// callRoot returns a root whose members are those of a type, with its value in a call.
func callRoot(name string, t *schema.Type, of func(*eval.Frame) any) *eval.Root {
	return &eval.Root{Noun: "member of " + name, Type: t, Value: func(f *eval.Frame) (any, error) { return of(f), nil }}
}

var errorType = schema.ObjectOf(
	&schema.Member{Name: "message", Type: eval.StringType},
	&schema.Member{Name: "status", Type: eval.IntegerType, Optional: true},
	&schema.Member{Name: "code", Type: eval.IntegerType, Optional: true},
	&schema.Member{Name: "constraint", Type: eval.StringType, Optional: true},
	&schema.Member{Name: "table", Type: eval.StringType, Optional: true},
	&schema.Member{Name: "columns", Type: schema.ListOf(eval.StringType), Optional: true},
	&schema.Member{Name: "step", Type: eval.StringType, Optional: true},
)

// errorRoot returns the root error.
func errorRoot() *eval.Root {
	return callRoot("error", errorType, func(f *eval.Frame) any { return f.Failure })
}

// capabilities are the names of client capabilities. "elicitation" means forms; a dot separates a
// sub-capability.
var capabilities = []string{"elicitation", "elicitation.url", "roots", "sampling", "sampling.context",
	"sampling.tools", "tasks"}

// Capabilities returns the possible values of Operation.Requires and caller.capabilities.
func Capabilities() []string { return slices.Clone(capabilities) }

// capabilityType is the enum of these names.
var capabilityType = enumOf(capabilities...)

func enumOf(words ...string) *schema.Type {
	t := &schema.Type{Kind: schema.String}
	for _, word := range words {
		t.Enum = append(t.Enum, schema.EnumValue{Value: word})
	}
	return t
}

// requiresField declares the capabilities that the client must have.
func (w *operationDecoder) requiresField() decode.Field {
	return decode.StringSet(&w.op.Requires, "requires", "list of capabilities", "The capabilities that the client "+
		"must have: "+diag.JoinOr(capabilities)+". Calls of other clients are rejected with the "+
		"reason.", checkCapability)
}

func checkCapability(d *decode.Decoder, r Range, name string) string {
	switch {
	case name == "elicitation.form":
		d.Diags.Errorf(r, "Unknown capability", "For a client that can show a form, write \"elicitation\".")
	case !slices.Contains(capabilities, name):
		d.Diags.Errorf(r, "Unknown capability", "There is no capability %q.%s", name,
			diag.SuggestOr(name, capabilities, diag.ListAre(capabilities)))
	}
	return name
}
