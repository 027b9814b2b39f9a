package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/console"
	"hatchel/hcl"
	"hatchel/internal/printable"
	"hatchel/runtime"
	"hatchel/runtime/edge/mcp"
)

// promptFlags are the flags of prompt.
type promptFlags struct {
	requestFlags
	answerFlags
	callerFlags
	args []string
}

func promptCommand() *cobra.Command {
	f := new(promptFlags)
	cmd := &cobra.Command{
		Use:   "prompt [DIR] NAME [NAME=VALUE]...",
		Short: "Get the messages of a prompt",
		Long: "Get the messages of a prompt of a configuration directory. Its arguments are texts, given as\n" +
			"NAME=VALUE, or with --arg NAME=VALUE.\n\n" + callerHelp + "\n\n" + answerHelp,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("prompt requires the name of a prompt")
			}
			for _, word := range args[1:] {
				if isObject(word) {
					return errors.New("the arguments of a prompt are texts: write NAME=VALUE for each")
				}
			}
			return checkWords(args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.args = slices.Concat(args[1:], f.args)
			return f.run(cmd, args[0])
		},
		ValidArgsFunction: f.completions(&f.dir, func(g *runtime.Generation) (names []string) {
			for _, p := range g.Config.Prompts {
				names = append(names, cobra.CompletionWithDesc(p.Name, console.FirstLine(p.Description)))
			}
			return names
		}),
	}
	f.requestFlags.register(cmd, "prompts/get")
	cmd.Flags().StringArrayVar(&f.args, "arg", nil, "argument of the prompt, `NAME=VALUE`, as without the flag")
	f.callerFlags.register(cmd)
	f.answerFlags.register(cmd)
	return leadingDir(cmd, func(args []string) bool {
		return !cmd.Flags().Changed("dir") && leadsWithDir(args)
	})
}

func (f *promptFlags) run(cmd *cobra.Command, name string) error {
	arguments, err := promptArguments(f.args)
	if err != nil {
		return err
	}
	caller, err := f.Caller()
	if err != nil {
		return err
	}
	f.audits = commandAudits(cmd)
	g, err := f.mustCompile(cmd.Context(), f.dir, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer g.Close()
	at := slices.IndexFunc(g.Config.Prompts, func(p *hcl.Prompt) bool { return p.Name == name })
	if at < 0 {
		return notFound("prompt", name, f.dir, g.List(mcp.Prompts).Names())
	}
	p, err := f.prompter(cmd, &g.Config.Prompts[at].Operation)
	if err != nil {
		return err
	}
	var d mcp.Document
	err = p.Run(cmd.Context(), caller, arguments, func(req *mcp.CallRequest) (_ *mcp.Questions, err error) {
		stop := console.ShowSpinner(cmd.ErrOrStderr(), "getting "+name)
		defer stop()
		d, err = g.Prompt(f.withApprover(cmd.Context(), p.Terminal, stop), req)
		return d.Questions, protocolFailure(err)
	})
	if err != nil {
		f.printCause(cmd.ErrOrStderr(), err.Error())
		return failf("%s", err)
	}
	return f.print(cmd.OutOrStdout(), documentJSON(d))
}

// promptArguments returns the JSON object of the arguments of a prompt, which are strings.
func promptArguments(texts []string) ([]byte, error) {
	pairs, err := splitPairs("arg", texts)
	if err != nil {
		return nil, err
	}
	return json.Marshal(pairs)
}

func (f *promptFlags) print(w io.Writer, result []byte) error {
	if f.asJSON {
		fmt.Fprintf(w, "%s\n", printable.EscapeJSON(result))
		return nil
	}
	var prompt struct{ Messages []console.Message }
	if err := json.Unmarshal(result, &prompt); err != nil {
		return failf("the result cannot be decoded: %s", err)
	}
	console.PrintMessages(console.ForTerminal(w), prompt.Messages)
	return nil
}
