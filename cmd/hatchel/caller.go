package main

import (
	"maps"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/hcl/value"
	"hatchel/internal/printable"
	"hatchel/runtime/edge/mcp"
)

// callerHelp is the part about the flags in the help of the commands that make a request for a caller.
const callerHelp = `With --subject, --group, --scope, --claim and --header the request is made for that
caller, as on a server: scopes and policies apply. The audit log names the user of
this machine.`

// callerFlags are the flags that describe the caller of a request.
type callerFlags struct {
	Subject         string
	Groups, Scopes  []string
	Claims, Headers []string // name=value
}

func (c *callerFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&c.Subject, "subject", "", "`SUBJECT` of the caller, as in caller.subject")
	fs.StringArrayVar(&c.Groups, "group", nil, "`GROUP` of the caller; may be repeated")
	fs.StringArrayVar(&c.Scopes, "scope", nil, "`SCOPE` granted to the caller; may be repeated")
	fs.StringArrayVar(&c.Claims, "claim", nil,
		"claim of the caller's token, `NAME=VALUE`, parsed as JSON if possible; may be repeated")
	fs.StringArrayVar(&c.Headers, "header", nil, "header of the request, `NAME=VALUE`; may be repeated")
}

// IsSet reports whether any of the flags is set. Scopes are not checked for a caller that nothing
// describes.
func (c *callerFlags) IsSet() bool {
	return c.Subject != "" || len(c.Groups)+len(c.Scopes)+len(c.Claims)+len(c.Headers) > 0
}

// Caller returns the caller that the flags describe.
func (c *callerFlags) Caller() (*mcp.Caller, error) {
	caller := &mcp.Caller{Revision: mcp.Revision20260728, Operates: true}
	i, err := c.Identity()
	caller.SetIdentity(i)
	return caller, err
}

// Identity returns the identity that the flags describe; nil without flags. Its key is the user of this machine with
// the claims, because nobody else has verified them: tasks, uploads and idempotency keys are separate from those of the
// caller with the same subject on a server, and from those of a caller with other claims, such as another tenant.
func (c *callerFlags) Identity() (*mcp.Identity, error) {
	if !c.IsSet() {
		return nil, nil
	}
	claimTexts, err := splitPairs("claim", c.Claims)
	if err != nil {
		return nil, err
	}
	headers, err := splitPairs("header", c.Headers)
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
	key := localUser()
	if len(claims) > 0 {
		key += " " + string(encoded)
	}
	return &mcp.Identity{
		Subject: c.Subject, Key: key, Groups: c.Groups, Scopes: c.Scopes, Claims: encoded, Headers: lower,
	}, nil
}

// describeIdentity says as whom a client over stdio calls, after the words that it is served; nothing for nil.
func describeIdentity(i *mcp.Identity) string {
	if i == nil {
		return ""
	}
	who := "a caller without a subject"
	if i.Subject != "" {
		who = i.Subject
	}
	var facts []string
	if len(i.Groups) > 0 {
		facts = append(facts, "groups "+strings.Join(i.Groups, ", "))
	}
	if len(i.Scopes) > 0 {
		facts = append(facts, "scopes "+strings.Join(i.Scopes, ", "))
	}
	if string(i.Claims) != "{}" {
		facts = append(facts, "claims "+string(i.Claims))
	}
	if len(i.Headers) > 0 {
		facts = append(facts, "headers "+strings.Join(slices.Sorted(maps.Keys(i.Headers)), ", "))
	}
	if len(facts) > 0 {
		who += " (" + strings.Join(facts, "; ") + ")"
	}
	return printable.Line(" to " + who + ", as the command line says")
}

// callerFlagNames are the flags of callerFlags.
var callerFlagNames = []string{"subject", "group", "scope", "claim", "header"}

// localUser returns the name of the user that runs this process, as in os:ann. It ignores the
// environment.
func localUser() string {
	id := strconv.Itoa(os.Getuid())
	if u, err := user.LookupId(id); err == nil {
		return "os:" + u.Username
	}
	return "os:" + id
}

// splitPairs parses the values of a repeatable flag name=value.
func splitPairs(flag string, texts []string) (map[string]string, error) {
	pairs := make(map[string]string, len(texts))
	for _, text := range texts {
		name, value, err := splitPair(flag, text)
		if err != nil {
			return nil, err
		}
		pairs[name] = value
	}
	return pairs, nil
}

// splitPair parses a value of a flag name=value.
func splitPair(flag, text string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return "", "", misusef("--%s requires name=value, and got %q", flag, text)
	}
	return name, value, nil
}
