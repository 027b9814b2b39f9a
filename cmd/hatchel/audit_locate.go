package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"hatchel/cmd/hatchel/console"
	"hatchel/cmd/hatchel/exit"
	"hatchel/hcl"
	"hatchel/runtime/durable/audit"
)

// locateAuditLog returns the log in a file, or the log that a directory declares, which decode reads. Errors are
// those of package exit.
func locateAuditLog(path string, decode func(path string) (*hcl.Config, hcl.Diagnostics, error)) (audit.Source, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if files, err := audit.Files(path); err != nil || len(files) == 0 {
			return nil, failf("%s cannot be found: it does not exist", path)
		}
		return audit.File(path), nil // only rotated files exist
	case err != nil:
		return nil, failf("%s cannot be read: %s", path, reason(err))
	case !info.IsDir():
		return audit.File(path), nil
	}
	config, diags, err := decode(path)
	if err != nil {
		return nil, err
	}
	errs := countDiagnostics(diags)
	switch block := config.Audit; {
	case block == nil && diags.HasErrors():
		return nil, failf("%s has %s: run hatchel validate %s, or name the file of the log", path, errs, path)
	case block == nil:
		return nil, failf("%s declares no audit log. Declare audit { file = \"audit.jsonl\" }", path)
	case block.Stdout:
		return nil, failf("the audit log of %s goes to standard output: name the file that collects it", path)
	case block.Postgres != "":
		return audit.Database(block.Postgres.Reveal()), nil
	case block.File == "" && config.UnreadSecrets:
		return nil, failf("the audit log of %s is where a secret says that a command prints, and %s: "+
			"name the file of the log, or give the secret by env, file or credential", path, console.NoSecretCommands)
	case block.File == "":
		return nil, failf("%s has %s: run hatchel validate %s", path, errs, path)
	case filepath.IsAbs(block.File):
		return audit.File(block.File), nil
	default:
		return audit.File(filepath.Join(path, filepath.FromSlash(block.File))), nil
	}
}

// verifyAuditLog checks the hash chain of a log, and prints what holds.
func verifyAuditLog(ctx context.Context, w io.Writer, log audit.Source) error {
	v, err := audit.Verify(ctx, log)
	switch {
	case err != nil:
		return auditReadFailure(log, err)
	case v.Broken != nil:
		return failf("%s", v)
	}
	fmt.Fprintf(w, "%s: %s\n", log, v)
	if v.Partial {
		return &exit.Error{Code: exit.Partial}
	}
	return nil
}

// auditReadFailure returns the error for a log that cannot be read.
func auditReadFailure(log audit.Source, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		const text = "%s does not exist yet: the first hatchel serve or hatchel call of the configuration creates it"
		return failf(text, log)
	}
	return failf("%s cannot be read: %s", log, reason(err))
}

// checkAuditLog checks that the database of an audit block, nil for none, can be used.
func checkAuditLog(ctx context.Context, block *hcl.Audit) hcl.Diagnostics {
	if block == nil || block.Postgres == "" {
		return nil
	}
	if err := audit.CheckTable(ctx, block.Postgres.Reveal()); err != nil {
		return hcl.Diagnostics{{
			Summary: "Audit log not usable",
			Detail:  "The database cannot be used: " + err.Error() + ".",
			Subject: block.Range,
		}}
	}
	return nil
}
