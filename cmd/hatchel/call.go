package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"hatchel/hcl/jsonscan"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/runtime"
	"hatchel/runtime/files"
	"hatchel/runtime/mcp"
)

// calling are the flags of call.
type calling struct {
	loading
	asking
	approving
	posing
	dir    string
	args   []string
	dryRun bool
	asJSON bool
}

func callCommand() *cobra.Command {
	c := new(calling)
	cmd := &cobra.Command{
		Use:   "call [-C DIR] TOOL ['{json}' | --arg k=v ... | -] [--subject S] [--group G ...] [--claim k=v ...] [--answer key=JSON ...]",
		Short: "Call one tool of a folder",
		Long: `Call one tool of a folder and print its answer. Arguments are one JSON object, or --arg name=value for each, or - for a JSON object on
standard input.

With --dry-run nothing is sent: it shows exactly what would be, the SQL text with its bound values, the request line, headers (secrets
hidden) and body, or the words of a command. It says which approvals a call would need.

With --subject, --group, --scope, --claim and --header the call is made as a server makes it for such a caller: scopes and policies decide
about it, and tools read who calls. The audit log says that the user of this machine has made it. What a server keeps for a caller of this
name, as uploaded files and the answers of calls with a key, is not theirs here.

Nothing is remembered from one call to the next: made again with the same idempotency_key it is carried out again.

What needs an approval is shown on a terminal, and asked about there. Elsewhere it takes --approve.

` + askedHelp,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return errors.New("call takes the name of a tool")
			case len(args) > 2:
				return fmt.Errorf("call takes the name of a tool and one JSON object, and got %d words more: quote the object for the shell", len(args)-2)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return c.complete(cmd, args), cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.flags(cmd)
	f := cmd.Flags()
	f.StringVarP(&c.dir, "dir", "C", ".", "`folder` of the tool")
	f.StringArrayVar(&c.args, "arg", nil, "one argument, `name=value`, or name=@path for an input that takes a file; may be repeated, also with one name for a list")
	c.posingFlags(cmd)
	c.answerFlag(cmd)
	c.approveFlag(cmd)
	f.BoolVar(&c.dryRun, "dry-run", false, "show what would be sent, and send nothing")
	f.BoolVar(&c.asJSON, "json", false, "print the result of tools/call as JSON")
	cmd.MarkFlagDirname("dir")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "json")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "answer")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "approve")
	cmd.RegisterFlagCompletionFunc("arg", func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return c.completeArg(cmd, args), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
	return cmd
}

func (c *calling) complete(cmd *cobra.Command, args []string) (names []string) {
	if len(args) > 0 {
		return nil
	}
	c.completing(cmd, c.dir, func(g *runtime.Generation) {
		for _, t := range g.Config.Tools {
			names = append(names, cobra.CompletionWithDesc(t.Name, firstLine(t.Description)))
		}
	})
	return names
}

// completeArg are the inputs of the tool that was named.
func (c *calling) completeArg(cmd *cobra.Command, args []string) (names []string) {
	if len(args) == 0 {
		return nil
	}
	c.completing(cmd, c.dir, func(g *runtime.Generation) {
		if p, ok := g.Program(args[0]); ok {
			for _, m := range p.Tool().Input.Members {
				names = append(names, cobra.CompletionWithDesc(m.Name+"=", m.Type.Description))
			}
		}
	})
	return names
}

