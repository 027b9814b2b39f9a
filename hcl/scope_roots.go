package hcl

import (
	"fmt"

	"hatchel/hcl/eval"
	"hatchel/hcl/schema"
)

// The roots of a call. What each holds is in the Frame; here is what is known of it at load.

// inputRoot is what a caller gives: arguments, or the variables of a URI.
func inputRoot(t *schema.Type) *eval.Root {
	r := &eval.Root{Noun: "input", Type: t, Members: map[string]*eval.Member{}, Value: func(f *eval.Frame) (any, error) { return f.Input, nil }}
	for _, m := range t.Members {
		r.Members[m.Name] = inputMember(m)
	}
	return r
}

func inputMember(m *schema.Member) *eval.Member {
	name := m.Name
	out := &eval.Member{Local: true, Type: m.Type, Eval: func(f *eval.Frame) (any, error) { return f.Input[name], nil }}
	switch {
	case m.Type.Nullable:
		out.NullReason = fmt.Sprintf("input.%s may be null", name)
	case m.Optional && !m.HasDefault:
		out.NullReason = fmt.Sprintf("input.%s is optional, so it may be null here", name)
	}
	return out
}

// stepRoot is the results of the steps so far.
func stepRoot(members map[string]*eval.Member, later map[string]string) *eval.Root {
	if members == nil {
		members = map[string]*eval.Member{}
	}
	return &eval.Root{Noun: "step", Members: members, Unavailable: later, Type: eval.AnyType}
}

// stepMember is the result of one step; why says when it may be null.
func stepMember(name string, t *schema.Type, why string) *eval.Member {
	return &eval.Member{Local: true, Type: t, NullReason: why, Eval: func(f *eval.Frame) (any, error) { return f.Steps[name], nil }}
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

// callerRoot is who makes the call.
func callerRoot() *eval.Root {
	return &eval.Root{Noun: "member of caller", Type: callerType, Value: func(f *eval.Frame) (any, error) { return f.Caller, nil }}
}

var errorType = schema.ObjectOf(
	&schema.Member{Name: "message", Type: eval.StringType},
	&schema.Member{Name: "status", Type: eval.IntegerType, Optional: true},
	&schema.Member{Name: "code", Type: eval.IntegerType, Optional: true},
	&schema.Member{Name: "step", Type: eval.StringType, Optional: true},
)

// errorRoot is what went wrong.
func errorRoot() *eval.Root {
	return &eval.Root{Noun: "member of error", Type: errorType, Value: func(f *eval.Frame) (any, error) { return f.Failure, nil }}
}
