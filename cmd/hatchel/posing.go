package main

import (
	"strings"

	"github.com/spf13/cobra"

	"hatchel/hcl/value"
	"hatchel/runtime/mcp"
)

// posing are the flags that say as whom something is asked.
type posing struct {
	subject         string
	groups, scopes  []string
	claims, headers []string
}

func (p *posing) posingFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.subject, "subject", "", "who calls, as in caller.subject")
	f.StringArrayVar(&p.groups, "group", nil, "a `group` that the caller is in; may be repeated")
	f.StringArrayVar(&p.scopes, "scope", nil, "a `scope` that the caller was granted; may be repeated")
	f.StringArrayVar(&p.claims, "claim", nil, "a claim of the caller's token, `name=value`, where a value that is JSON is read as JSON; may be repeated")
	f.StringArrayVar(&p.headers, "header", nil, "a header of the request, `name=value`; may be repeated")
}

// posed reports whether anything is said of the caller. Who is not known is not asked for scopes.
func (p *posing) posed() bool {
	return p.subject != "" || len(p.groups)+len(p.scopes)+len(p.claims)+len(p.headers) > 0
}

// caller is who is meant. The user of this machine vouches for it, so that whatever is bound to a caller, as uploaded files and the keys of calls are, is not that of one whom a server knows
// by this name.
func (p *posing) caller() (*mcp.Caller, error) {
	written, err := pairs("claim", p.claims)
	if err != nil {
		return nil, err
	}
	headers, err := pairs("header", p.headers)
	if err != nil {
		return nil, err
	}
	claims := map[string]any{}
	for name, text := range written {
		claims[name] = text
		if v, err := value.Decode([]byte(text)); err == nil {
			claims[name] = v
		}
	}
	encoded, err := value.AppendJSON(nil, claims)
	if err != nil {
		return nil, misusef("the claims cannot be written as JSON: %s", err)
	}
	lower := make(map[string]string, len(headers))
	for name, text := range headers {
		lower[strings.ToLower(name)] = text
	}
	if !p.posed() {
		return &mcp.Caller{Revision: mcp.Revision20260728}, nil
	}
	who := &mcp.Identity{Subject: p.subject, Key: "os:" + userName(), Groups: p.groups, Scopes: p.scopes, Claims: encoded, Headers: lower}
	return &mcp.Caller{Revision: mcp.Revision20260728, Subject: p.subject, Identity: who}, nil
}
