package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/mcp"
)

// prompting are the flags of prompt.
type prompting struct {
	loading
	asking
	approving
	dir    string
	args   []string
	asJSON bool
}

func promptCommand() *cobra.Command {
	p := new(prompting)
	cmd := &cobra.Command{
		Use:   "prompt [-C DIR] NAME [--arg k=v ...] [--answer key=JSON ...]",
		Short: "Write the messages of one prompt of a folder",
		Long:  "Write the messages of one prompt of a folder.\n\n" + askedHelp,
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
	p.answerFlag(cmd)
	p.approveFlag(cmd)
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
	at := slices.IndexFunc(g.Config.Prompts, func(prompt *hcl.Prompt) bool { return prompt.Name == name })
	if at < 0 {
		var names []string
		for _, prompt := range g.Config.Prompts {
			names = append(names, prompt.Name)
		}
		return absent("prompt", name, p.dir, names)
	}
	talk, err := p.interview(cmd, &g.Config.Prompts[at].Operation)
	if err != nil {
		return err
	}
	var d mcp.Document
	err = talk.conduct(cmd.Context(), arguments, func(req *mcp.CallRequest) (_ *mcp.Questions, err error) {
		clear := sync.OnceFunc(spin(cmd.ErrOrStderr(), "writing "+name))
		defer clear()
		d, err = g.Prompt(p.approver(cmd.Context(), talk.form, clear), req)
		return d.Questions, err
	})
	if err != nil {
		return err
	}
	return p.print(cmd.OutOrStdout(), resultOf(d))
}

func (p *prompting) print(w io.Writer, result []byte) error {
	if p.asJSON {
		fmt.Fprintf(w, "%s\n", result)
		return nil
	}
	var said struct{ Messages []message }
	if err := json.Unmarshal(result, &said); err != nil {
		return failf("the answer cannot be read: %s", err)
	}
	printMessages(w, said.Messages)
	return nil
}

// message is one message of a dialogue.
type message struct {
	Role    string
	Content block
}

// printMessages prints a dialogue, with a heading where who speaks changes.
func printMessages(w io.Writer, said []message) {
	for i, m := range said {
		if i == 0 || said[i-1].Role != m.Role {
			fmt.Fprintf(w, "%s:\n", m.Role)
		}
		m.Content.print(w)
	}
}

// refused is an error of the protocol, as a person reads it.
func refused(err error) error {
	var e *mcp.Error
	if errors.As(err, &e) {
		return failf("%s", e.Message)
	}
	return failf("%s", err)
}
