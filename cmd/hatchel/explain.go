package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hatchel/runtime"
	"hatchel/runtime/mcp"
)

// explaining are the flags of policy explain.
type explaining struct {
	loading
	posing
	of     map[string]*string // what is called: tool, prompt or resource
	args   []string
	object string
	asJSON bool
}

// kinds are what policies are about.
var kinds = []string{"tool", "prompt", "resource"}

func explainCommand() *cobra.Command {
	x := &explaining{of: map[string]*string{}}
	cmd := folderArg(&cobra.Command{
		Use:   "explain [DIR] --tool NAME [--subject S] [--group G ...] [--claim k=v ...] [--arg k=v ... | --args '{json}']",
		Short: "Say which rule decides about a call, which is not made",
		Long: `Say for a caller and a call which rule decides, what every rule says, what the caller would be told, and whether the tool is listed for
them. Nothing is called.

The exit code is 0 when the call is allowed, also when the verdict is approve, because somebody must agree to it first; 1 when it is
denied, and 2 when a rule reads inputs and those that were given are not valid.`,
		RunE: func(cmd *cobra.Command, args []string) error { return x.run(cmd, folderOf(args)) },
	})
	x.flags(cmd)
	f := cmd.Flags()
	for kind, doc := range map[string]string{"tool": "`name` of the tool that is called", "prompt": "`name` of the prompt that is chosen", "resource": "`URI` of the resource that is read"} {
		x.of[kind] = f.String(kind, "", doc)
	}
	x.posingFlags(cmd)
	f.StringArrayVar(&x.args, "arg", nil, "one argument, `name=value`; may be repeated, also with one name for a list")
	f.StringVar(&x.object, "args", "", "all arguments, as one JSON `object`")
	f.BoolVar(&x.asJSON, "json", false, "print the result as JSON")
	for _, kind := range kinds {
		cmd.RegisterFlagCompletionFunc(kind, func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return x.complete(cmd, kind, folderOf(args)), cobra.ShellCompDirectiveNoFileComp
		})
	}
	cmd.MarkFlagsMutuallyExclusive(kinds...)
	cmd.MarkFlagsOneRequired(kinds...)
	cmd.MarkFlagsMutuallyExclusive("arg", "args")
	return cmd
}

// complete are the names of a kind.
func (x *explaining) complete(cmd *cobra.Command, kind, dir string) (names []string) {
	x.completing(cmd, dir, func(g *runtime.Generation) {
		for _, r := range g.ListRules() {
			if r.Kind == kind {
				names = append(names, r.Name)
			}
		}
		if kind != "resource" {
			return
		}
		names = nil // a resource is read by its URI
		for _, r := range g.Config.Resources {
			if r.Template == nil {
				names = append(names, r.URI)
			}
		}
	})
	return names
}

func (x *explaining) run(cmd *cobra.Command, dir string) error {
	i := slices.IndexFunc(kinds, func(kind string) bool { return *x.of[kind] != "" })
	if i < 0 {
		return misusef("name what is called: --tool, --prompt or --resource")
	}
	kind, name := kinds[i], *x.of[kinds[i]]
	caller, err := x.caller()
	if err != nil {
		return err
	}
	g, err := x.ready(cmd.Context(), dir, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer g.Close()
	req := &mcp.CallRequest{Name: name, Caller: caller}
	if req.Arguments, err = x.given(g, kind, name, dir); err != nil {
		return err
	}
	e, err := g.Explain(cmd.Context(), kind, req)
	if err != nil {
		return refused(err)
	}
	for i := range e.Rules {
		e.Rules[i].Range = seen(dir, e.Rules[i].Range)
	}
	if x.asJSON {
		err = printJSON(cmd.OutOrStdout(), e)
	} else {
		err = printExplanation(cmd.OutOrStdout(), kind, name, e)
	}
	if err != nil {
		return err
	}
	return x.outcome(e)
}

// outcome is what the exit code says.
func (x *explaining) outcome(e runtime.Explanation) error {
	switch {
	case e.Verdict == "denied":
		return &failure{code: checkFailed}
	case e.Verdict == "":
		return misusef("a rule reads inputs, and those that were given are not valid: give them with --arg")
	}
	return nil
}

// given are the arguments of the call.
func (x *explaining) given(g *runtime.Generation, kind, name, dir string) ([]byte, error) {
	switch {
	case kind == "resource" && (x.object != "" || len(x.args) > 0):
		return nil, misusef("what a resource is read with stands in its URI")
	case x.object != "":
		return object([]byte(x.object))
	case kind == "tool":
		p, ok := g.Program(name)
		if !ok {
			return nil, absent("tool", name, dir, g.Names())
		}
		return (&calling{args: x.args}).named(p, nil)
	}
	return texts(x.args)
}

// texts makes the object of the arguments of a prompt.
func texts(args []string) ([]byte, error) {
	given, err := pairs("arg", args)
	if err != nil {
		return nil, err
	}
	return json.Marshal(given)
}

// pairs reads name=value of a flag that may be repeated.
func pairs(flag string, written []string) (map[string]string, error) {
	m := make(map[string]string, len(written))
	for _, w := range written {
		name, text, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return nil, misusef("--%s takes name=value, and got %q", flag, w)
		}
		m[name] = text
	}
	return m, nil
}

// printExplanation says what decides, and then what every rule says.
func printExplanation(w io.Writer, kind, name string, e runtime.Explanation) error {
	switch e.Verdict {
	case "":
		fmt.Fprintf(w, "%s %s: depends on its inputs\n", kind, name)
	default:
		fmt.Fprintf(w, "%s %s: %s by %s\n", kind, name, e.Verdict, e.Rule)
	}
	if e.Message != "" {
		fmt.Fprintf(w, "told: %s\n", strings.ReplaceAll(e.Message, "\n", "\n      "))
	}
	if e.Invalid != "" {
		fmt.Fprintf(w, "inputs: %s\n", strings.ReplaceAll(e.Invalid, "\n", "\n        "))
	}
	fmt.Fprintf(w, "listed: %s\n", map[bool]string{true: "yes", false: "no"}[e.Listed])
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range e.Rules {
		says := r.Says
		switch says {
		case "":
			says = "reads inputs"
		case "error":
			says = "error: " + r.Error
		}
		fmt.Fprintf(out, "  %s\t%s\t%s\t%s\n", r.Rule, says, oneLine(r.Program), place(r.Range))
	}
	return out.Flush()
}
