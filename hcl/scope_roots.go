package hcl

import (
	"fmt"

	"hatchel/hcl/schema"
)

// The roots of a call. What each holds is in the Frame; here is what is known of it at load.

// inputRoot is what a caller gives: arguments, or the variables of a URI.
func inputRoot(t *schema.Type) *root {
	r := &root{noun: "input", typ: t, members: map[string]*member{}, whole: func(f *Frame) (any, error) { return f.Input, nil }}
	for _, m := range t.Members {
		r.members[m.Name] = inputMember(m)
	}
	return r
}

func inputMember(m *schema.Member) *member {
	name := m.Name
	out := &member{own: true, typ: m.Type, eval: func(f *Frame) (any, error) { return f.Input[name], nil }}
	switch {
	case m.Type.Nullable:
		out.nullable = fmt.Sprintf("input.%s may be null", name)
	case m.Optional && !m.HasDefault:
		out.nullable = fmt.Sprintf("input.%s is optional, so it may be null here", name)
	}
	return out
}

func outputRoot(t *schema.Type) *root {
	return &root{noun: "member of output", typ: t, whole: func(f *Frame) (any, error) { return f.Output, nil }}
}

// stepRoot is the results of the steps so far.
func stepRoot(members map[string]*member, later map[string]string) *root {
	if members == nil {
		members = map[string]*member{}
	}
	return &root{noun: "step", members: members, later: later, typ: anyType}
}

// stepMember is the result of one step; why says when it may be null.
func stepMember(name string, t *schema.Type, why string) *member {
	return &member{own: true, typ: t, nullable: why, eval: func(f *Frame) (any, error) { return f.Steps[name], nil }}
}

// eachRoot is the element in hand.
func eachRoot(key, elem *schema.Type) *root {
	return &root{noun: "member of each", typ: anyType, members: map[string]*member{
		"key": {own: true, typ: key, eval: func(f *Frame) (any, error) { return f.Each.Key, nil }},
		"value": {own: true, typ: elem, nullable: nullableReason("each.value", elem), eval: func(f *Frame) (any, error) {
			return f.Each.Value, nil
		}},
	}}
}

func nullableReason(path string, t *schema.Type) string {
	if t.Nullable {
		return path + " may be null"
	}
	return ""
}

var callerType = schema.ObjectOf(
	&schema.Member{Name: "subject", Type: stringType, Optional: true},
	&schema.Member{Name: "groups", Type: schema.ListOf(stringType)},
	&schema.Member{Name: "claims", Type: &schema.Type{Kind: schema.Map, Elem: anyType}},
	&schema.Member{Name: "scopes", Type: schema.ListOf(stringType)},
	&schema.Member{Name: "headers", Type: &schema.Type{Kind: schema.Map, Elem: stringType}},
	&schema.Member{Name: "client", Type: &schema.Type{Kind: schema.Map, Elem: anyType}},
	&schema.Member{Name: "capabilities", Type: schema.ListOf(capabilityType)},
)

// callerRoot is who makes the call.
func callerRoot() *root {
	return &root{noun: "member of caller", typ: callerType, whole: func(f *Frame) (any, error) { return f.Caller, nil }}
}

var failureType = schema.ObjectOf(
	&schema.Member{Name: "message", Type: stringType},
	&schema.Member{Name: "status", Type: integerType, Optional: true},
	&schema.Member{Name: "code", Type: integerType, Optional: true},
	&schema.Member{Name: "step", Type: stringType, Optional: true},
)

// failureRoot is what went wrong.
func failureRoot() *root {
	return &root{noun: "member of error", typ: failureType, whole: func(f *Frame) (any, error) { return f.Failure, nil }}
}
