package main

import (
	"slices"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/exit"
	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/load/access"
)

func policyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Show which policies apply",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return misusef("policy requires a subcommand: list, explain or matrix")
		},
	}
	cmd.AddCommand(policyListCommand(), explainCommand(), matrixCommand())
	return cmd
}

func policyListCommand() *cobra.Command {
	l := loadFlags{inspect: true}
	var asJSON bool
	cmd := folderArg(&cobra.Command{
		Use:   "list [DIR]",
		Short: "List the policy rules for every tool, prompt and resource",
		Long: `List every tool, prompt and resource of a configuration directory with the policy
rules that apply to it, in the order of evaluation.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			g, err := l.mustCompile(cmd.Context(), folderOf(cmd, args), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer g.Close()
			targets := g.ListRules()
			for _, target := range targets {
				for i := range target.Rules {
					target.Rules[i].Range = prefixPath(folderOf(cmd, args), target.Rules[i].Range)
				}
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), targets)
			}
			return printRules(console.Shown(cmd.OutOrStdout()), targets)
		},
	})
	l.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON")
	return cmd
}

// explainFlags are the flags of policy explain.
type explainFlags struct {
	loadFlags
	callerFlags
	targets map[string]*string // by kind: tool, prompt or resource
	args    []string
	object  string
	asJSON  bool
}

// policyKinds are the kinds that policies apply to.
var policyKinds = []string{"tool", "prompt", "resource"}

func explainCommand() *cobra.Command {
	f := &explainFlags{targets: map[string]*string{}, loadFlags: loadFlags{inspect: true}}
	cmd := folderArg(&cobra.Command{
		Use:   "explain [DIR] (--tool NAME | --prompt NAME | --resource URI)",
		Short: "Explain which rule decides about a call",
		Long: `Explain for a caller and a call which rule decides, what every rule says, what the
caller is told, whether the tool is listed for them, and what they see of the members that
masks name. The call is not made.

The exit code is 0 when the call is allowed or requires an approval, 1 when it is
denied, and 2 when a rule reads inputs and the given inputs are not valid.`,
		Example: `  hatchel policy explain ./tools --tool refund --subject ann --group billing
  hatchel policy explain ./tools --tool refund --args '{"amount": 500}'`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, folderOf(cmd, args)) },
	})
	f.loadFlags.register(cmd)
	fs := cmd.Flags()
	f.targets["tool"] = fs.String("tool", "", "`NAME` of the tool")
	f.targets["prompt"] = fs.String("prompt", "", "`NAME` of the prompt")
	f.targets["resource"] = fs.String("resource", "", "`URI` of the resource, or of a file of a skill")
	f.callerFlags.register(cmd)
	fs.StringArrayVar(&f.args, "arg", nil, "argument of the call, `NAME=VALUE`; repeat a name for a list")
	fs.StringVar(&f.object, "args", "", "all arguments as one `JSON` object")
	fs.BoolVar(&f.asJSON, "json", false, "print the result as JSON")
	for _, kind := range policyKinds {
		complete := func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			names := func(g *runtime.Generation) []string { return targetNames(g, kind) }
			return f.complete(cmd, folderOf(cmd, args), names), cobra.ShellCompDirectiveNoFileComp
		}
		cmd.RegisterFlagCompletionFunc(kind, complete)
	}
	cmd.MarkFlagsMutuallyExclusive(policyKinds...)
	cmd.MarkFlagsOneRequired(policyKinds...)
	cmd.MarkFlagsMutuallyExclusive("arg", "args")
	return cmd
}

// targetNames returns the values of --tool, --prompt or --resource.
func targetNames(g *runtime.Generation, kind string) (names []string) {
	if kind == "resource" {
		for _, r := range g.Config.Resources {
			if r.Template == nil {
				names = append(names, r.URI)
			}
		}
		return names
	}
	for _, target := range g.ListRules() {
		if target.Kind == kind {
			names = append(names, target.Name)
		}
	}
	return names
}

func (f *explainFlags) run(cmd *cobra.Command, dir string) error {
	at := slices.IndexFunc(policyKinds, func(kind string) bool { return *f.targets[kind] != "" })
	if at < 0 {
		return misusef("explain requires --tool, --prompt or --resource")
	}
	kind, name := policyKinds[at], *f.targets[policyKinds[at]]
	caller, err := f.Caller()
	if err != nil {
		return err
	}
	g, err := f.mustCompile(cmd.Context(), dir, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer g.Close()
	req := &mcp.CallRequest{Name: name, Caller: caller}
	if req.Arguments, err = f.arguments(g, kind, name, dir); err != nil {
		return err
	}
	e, err := g.Explain(cmd.Context(), kind, req)
	if err != nil {
		return protocolFailure(err)
	}
	for i := range e.Rules {
		e.Rules[i].Range = prefixPath(dir, e.Rules[i].Range)
	}
	identities := access.NewIdentities(g.Config).Of(declaredOperation(g, kind, name), caller)
	masks := access.Masks(declaredTarget(g, kind, name), access.OfCaller("", caller))
	for i := range masks {
		masks[i].Range = prefixPath(dir, masks[i].Range)
		if masks[i].Rule != nil {
			masks[i].Rule.Range = masks[i].Range
		}
	}
	if f.asJSON {
		err = printJSON(cmd.OutOrStdout(), struct {
			call.Explanation
			Identities []access.Identity `json:"identities,omitempty"`
			Masks      []access.Mask     `json:"masks,omitempty"`
		}{e, identities, masks})
	} else {
		err = printExplanation(console.Shown(cmd.OutOrStdout()), kind, name, e, identities, masks)
	}
	switch {
	case err != nil:
		return err
	case e.Verdict == "denied":
		return &exit.Error{Code: exit.Failed}
	case e.Verdict == "":
		return misusef("a rule reads inputs, and the given inputs are not valid: give them with --arg")
	}
	return nil
}

// declaredTarget returns the tool, the prompt or the resource that Explain has found, as a target of rules.
func declaredTarget(g *runtime.Generation, kind, name string) access.Target {
	switch kind {
	case "tool":
		p, _ := g.Program(name)
		return access.ToolTarget(p.Tool())
	case "prompt":
		return access.PromptTarget(g.Views.Full.Prompts[name].Prompt)
	}
	r, _ := g.Views.Full.Resource(name)
	return access.ResourceTarget(r.Resource)
}

// declaredOperation returns the tool, the prompt or the resource that Explain has found.
func declaredOperation(g *runtime.Generation, kind, name string) *hcl.Operation {
	switch kind {
	case "tool":
		p, _ := g.Program(name)
		return &p.Tool().Operation
	case "prompt":
		return g.Views.Full.Prompts[name].Decl
	}
	r, _ := g.Views.Full.Resource(name)
	return r.Decl
}

// arguments returns the arguments of the call.
func (f *explainFlags) arguments(g *runtime.Generation, kind, name, dir string) ([]byte, error) {
	switch {
	case kind == "resource" && (f.object != "" || len(f.args) > 0):
		return nil, misusef("a resource takes its arguments from its URI")
	case f.object != "":
		return checkObject([]byte(f.object))
	case kind == "tool":
		p, ok := g.Program(name)
		if !ok {
			return nil, notFound("tool", name, dir, g.Names())
		}
		return argumentObject(p, f.args, nil)
	}
	return promptArguments(f.args)
}

// matrixFlags are the flags of policy matrix.
type matrixFlags struct {
	loadFlags
	callerFlags
	format string
}

func matrixCommand() *cobra.Command {
	f := &matrixFlags{loadFlags: loadFlags{inspect: true}}
	cmd := folderArg(&cobra.Command{
		Use:   "matrix [DIR]",
		Short: "Show which callers may call which tools, and what masks show them",
		Long: `Show for every tool whether each caller may call it: yes, no, depends (on the input)
or approval (after the call is approved). A second table has for every mask what each
caller sees: shown, partial, hash, hidden or depends (on the tool). No call is made.

The matrix has a column for a caller in no group, for each group and subject that the
rules and keys name, and for each API key. With --group it has a column for each --group
instead; finance+board is a caller in both groups. A caller without an API key has all
scopes, unless --scope is given. The other flags apply to all callers.`,
		Example: `  hatchel policy matrix ./tools
  hatchel policy matrix ./tools --group finance --group finance+board --format markdown`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, folderOf(cmd, args)) },
	})
	f.loadFlags.register(cmd)
	f.callerFlags.register(cmd)
	cmd.Flags().Lookup("group").Usage = "show only a caller in this `GROUP`, or in several joined with +; " +
		"may be repeated"
	cmd.Flags().StringVar(&f.format, "format", "text", "`FORMAT` of the output: text, json or markdown")
	completeWords(cmd, "format", "text", "json", "markdown")
	return cmd
}

func (f *matrixFlags) run(cmd *cobra.Command, dir string) error {
	caller, err := f.Caller()
	if err != nil {
		return err
	}
	g, err := f.mustCompile(cmd.Context(), dir, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer g.Close()
	callers := access.Callers(g.Config, caller.Identity)
	if len(f.Groups) > 0 {
		callers = access.InGroups(g.Config, f.Groups, caller.Identity)
	}
	m := access.New(g.Config, callers)
	switch f.format {
	case "text":
		return m.Text(console.Shown(cmd.OutOrStdout()))
	case "json":
		return printJSON(cmd.OutOrStdout(), m)
	case "markdown":
		return m.Markdown(console.Shown(cmd.OutOrStdout()))
	}
	return misusef("--format must be text, json or markdown, and is %q", f.format)
}
