package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/durable/audit"
)

// auditFlags are the flags of audit.
type auditFlags struct {
	loadFlags
	audit.Filter
	follow bool
	asJSON bool
	verify bool
}

func auditCommand() *cobra.Command {
	f := new(auditFlags)
	cmd := &cobra.Command{
		Use:   "audit [FILE | DIR]",
		Short: "Read the audit log",
		Long: `Read an audit log: a file, or the log that the audit block of a configuration
directory declares, in files or in a database. Rotated files are read in order.

A call that may change something has two records with the same id: one with its
arguments, written before the call starts, and one with its outcome.

With --verify the hash chain of the records is checked, and the first changed record
is reported. Someone who can write the files, or owns the table, can still remove the
newest records: store the hash that --verify prints elsewhere. The exit code is 0 if
the chain holds, 1 if it is broken, and 3 if it holds up to a last line that is not
whole: it is being written, or the process that wrote it has died.`,
		Example: `  hatchel audit ./tools --since 24h --outcome refused
  hatchel audit audit.jsonl --follow
  hatchel audit audit.jsonl --verify`,
		Args: oneLog,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, folderOf(cmd, args)) },
	}
	dirFlag(cmd, new(string))
	f.register(cmd)
	fs := cmd.Flags()
	registerFilter(cmd, &f.Filter)
	fs.StringVar(&f.Outcome, "outcome", "", "only records with this `OUTCOME`: "+strings.Join(audit.Outcomes, ", "))
	fs.StringVar(&f.Rule, "rule", "", "only records that the rule `NAME` has decided, which may contain *")
	fs.StringVar(&f.Text, "text", "", "only records with this `TEXT` in their line")
	fs.BoolVar(&f.follow, "follow", false, "continue with records as they are written")
	fs.BoolVar(&f.asJSON, "json", false, "print the records as they are stored")
	fs.BoolVar(&f.verify, "verify", false, "check the hash chain of the log")
	for _, name := range []string{"tool", "caller", "outcome", "since", "until", "rule", "text", "follow", "json"} {
		cmd.MarkFlagsMutuallyExclusive("verify", name)
	}
	completeWords(cmd, "outcome", audit.Outcomes...)
	cmd.AddCommand(auditUsageCommand())
	return cmd
}

// commandAudits returns where a command records its calls. Records for standard output go to
// standard error, because standard output is for the result.
func commandAudits(cmd *cobra.Command) *runtime.AuditLogs {
	return &runtime.AuditLogs{Stdout: cmd.ErrOrStderr()}
}

// locate returns the log in a file, or that of a directory.
func (f *loadFlags) locate(cmd *cobra.Command, path string) (audit.Source, error) {
	return locateAuditLog(path, func(path string) (*hcl.Config, hcl.Diagnostics, error) {
		folder, err := f.decode(cmd.Context(), path, cmd.ErrOrStderr())
		if err != nil {
			return nil, nil, err
		}
		return folder.config, folder.diags, nil
	})
}

func (f *auditFlags) run(cmd *cobra.Command, path string) error {
	matches, err := f.Matcher(time.Now())
	if err != nil {
		return misusef("--%s", err)
	}
	log, err := f.locate(cmd, path)
	if err != nil {
		return err
	}
	if f.verify {
		return verifyAuditLog(cmd.Context(), cmd.OutOrStdout(), log)
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	defer out.Flush()
	read := log.Read
	if f.follow {
		read = log.Follow
	}
	return readAuditLog(cmd, log, path, read, func(l *audit.Line, r *audit.Record) bool {
		switch {
		case r == nil || !matches(l, r):
		case f.asJSON:
			fmt.Fprintf(out, "%s\n", l.Text)
		default:
			printAuditRecord(out, r)
		}
		return !f.follow || out.Flush() == nil
	})
}

// readAuditLog calls each with the records of a log, which read reads, until it reports false. Of a line that is no
// valid record, it says so, and the record is nil.
func readAuditLog(cmd *cobra.Command, log audit.Source, path string,
	read func(context.Context, func(*audit.Line) bool) error, each func(*audit.Line, *audit.Record) bool,
) error {
	var newer error
	err := read(cmd.Context(), func(l *audit.Line) bool {
		r, ok := l.Record()
		if newer = r.CheckFormat(); newer != nil {
			return false
		}
		if !ok {
			fmt.Fprintf(cmd.ErrOrStderr(), "hatchel: %s:%d is not a valid record: see hatchel audit --verify %s\n",
				l.File, l.Number, path)
			return each(l, nil)
		}
		return each(l, &r)
	})
	if err = cmp.Or(newer, err); err != nil {
		return auditReadFailure(log, err)
	}
	return nil
}

// oneLog accepts a directory or a log, as an argument or with -C.
func oneLog(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && cmd.Flags().Changed("dir") {
		return errTwoDirs
	}
	return cobra.MaximumNArgs(1)(cmd, args)
}

// registerFilter adds the flags that choose records by their tool, caller and time.
func registerFilter(cmd *cobra.Command, f *audit.Filter) {
	fs := cmd.Flags()
	fs.StringVar(&f.Tool, "tool", "", "only calls of the tool, prompt or resource `NAME`, which may contain *")
	fs.StringVar(&f.Caller, "caller", "", "only calls of the `CALLER`: a subject, key, group, address or client, "+
		"which may contain *")
	fs.StringVar(&f.Since, "since", "", "only records since this `TIME`: 2026-01-31, 2026-01-31T15:04:05Z, "+
		"or a duration as in 24h or 7d")
	fs.StringVar(&f.Until, "until", "", "only records before this `TIME`, as --since")
}
