package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/findings"
	"hatchel/hcl"
	"hatchel/runtime/server"
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
and MariaDB may evaluate a query that reads no table.

With --no-secrets no secret is read, as in CI: what needs one is checked as far as
that is possible without its value.`,
		Example: `  hatchel validate
  hatchel validate ./tools --connect
  hatchel validate ./tools --format github`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, folderOf(cmd, args)) },
	})
	f.register(cmd)
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
	folder, err := f.compile(cmd.Context(), path, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	r := validateResult{Diagnostics: hcl.Diagnostics{}}
	if g := folder.generation; g != nil {
		defer g.Close()
		r.Tools, r.Prompts, r.Resources = len(g.Config.Tools), len(g.Config.Prompts), len(g.Config.Resources)
		r.Refused = len(g.RefusedOperations())
		r.DisabledWebhooks = g.Config.DisabledWebhooks()
		if f.connect {
			stop := showSpinner(cmd.ErrOrStderr(), "checking connections")
			ctx := cmd.Context()
			folder.add(g.Probe(ctx))
			folder.add(server.CheckState(ctx, g.Config.State))
			folder.add(checkAudit(ctx, g.Config.Audit))
			stop()
		}
	}
	r.Valid = !folder.diags.HasErrors()
	defer endOnSignal(cmd.Context())()
	if f.format != "text" {
		err = r.printAs(f.format, cmd, folder)
	} else if err = r.print(cmd, folder); err != nil {
		err = failf("the result cannot be written: %s", reason(err))
	}
	switch {
	case err != nil:
		return err
	case !r.Valid && f.format != "text":
		return &exitError{code: exitFailed}
	case !r.Valid:
		return failf("%s has %s", folderName(path), countDiagnostics(folder.diags))
	}
	return nil
}

// validateResult is the output of validate --json.
type validateResult struct {
	Valid            bool            `json:"valid"`
	Tools            int             `json:"tools"`
	Prompts          int             `json:"prompts"`
	Resources        int             `json:"resources"`
	Refused          int             `json:"refused,omitempty"` // of these, for what the server lacks
	DisabledWebhooks []string        `json:"webhooks_off,omitempty"`
	Errors           int             `json:"errors"`
	Warnings         int             `json:"warnings"`
	Diagnostics      hcl.Diagnostics `json:"diagnostics"`
}

// printAs prints the result for programs.
func (r *validateResult) printAs(format string, cmd *cobra.Command, folder *loadedFolder) error {
	diags, _ := prefixPaths(folder.path, folder.diags, nil)
	switch format {
	case "github":
		return writeError(findings.WriteAnnotations(cmd.OutOrStdout(), findings.Of(diags)))
	case "sarif":
		return writeError(findings.WriteSARIF(cmd.OutOrStdout(), release(), nil, findings.Of(diags)))
	}
	r.Diagnostics = diags
	r.Errors, r.Warnings = diags.Counts()
	return printJSON(cmd.OutOrStdout(), r)
}

func (r *validateResult) print(cmd *cobra.Command, folder *loadedFolder) error {
	out, name := cmd.OutOrStdout(), folderName(folder.path)
	if err := folder.print(out); err != nil || !r.Valid {
		return err
	}
	if len(folder.diags) > 0 {
		fmt.Fprintln(out)
	}
	if len(folder.config.Sources) == 0 {
		fmt.Fprintf(out, "%s: no .hcl files found\n", name)
		return nil
	}
	count := countCapabilities(r.Tools, r.Prompts, r.Resources)
	if r.Refused > 0 {
		count += fmt.Sprintf(", %d of them refused", r.Refused)
	}
	fmt.Fprintf(out, "%s: %s, %s\n", name, count, countDiagnostics(folder.diags))
	for _, webhook := range r.DisabledWebhooks {
		fmt.Fprintf(out, "webhook %q is disabled, because its url is null\n", webhook)
	}
	return nil
}
