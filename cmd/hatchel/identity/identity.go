// Package identity makes the callers that the command line describes.
package identity

import (
	"os"
	"os/user"
	"strconv"
	"strings"

	"hatchel/cmd/hatchel/exit"
	"hatchel/hcl/value"
	"hatchel/runtime/mcp"
)

// Flags describe the caller of a request.
type Flags struct {
	Subject         string
	Groups, Scopes  []string
	Claims, Headers []string // name=value
}

// IsSet reports whether any of the flags is set. Scopes are not checked for a caller that nothing
// describes.
func (c *Flags) IsSet() bool {
	return c.Subject != "" || len(c.Groups)+len(c.Scopes)+len(c.Claims)+len(c.Headers) > 0
}

// Caller returns the caller that the flags describe. Its key is the user of this machine, so that
// uploads and idempotency keys are separate from those of the caller with the same subject on a
// server. Errors are those of package exit.
func (c *Flags) Caller() (*mcp.Caller, error) {
	caller := &mcp.Caller{Revision: mcp.Revision20260728, Operates: true}
	if !c.IsSet() {
		return caller, nil
	}
	claimTexts, err := SplitPairs("claim", c.Claims)
	if err != nil {
		return nil, err
	}
	headers, err := SplitPairs("header", c.Headers)
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
		return nil, exit.Misusef("the claims cannot be encoded as JSON: %s", err)
	}
	lower := make(map[string]string, len(headers))
	for name, text := range headers {
		lower[strings.ToLower(name)] = text
	}
	caller.Subject = c.Subject
	caller.Identity = &mcp.Identity{
		Subject: c.Subject, Key: LocalUser(), Groups: c.Groups, Scopes: c.Scopes, Claims: encoded, Headers: lower,
	}
	return caller, nil
}

// LocalUser returns the name of the user that runs this process, as in os:ann. It ignores the
// environment.
func LocalUser() string {
	id := strconv.Itoa(os.Getuid())
	if u, err := user.LookupId(id); err == nil {
		return "os:" + u.Username
	}
	return "os:" + id
}

// SplitPairs parses the values of a repeatable flag name=value. Errors are those of package exit.
func SplitPairs(flag string, texts []string) (map[string]string, error) {
	pairs := make(map[string]string, len(texts))
	for _, text := range texts {
		name, value, err := SplitPair(flag, text)
		if err != nil {
			return nil, err
		}
		pairs[name] = value
	}
	return pairs, nil
}

// SplitPair parses a value of a flag name=value. Errors are those of package exit.
func SplitPair(flag, text string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return "", "", exit.Misusef("--%s requires name=value, and got %q", flag, text)
	}
	return name, value, nil
}
