package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/runtime"
	"hatchel/runtime/mcp"
)

// prompting are the flags of prompt.
type prompting struct {
	loading
	dir    string
	args   []string
	asJSON bool
}

func promptCommand() *cobra.Command {
	p := new(prompting)
	cmd := &cobra.Command{
		Use:   "prompt [-C DIR] NAME [--arg k=v ...]",
		Short: "Write the messages of one prompt of a folder",
		Args:  one("prompt takes the name of a prompt, and --arg name=value for each of its arguments"),
		RunE:  func(cmd *cobra.Command, args []string) error { return p.run(cmd, args[0]) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return p.complete(cmd, args), cobra.ShellCompDirectiveNoFileComp
		},
	}
	p.flags(cmd)
	f := cmd.Flags()
	f.StringVarP(&p.dir, "dir", "C", ".", "`folder` of the prompt")
	f.StringArrayVar(&p.args, "arg", nil, "one argument, `name=value`; may be repeated")
	f.BoolVar(&p.asJSON, "json", false, "print the result of prompts/get as JSON")
	cmd.MarkFlagDirname("dir")
	return cmd
}

func (p *prompting) complete(cmd *cobra.Command, args []string) (names []string) {
	if len(args) > 0 {
		return nil
	}
	p.completing(cmd, p.dir, func(g *runtime.Generation) {
		for _, prompt := range g.Config.Prompts {
			names = append(names, cobra.CompletionWithDesc(prompt.Name, firstLine(prompt.Description)))
		}
	})
	return names
}

func (p *prompting) run(cmd *cobra.Command, name string) error {
	given := map[string]string{}
	for _, arg := range p.args {
		key, text, ok := strings.Cut(arg, "=")
		if !ok || key == "" {
			return misusef("--arg takes name=value, and got %q", arg)
		}
		given[key] = text
	}
	arguments, err := json.Marshal(given)
	if err != nil {
		return misusef("the arguments cannot be written as JSON: %s", err)
	}
	p.audits = audits(cmd)
	g, err := p.ready(cmd.Context(), p.dir, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer g.Close()
	var names []string
	for _, prompt := range g.Config.Prompts {
		names = append(names, prompt.Name)
	}
	if !slices.Contains(names, name) {
		return absent("prompt", name, p.dir, names)
	}
	done := spin(cmd.ErrOrStderr(), "writing "+name)
	d, err := g.Prompt(cmd.Context(), &mcp.CallRequest{Name: name, Arguments: arguments, Caller: &mcp.Caller{Revision: mcp.Revision20260728}})
	done()
	if err != nil {
		return refused(err)
	}
	return p.print(cmd.OutOrStdout(), resultOf(d))
}

func (p *prompting) print(w io.Writer, result []byte) error {
	if p.asJSON {
		fmt.Fprintf(w, "%s\n", result)
		return nil
	}
	var said struct {
		Messages []struct {
			Role    string
			Content block
		}
	}
	if err := json.Unmarshal(result, &said); err != nil {
		return failf("the answer cannot be read: %s", err)
	}
	for i, m := range said.Messages {
		if i == 0 || said.Messages[i-1].Role != m.Role {
			fmt.Fprintf(w, "%s:\n", m.Role)
		}
		m.Content.print(w)
	}
	return nil
}

// refused is an error of the protocol, as a person reads it.
func refused(err error) error {
	var e *mcp.Error
	if errors.As(err, &e) {
		return failf("%s", e.Message)
	}
	return failf("%s", err)
}
