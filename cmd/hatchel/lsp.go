package main

import (
	"errors"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"hatchel/adapters/all"
	"hatchel/cmd/hatchel/editor/lsp"
	"hatchel/cmd/hatchel/exit"
	"hatchel/runtime/edge/served"
)

func lspCommand() *cobra.Command {
	var l loadFlags
	cmd := &cobra.Command{
		Use:   "lsp",
		Short: "Serve editors: diagnostics, hover, completion and more",
		Long: `Serve one editor over standard input and output with the Language Server Protocol.
Editors start this command themselves; docs/editors.md says how to set them up.

It reports what validate --no-secrets reports, for the text in the editor. It opens no
connection, starts no program and reads no secret, so it does not report mistakes that
only these would show. In directories of Terraform, Nomad, Packer and other tools it
reports nothing.`,
		Example: `  hatchel lsp
  hatchel lsp --var-file dev.vars`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			vars, err := l.values(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			tuneFor(nil) // package lsp tunes it for edits
			err = lsp.Serve(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), lsp.Options{
				Kinds: all.Set().Kinds(), Version: release(), Getenv: os.LookupEnv, Vars: vars, Parallel: runParallel,
				Entry: served.ToolEntry,
				Log:   slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn})),
			})
			switch {
			case errors.Is(err, lsp.ErrNoShutdown):
				return &exit.Error{Code: exit.Failed}
			case err != nil:
				return failf("%s", err)
			}
			return nil
		},
	}
	l.register(cmd)
	// editors pass it, and there is no other way
	cmd.Flags().Bool("stdio", true, "use standard input and output")
	cmd.Flags().MarkHidden("stdio")
	return cmd
}
