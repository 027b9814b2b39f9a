package main

import (
	"os"
	"os/user"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/hcl/value"
	"hatchel/runtime/mcp"
)

// callerFlags are the flags that describe the caller of a request.
type callerFlags struct {
	subject         string
	groups, scopes  []string
	claims, headers []string
}

func (c *callerFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&c.subject, "subject", "", "`SUBJECT` of the caller, as in caller.subject")
	fs.StringArrayVar(&c.groups, "group", nil, "`GROUP` of the caller; may be repeated")
	fs.StringArrayVar(&c.scopes, "scope", nil, "`SCOPE` granted to the caller; may be repeated")
	fs.StringArrayVar(&c.claims, "claim", nil,
		"claim of the caller's token, `NAME=VALUE`, parsed as JSON if possible; may be repeated")
	fs.StringArrayVar(&c.headers, "header", nil, "header of the request, `NAME=VALUE`; may be repeated")
}

// isSet reports whether any of the flags is set. Scopes are not checked for a caller that nothing
// describes.
func (c *callerFlags) isSet() bool {
	return c.subject != "" || len(c.groups)+len(c.scopes)+len(c.claims)+len(c.headers) > 0
}

// caller returns the caller that the flags describe. Its key is the user of this machine, so that
// uploads and idempotency keys are separate from those of the caller with the same subject on a
// server.
func (c *callerFlags) caller() (*mcp.Caller, error) {
	caller := &mcp.Caller{Revision: mcp.Revision20260728}
	if !c.isSet() {
		return caller, nil
	}
	claimTexts, err := splitPairs("claim", c.claims)
	if err != nil {
		return nil, err
	}
	headers, err := splitPairs("header", c.headers)
	if err != nil {
		return nil, err
	}
	claims := map[string]any{}
	for name, text := range claimTexts {
		claims[name] = text
		if v, err := value.Decode([]byte(text)); err == nil {
			claims[name] = v
		}
	}
	encoded, err := value.AppendJSON(nil, claims)
	if err != nil {
		return nil, misusef("the claims cannot be encoded as JSON: %s", err)
	}
	lower := make(map[string]string, len(headers))
	for name, text := range headers {
		lower[strings.ToLower(name)] = text
	}
	caller.Subject = c.subject
	caller.Identity = &mcp.Identity{
		Subject: c.subject, Key: localUser(), Groups: c.groups, Scopes: c.scopes, Claims: encoded, Headers: lower,
	}
	return caller, nil
}

// localUser returns the name of the user that runs this process, as in os:ann. It ignores the
// environment.
func localUser() string {
	id := strconv.Itoa(os.Getuid())
	if u, err := user.LookupId(id); err == nil {
		return "os:" + u.Username
	}
	return "os:" + id
}
