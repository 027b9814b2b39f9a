package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/exit"
	"hatchel/hcl/jsonscan"
	"hatchel/runtime"
	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
)

// callFlags are the flags of call.
type callFlags struct {
	requestFlags
	answerFlags
	callerFlags
	serverFlag
	args   []string
	dryRun bool
	trace  bool
	full   bool // the texts of a trace are not cut
}

func callCommand() *cobra.Command {
	f := new(callFlags)
	cmd := &cobra.Command{
		Use:   "call [DIR] TOOL [NAME=VALUE... | JSON | -]",
		Short: "Call a tool",
		Long: `Call a tool of a configuration directory and print its result. The arguments are
NAME=VALUE for each, or one JSON object, or - for a JSON object on standard input.

The type of the input says how a VALUE is read: for a string it is the text as it is,
also with an = in it; for other types it is JSON, as in amount=5, urgent=true and
'customer={"id": 7}'. Repeat a name for a list, as in tag=new tag=paid. @FILE is a file
of this machine, for an input that takes one. --arg NAME=VALUE is the same.

With --dry-run nothing is sent. The command prints what would be sent: the SQL
statement with its values, the HTTP request with hidden secrets, or the arguments of
a program; and the approvals that the call would require.

With --trace the command also prints, to standard error, what each step sends and
receives, how often it tries, how long it takes, and the standard error of programs.
A program that fails is shown with its place in the file, the element and the values.
Secrets and sensitive inputs are hidden. With --json the member stderr has what the
programs have written to their standard error, by step.

` + callerHelp + ` Uploads and idempotency keys of a caller on a server are not available.

No state is kept between calls: a second call with the same idempotency key runs
again, and the cursor of a page is valid only for calls with --server.

A call that goes on after failures (on_error = "continue") prints the first one to
standard error, and the exit code is 3.

A call that requires an approval shows its effect on the terminal and asks. Without a
terminal, use --approve.

` + answerHelp + serverHelp,
		Example: `  hatchel call greet name=Ada
  hatchel call --server http://127.0.0.1:8080 greet name=Ada
  hatchel call -C ./tools refund order=42 reason='Never arrived' --dry-run
  hatchel call -C ./tools refund '{"order": 42}' --subject ann --group billing`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("call requires the name of a tool")
			}
			return checkWords(args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	completeTool := f.completions(&f.dir, func(g *runtime.Generation) (names []string) {
		for _, t := range g.Config.Tools {
			names = append(names, cobra.CompletionWithDesc(t.Name, console.FirstLine(t.Description)))
		}
		return names
	})
	cmd.ValidArgsFunction = func(
		cmd *cobra.Command, args []string, word string,
	) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return f.completeArg(cmd, args, word)
		}
		return completeTool(cmd, args, word)
	}
	f.requestFlags.register(cmd, "tools/call")
	fs := cmd.Flags()
	fs.StringArrayVar(&f.args, "arg", nil,
		"argument of the tool, `NAME=VALUE`, as without the flag")
	f.registerServer(cmd)
	f.callerFlags.register(cmd)
	f.answerFlags.register(cmd)
	fs.BoolVar(&f.dryRun, "dry-run", false, "print what would be sent, and send nothing")
	fs.BoolVar(&f.trace, "trace", false, "print what each step sends and receives, and where programs fail")
	fs.BoolVar(&f.full, "full", false, "with --trace, print texts of more than 4 KiB whole")
	for _, name := range []string{"json", "answer", "approve", "trace"} {
		cmd.MarkFlagsMutuallyExclusive("dry-run", name)
	}
	cmd.RegisterFlagCompletionFunc("arg", f.completeArg)
	return leadingDir(cmd, func(args []string) bool {
		return !cmd.Flags().Changed("dir") && leadsWithDir(args)
	})
}

