package hcl

import (
	"fmt"

	"hatchel/hcl/schema"
)

// The roots of a call. What each holds is in the Frame; here is what is known of it at load.

// inputRoot is what a caller gives: arguments, or the variables of a URI.
func inputRoot(t *schema.Type) *Root {
	r := &Root{Noun: "input", Type: t, Members: map[string]*Member{}, Value: func(f *Frame) (any, error) { return f.Input, nil }}
	for _, m := range t.Members {
		r.Members[m.Name] = inputMember(m)
	}
	return r
}

func inputMember(m *schema.Member) *Member {
	name := m.Name
	out := &Member{Local: true, Type: m.Type, Eval: func(f *Frame) (any, error) { return f.Input[name], nil }}
	switch {
	case m.Type.Nullable:
		out.NullReason = fmt.Sprintf("input.%s may be null", name)
	case m.Optional && !m.HasDefault:
		out.NullReason = fmt.Sprintf("input.%s is optional, so it may be null here", name)
	}
	return out
}

// stepRoot is the results of the steps so far.
func stepRoot(members map[string]*Member, later map[string]string) *Root {
	if members == nil {
		members = map[string]*Member{}
	}
	return &Root{Noun: "step", Members: members, Unavailable: later, Type: AnyType}
}

// stepMember is the result of one step; why says when it may be null.
func stepMember(name string, t *schema.Type, why string) *Member {
	return &Member{Local: true, Type: t, NullReason: why, Eval: func(f *Frame) (any, error) { return f.Steps[name], nil }}
}

var callerType = schema.ObjectOf(
	&schema.Member{Name: "subject", Type: StringType, Optional: true},
	&schema.Member{Name: "groups", Type: schema.ListOf(StringType)},
	&schema.Member{Name: "claims", Type: &schema.Type{Kind: schema.Map, Elem: AnyType}},
	&schema.Member{Name: "scopes", Type: schema.ListOf(StringType)},
	&schema.Member{Name: "headers", Type: &schema.Type{Kind: schema.Map, Elem: StringType}},
	&schema.Member{Name: "client", Type: &schema.Type{Kind: schema.Map, Elem: AnyType}},
	&schema.Member{Name: "capabilities", Type: schema.ListOf(capabilityType)},
)

// callerRoot is who makes the call.
func callerRoot() *Root {
	return &Root{Noun: "member of caller", Type: callerType, Value: func(f *Frame) (any, error) { return f.Caller, nil }}
}

var errorType = schema.ObjectOf(
	&schema.Member{Name: "message", Type: StringType},
	&schema.Member{Name: "status", Type: IntegerType, Optional: true},
	&schema.Member{Name: "code", Type: IntegerType, Optional: true},
	&schema.Member{Name: "step", Type: StringType, Optional: true},
)

// errorRoot is what went wrong.
func errorRoot() *Root {
	return &Root{Noun: "member of error", Type: errorType, Value: func(f *Frame) (any, error) { return f.Failure, nil }}
}