func (c *calling) run(cmd *cobra.Command, args []string) error {
	if len(args) == 2 && len(c.args) > 0 {
		return misusef("give the arguments as JSON or with --arg, not both")
	}
	ctx := cmd.Context()
	if !c.dryRun {
		c.audits = audits(cmd)
	}
	g, err := c.ready(ctx, c.dir, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer g.Close()
	p, ok := g.Program(args[0])
	if !ok {
		return absent("tool", args[0], c.dir, g.Names())
	}
	caller, err := c.caller()
	if err != nil {
		return err
	}
	if c.posed() {
		caller.ClientInfo = jsonscan.AppendString([]byte(`{"name":"hatchel call","version":`), release())
		caller.ClientInfo = append(caller.ClientInfo, '}')
	}
	arguments, err := c.arguments(cmd, p, args[1:], func(name string) (any, error) { return giveFile(ctx, g, caller.Owner(), name) })
	if err != nil {
		return err
	}
	if c.dryRun {
		return c.plan(cmd, p, caller, arguments)
	}
	talk, err := c.interview(cmd, &p.Tool().Operation)
	if err != nil {
		return err
	}
	talk.caller = caller
	var out mcp.Outcome
	err = talk.conduct(ctx, arguments, func(req *mcp.CallRequest) (_ *mcp.Questions, err error) {
		clear := sync.OnceFunc(spin(cmd.ErrOrStderr(), "calling "+req.Name))
		defer clear()
		out, err = p.RunToEnd(c.approver(ctx, talk.form, clear), req)
		return out.Questions, c.concealed(p, err)
	})
	if err != nil {
		return err
	}
	return c.print(cmd, out, talk)
}

// plan shows what would be sent.
func (c *calling) plan(cmd *cobra.Command, p *runtime.Program, caller *mcp.Caller, arguments []byte) error {
	if !c.posed() {
		caller = nil
	}
	plan, err := p.Plan(cmd.Context(), caller, arguments)
	if err != nil {
		return c.concealed(p, failf("%s", err))
	}
	fmt.Fprint(cmd.OutOrStdout(), plan)
	return nil
}

// concealed says to who operates the server what the answer does not say: that the tool is there, and not for this caller.
func (c *calling) concealed(p *runtime.Program, err error) error {
	name := p.Tool().Name
	if unknown := mcp.UnknownTool(name); err == nil || err.Error() != unknown.Error() && err.Error() != unknown.Message {
		return err
	}
	return failf("Unknown tool: %s. That is what this caller is answered: the tool is there, and not for them. hatchel policy explain %s --tool %s, with the same --subject and --group, says which rule decides", name, c.dir, name)
}

// arguments are the object that a client would send.
func (c *calling) arguments(cmd *cobra.Command, p *runtime.Program, args []string, give giving) ([]byte, error) {
	switch {
	case len(args) == 0:
		return c.named(p, give)
	case args[0] == "-":
		src, err := io.ReadAll(cmd.InOrStdin())
		if err != nil {
			return nil, failf("standard input cannot be read: %s", reason(err))
		}
		return object(src)
	}
	return object([]byte(args[0]))
}

func object(src []byte) ([]byte, error) {
	v, err := value.Decode(src)
	if err != nil {
		return nil, misusef("the arguments are not JSON: %s", err)
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, misusef("the arguments are one JSON object, as in '{\"id\": 42}'")
	}
	return src, nil
}

// giving makes a file of this machine one that a call can name, and returns what names it.
type giving func(name string) (any, error)

// giveFile uploads a file of an owner for the calls of a generation.
func giveFile(ctx context.Context, g *runtime.Generation, owner, name string) (any, error) {
	in, err := os.Open(name)
	if err != nil {
		return nil, misusef("%s cannot be read: %s", name, reason(err))
	}
	defer in.Close()
	f, err := g.UploadLocal(ctx, files.Upload{Owner: owner, Name: filepath.Base(name), Type: mime.TypeByExtension(filepath.Ext(name)), Length: -1}, in)
	if err != nil {
		return nil, failf("%s cannot be given to the tool: %s", name, err)
	}
	return map[string]any{"file_id": f.ID}, nil
}

// named makes the object of --arg name=value, or of name=@file for a file.
func (c *calling) named(p *runtime.Program, give giving) ([]byte, error) {
	values, repeated := map[string]any{}, map[string][]any{}
	for _, arg := range c.args {
		name, text, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, misusef("--arg takes name=value, and got %q", arg)
		}
		var t *schema.Type
		if m, ok := p.Tool().Input.Lookup(name); ok {
			t = m.Type
		}
		v, isList := typed(t, text)
		if path, isPath := strings.CutPrefix(text, "@"); isPath && isFile(t) && give != nil {
			var err error
			if v, err = give(path); err != nil {
				return nil, err
			}
		}
		repeated[name] = append(repeated[name], v)
		values[name] = v
		if len(repeated[name]) > 1 || (isSeveral(t) && !isList) {
			values[name] = repeated[name]
		}
	}
	out, err := value.AppendJSON(nil, values)
	if err != nil {
		return nil, misusef("the arguments cannot be written as JSON: %s", err)
	}
	return out, nil
}

// typed reads what was written for an input: a text where it takes one, otherwise JSON where it is JSON. For a list it is the whole list or one element.
func typed(t *schema.Type, text string) (v any, isList bool) {
	if isSeveral(t) {
		if v, err := value.Decode([]byte(text)); err == nil {
			if _, isList := v.([]any); isList {
				return v, true
			}
		}
		t = t.Elem
	}
	if t != nil && t.Kind == schema.String {
		return text, false
	}
	if v, err := value.Decode([]byte(text)); err == nil {
		return v, false
	}
	return text, false
}

// isFile reports whether an input takes a file, or several.
func isFile(t *schema.Type) bool {
	return t != nil && (t.Kind == schema.File || isSeveral(t) && t.Elem.Kind == schema.File)
}

func isSeveral(t *schema.Type) bool {
	return t != nil && (t.Kind == schema.List || t.Kind == schema.Set)
}

// print shows the answer; that of a failed call on standard error.
func (c *calling) print(cmd *cobra.Command, out mcp.Outcome, talk *interview) error {
	result := out.AppendResult(nil, mcp.Revision20260728)
	var said struct{ Content []block }
	if err := json.Unmarshal(result, &said); err != nil {
		return failf("the answer cannot be read: %s", err)
	}
	to := cmd.OutOrStdout()
	if out.IsError && !c.asJSON {
		to = cmd.ErrOrStderr()
	}
	var text strings.Builder
	for _, b := range said.Content {
		text.WriteString(b.Text)
		if !c.asJSON {
			b.print(to)
		}
	}
	if c.asJSON {
		fmt.Fprintf(to, "%s\n", result)
	}
	if out.IsError {
		return talk.explained(&failure{code: checkFailed}, text.String())
	}
	return nil
}