// completeArg completes the inputs of the tool.
func (f *callFlags) completeArg(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	names := f.complete(cmd, f.dir, func(g *runtime.Generation) (names []string) {
		if len(args) == 0 {
			return nil
		}
		if p, ok := g.Program(args[0]); ok {
			for _, m := range p.Tool().Input.Members {
				names = append(names, cobra.CompletionWithDesc(m.Name+"=", m.Type.Description))
			}
		}
		return names
	})
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func (f *callFlags) run(cmd *cobra.Command, args []string) error {
	if len(args) == 2 && isObject(args[1]) && len(f.args) > 0 {
		return errTwoNotations
	}
	ctx := cmd.Context()
	if f.server != "" {
		return f.callServer(cmd, args)
	}
	if !f.dryRun {
		f.audits = commandAudits(cmd)
	}
	g, err := f.mustCompile(ctx, f.dir, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer g.Close()
	program, ok := g.Program(args[0])
	if !ok {
		return notFound("tool", args[0], f.dir, g.Names())
	}
	caller, err := f.Caller()
	if err != nil {
		return err
	}
	if f.IsSet() {
		caller.ClientInfo = jsonscan.AppendString([]byte(`{"name":"hatchel call","version":`), release())
		caller.ClientInfo = append(caller.ClientInfo, '}')
	}
	arguments, err := f.arguments(cmd, program, args[1:], func(name string) (any, error) {
		return uploadFile(ctx, g, caller.Owner(), name)
	})
	if err != nil {
		return err
	}
	if f.dryRun {
		return f.printPlan(cmd, program, caller, arguments)
	}
	p, err := f.prompter(cmd, &program.Tool().Operation)
	if err != nil {
		return err
	}
	tracer, err := f.tracer(cmd)
	if err != nil {
		return err
	}
	var out mcp.Outcome
	err = p.Run(ctx, caller, arguments, func(req *mcp.CallRequest) (_ *mcp.Questions, err error) {
		stop := console.ShowSpinner(cmd.ErrOrStderr(), "calling "+req.Name)
		defer stop()
		out, err = program.RunToEnd(f.withApprover(ctx, p.Terminal, stop), req, tracer)
		return out.Questions, protocolFailure(f.explainNotVisible(program, err))
	})
	if err != nil {
		f.printCause(cmd.ErrOrStderr(), err.Error())
		return failf("%s", err)
	}
	return f.print(cmd, out, p, tracer)
}

const maxTracedText = 4 << 10 // bytes

// tracer returns what prints the steps of the call, and with --json collects the error output of programs; nil without
// both.
func (f *callFlags) tracer(cmd *cobra.Command) (*call.Tracer, error) {
	t := &call.Tracer{Out: cmd.ErrOrStderr(), Dir: f.dir, MaxText: maxTracedText}
	switch {
	case f.full && !f.trace:
		return nil, misusef("--full requires --trace")
	case !f.trace && f.asJSON:
		t.Out = io.Discard
	case !f.trace:
		return nil, nil
	case f.full:
		t.MaxText = 0
	}
	return t, nil
}

func (f *callFlags) printPlan(cmd *cobra.Command, program *call.Program, caller *mcp.Caller, arguments []byte) error {
	if !f.IsSet() {
		caller = nil
	}
	plan, err := program.Plan(cmd.Context(), caller, arguments)
	if err != nil {
		return failf("%s", f.explainNotVisible(program, err))
	}
	fmt.Fprint(console.Shown(cmd.OutOrStdout()), plan)
	return nil
}

// explainNotVisible replaces the error for a tool that is not visible to the caller, which a server
// reports as unknown.
func (f *callFlags) explainNotVisible(program *call.Program, err error) error {
	if !mcp.IsUnknown(err) {
		return err
	}
	name := program.Tool().Name
	return failf("Unknown tool: %s. This is what the caller gets: the tool exists, but is not visible to them. "+
		"hatchel policy explain %s --tool %s with the same --subject, --group and --claim shows which rule decides",
		name, f.dir, name)
}

// print prints a result; the result of a failed call goes to standard error.
func (f *callFlags) print(cmd *cobra.Command, out mcp.Outcome, p *prompter, tracer *call.Tracer) error {
	w := cmd.OutOrStdout()
	if out.IsError && !f.asJSON {
		w = cmd.ErrOrStderr()
	}
	var stderr []byte
	if f.asJSON {
		if written := tracer.Stderr(); len(written) > 0 {
			stderr, _ = json.Marshal(written) // texts always can be
		}
	}
	text, failures, err := printResult(w, out, f.asJSON, stderr)
	if err == nil {
		defer f.printCause(cmd.ErrOrStderr(), text+failures)
	}
	switch {
	case err != nil:
		return failf("%s", err)
	case out.IsError:
		return &exit.Error{Code: exit.Failed, Text: p.Hint(text)}
	}
	return partlyFailed(cmd.ErrOrStderr(), failures, f.asJSON)
}
