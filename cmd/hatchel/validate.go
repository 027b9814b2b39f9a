package main

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/exit"
	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/runtime/edge/server"
	"hatchel/runtime/load/source"
)

// validateFlags are the flags of validate.
type validateFlags struct {
	loadFlags
	connect bool
	asJSON  bool
	format  string
}

func validateCommand() *cobra.Command {
	f := new(validateFlags)
	f.tests = true
	cmd := folderArg(&cobra.Command{
		Use:   "validate [DIR]",
		Short: "Check a configuration directory for errors",
		Long: `Check a configuration directory as serve loads it, and print every error and
warning with its position and a suggested correction.

With --connect every connection is opened, and every SQL statement is prepared by
its database, which also finds missing tables and columns. Nothing is executed,
except the init of a SQLite database, which creates a missing file, and that MySQL
and MariaDB may evaluate a query that reads no table. Without it the command of a
secret is not run, and the value of the secret is unknown.

With --no-secrets no secret is read, as in CI: what needs one is checked as far as
that is possible without its value.`,
		Example: `  hatchel validate
  hatchel validate ./tools --connect
  hatchel validate ./tools --format github`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, folderOf(cmd, args)) },
	})
	f.register(cmd)
	f.registerSecretCommands(cmd)
	cmd.Flags().BoolVar(&f.connect, "connect", false,
		"also check the configuration against the real databases and services")
	cmd.Flags().BoolVar(&f.inspect, "no-secrets", false,
		"read no secret: the value of each is unknown, and what needs it is checked as far as it can be")
	cmd.MarkFlagsMutuallyExclusive("connect", "no-secrets")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print the result as JSON, as with --format json")
	cmd.Flags().StringVar(&f.format, "format", "text", "`FORMAT` of the output: text, json, github or sarif")
	cmd.MarkFlagsMutuallyExclusive("json", "format")
	completeWords(cmd, "format", "text", "json", "github", "sarif")
	return cmd
}

func (f *validateFlags) run(cmd *cobra.Command, path string) error {
	if f.asJSON {
		f.format = "json"
	}
	if !slices.Contains([]string{"text", "json", "github", "sarif"}, f.format) {
		return misusef("--format must be text, json, github or sarif, and is %q", f.format)
	}
	f.runsCommands = f.connect
	folder, err := f.compile(cmd.Context(), path, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	r := validateReport{Folder: path, Version: release()}
	if _, err := os.Stat(filepath.Join(folder.dir, source.IgnoreFile)); err == nil {
		r.IgnoreFile = source.IgnoreFile
	}
	if g := folder.generation; g != nil {
		defer g.Close()
		r.Tools, r.Prompts, r.Resources = len(g.Config.Tools), len(g.Config.Prompts), len(g.Config.Resources)
		r.Skills = len(g.Config.Skills)
		r.Refused = len(g.RefusedOperations())
		r.DisabledWebhooks = g.Config.DisabledWebhooks()
		if f.connect {
			stop := console.ShowSpinner(cmd.ErrOrStderr(), "checking connections")
			ctx := cmd.Context()
			folder.add(g.Probe(ctx))
			folder.add(server.CheckState(ctx, g.Config.State))
			folder.add(checkAuditLog(ctx, g.Config.Audit))
			stop()
		}
	}
	r.Valid = !folder.diags.HasErrors()
	defer endOnSignal(cmd.Context())()
	r.Diagnostics, r.Sources = prefixPaths(path, folder.diags, folder.config.Sources)
	err = writeError(r.Write(cmd.OutOrStdout(), f.format))
	switch {
	case err != nil:
		return err
	case !r.Valid && f.format != "text":
		return &exit.Error{Code: exit.Failed}
	case !r.Valid:
		hint := ""
		if !f.inspect && !f.connect && slices.ContainsFunc(folder.diags, isMissingSecret) {
			hint = ". --no-secrets checks without the values of secrets"
		}
		return failf("%s has %s%s", folderName(path), countDiagnostics(folder.diags), hint)
	}
	return nil
}

func isMissingSecret(d *hcl.Diagnostic) bool { return d.Code == diag.MissingSecret }
