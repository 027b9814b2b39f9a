package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/hcl/value"
	"hatchel/runtime/logging"
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

// logFlags are the flags for the log that a server writes to standard error.
type logFlags struct {
	level  string
	format string
}

func (l *logFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.level, "log-level", "info", "minimum `LEVEL` of log lines: debug, info, warn or error")
	cmd.Flags().StringVar(&l.format, "log-format", "text", "`FORMAT` of log lines: text or json")
	completeWords(cmd, "log-level", logging.Levels...)
	completeWords(cmd, "log-format", "text", "json")
}

func completeWords(cmd *cobra.Command, flag string, words ...string) {
	cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func (l *logFlags) isText() bool { return l.format == "text" }

// announce writes a line at every log level.
func (l *logFlags) announce(log *logging.Log, stderr io.Writer, line string) {
	if l.isText() {
		fmt.Fprintln(stderr, line)
		return
	}
	log.Announce(line)
}

// logFailure writes the text of an error to a JSON log, and returns the error without it.
func (l *logFlags) logFailure(ctx context.Context, log *logging.Log, err error) error {
	var exit *exitError
	if l.isText() || !errors.As(err, &exit) || exit.text == "" {
		return err
	}
	log.ErrorContext(ctx, "hatchel: "+exit.text)
	return &exitError{code: exit.code}
}

func (l *logFlags) logger(stderr io.Writer) (*logging.Log, error) {
	level, ok := logging.ParseLevel(l.level)
	if !ok {
		return nil, misusef("--log-level must be debug, info, warn or error, and is %q", l.level)
	}
	switch l.format {
	case "text":
		return logging.New(stderr, logging.Text, level), nil
	case "json":
		return logging.New(stderr, logging.JSON, level), nil
	}
	return nil, misusef("--log-format must be text or json, and is %q", l.format)
}
