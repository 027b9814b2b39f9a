package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/audit"
)

// auditFlags are the flags of audit.
type auditFlags struct {
	loadFlags
	tool    string
	caller  string
	outcome string
	since   string
	follow  bool
	asJSON  bool
	verify  bool
}

var auditOutcomes = []string{
	audit.OK, audit.Failed, audit.Refused, audit.Cancelled, audit.ProtocolError, audit.Asked, audit.Task,
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
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.Flags().Changed("dir") {
				return errTwoDirs
			}
			return cobra.MaximumNArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, folderOf(cmd, args)) },
	}
	dirFlag(cmd, new(string))
	f.register(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.tool, "tool", "", "only calls of the tool, prompt or resource `NAME`, which may contain *")
	fs.StringVar(&f.caller, "caller", "", "only calls of the `CALLER`: a subject, key, group, address or client, "+
		"which may contain *")
	fs.StringVar(&f.outcome, "outcome", "", "only calls with this `OUTCOME`: "+strings.Join(auditOutcomes, ", "))
	fs.StringVar(&f.since, "since", "", "only records since this `TIME`: 2026-01-31, 2026-01-31T15:04:05Z, "+
		"or a duration as in 24h")
	fs.BoolVar(&f.follow, "follow", false, "continue with records as they are written")
	fs.BoolVar(&f.asJSON, "json", false, "print the records as they are stored")
	fs.BoolVar(&f.verify, "verify", false, "check the hash chain of the log")
	for _, name := range []string{"tool", "caller", "outcome", "since", "follow", "json"} {
		cmd.MarkFlagsMutuallyExclusive("verify", name)
	}
	completeWords(cmd, "outcome", auditOutcomes...)
	return cmd
}

// commandAudits returns where a command records its calls. Records for standard output go to
// standard error, because standard output is for the result.
func commandAudits(cmd *cobra.Command) *runtime.AuditLogs {
	return &runtime.AuditLogs{Stdout: cmd.ErrOrStderr()}
}

func (f *auditFlags) run(cmd *cobra.Command, path string) error {
	matches, err := f.filter(time.Now())
	if err != nil {
		return err
	}
	log, err := f.locate(path, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if f.verify {
		return verifyLog(cmd.Context(), cmd.OutOrStdout(), log)
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	defer out.Flush()
	read := log.Read
	if f.follow {
		read = log.Follow
	}
	err = read(cmd.Context(), func(l *audit.Line) bool {
		r, ok := l.Record()
		switch {
		case !ok:
			fmt.Fprintf(cmd.ErrOrStderr(), "hatchel: %s:%d is not a valid record: see hatchel audit --verify %s\n",
				l.File, l.Number, path)
		case !matches(&r):
		case f.asJSON:
			fmt.Fprintf(out, "%s\n", l.Text)
		default:
			printRecord(out, &r)
		}
		return !f.follow || out.Flush() == nil
	})
	if err != nil {
		return readFailure(log, err)
	}
	return nil
}

// locate returns the log in a file, or the log that a directory declares.
func (f *auditFlags) locate(path string, stderr io.Writer) (audit.Source, error) {
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
	folder, err := f.decode(path, stderr)
	if err != nil {
		return nil, err
	}
	errs := countDiagnostics(folder.diags)
	switch block := folder.config.Audit; {
	case block == nil && folder.diags.HasErrors():
		return nil, failf("%s has %s: run hatchel validate %s, or name the file of the log", path, errs, path)
	case block == nil:
		return nil, failf("%s declares no audit log. Declare audit { file = \"audit.jsonl\" }", path)
	case block.Stdout:
		return nil, failf("the audit log of %s goes to standard output: name the file that collects it", path)
	case block.Postgres != "":
		return audit.Database(block.Postgres.Reveal()), nil
	case block.File == "":
		return nil, failf("%s has %s: run hatchel validate %s", path, errs, path)
	case filepath.IsAbs(block.File):
		return audit.File(block.File), nil
	default:
		return audit.File(filepath.Join(path, filepath.FromSlash(block.File))), nil
	}
}

// filter returns whether a record matches the flags.
func (f *auditFlags) filter(now time.Time) (func(*audit.Record) bool, error) {
	since, err := f.start(now)
	if err != nil {
		return nil, err
	}
	if f.outcome != "" && !slices.Contains(auditOutcomes, f.outcome) {
		return nil, misusef("--outcome must be one of %s, and is %q", strings.Join(auditOutcomes, ", "), f.outcome)
	}
	return func(r *audit.Record) bool {
		c := &r.Caller
		return !r.Time.Before(since) &&
			(f.outcome == "" || r.Outcome == f.outcome) &&
			(f.tool == "" || matchAny(f.tool, r.Name, r.URI)) &&
			(f.caller == "" || matchAny(f.caller, c.Subject, c.Key, c.Remote, c.Client) ||
				matchAny(f.caller, c.Groups...))
	}, nil
}

// start returns the time of --since.
func (f *auditFlags) start(now time.Time) (time.Time, error) {
	if f.since == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(f.since); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, f.since); err == nil {
			return t, nil
		}
	}
	return time.Time{}, misusef("--since must be a time (2026-01-31, 2026-01-31T15:04:05Z) "+
		"or a duration (90m, 24h), and is %q", f.since)
}

// plainGlob escapes everything in a pattern that path.Match knows besides *, and slashes, which *
// must match.
var plainGlob = strings.NewReplacer(`\`, `\\`, `?`, `\?`, `[`, `\[`, "/", "\x00")

// matchAny reports whether a pattern, in which * matches any characters, matches one of the texts.
func matchAny(pattern string, texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		ok, _ := path.Match(plainGlob.Replace(pattern), strings.ReplaceAll(text, "/", "\x00"))
		return text != "" && ok
	})
}

// verifyLog checks the hash chain of a log.
func verifyLog(ctx context.Context, w io.Writer, log audit.Source) error {
	v, err := audit.Verify(ctx, log)
	switch {
	case err != nil:
		return readFailure(log, err)
	case v.Broken != nil:
		return failf("%s", v)
	}
	fmt.Fprintf(w, "%s: %s\n", log, v)
	if v.Partial {
		return &exitError{code: exitPartial}
	}
	return nil
}

func readFailure(log audit.Source, err error) error {
	return failf("%s cannot be read: %s", log, reason(err))
}

// checkAudit checks that the database of an audit block can be used.
func checkAudit(ctx context.Context, block *hcl.Audit) hcl.Diagnostics {
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

// printRecord prints a record in one line.
func printRecord(w io.Writer, r *audit.Record) {
	target := strings.TrimSpace(r.Kind + " " + r.Name)
	if r.Event == audit.EventFile {
		target = r.Name
	}
	if r.URI != "" {
		target = strings.TrimSpace(target + " " + r.URI)
	}
	parts := []string{
		r.Time.Format("2006-01-02T15:04:05.000Z"), fmt.Sprintf("%-9s", eventWord(r)),
		target, auditCaller(&r.Caller), string(r.Arguments),
	}
	addIf := func(applies bool, format string, fact any) {
		if applies {
			parts = append(parts, fmt.Sprintf(format, fact))
		}
	}
	addIf(r.Duration > 0, "%.1fms", r.Duration)
	addIf(r.Event == audit.EventFile && r.Kind != "ticket", "%d bytes", r.Bytes)
	addIf(r.Event == audit.EventFile && r.Outcome != audit.OK, "%s", r.Outcome)
	switch a := r.Approval; {
	case r.Event == audit.EventApproval && a != nil:
		parts = append(parts, "requested by "+a.Requester, "approval "+a.ID, a.Reason)
	case r.Rule != "" && r.Rule != "default" || r.Decision == "denied":
		parts = append(parts, r.Decision+" by "+r.Rule)
	}
	if a := r.Approval; a != nil && r.Event != audit.EventApproval && a.By != "" {
		parts = append(parts, "approval "+a.ID+" by "+a.By)
	}
	addIf(r.Replayed != "", "replayed by the %s", r.Replayed)
	addIf(r.Task != "", "task %s", r.Task)
	addIf(r.LostBytes > 0, "%d bytes before this record are not valid", r.LostBytes)
	parts = append(parts, r.File, strings.Join(r.Removed, " "), r.Message)
	parts = slices.DeleteFunc(parts, func(s string) bool { return strings.TrimSpace(s) == "" })
	fmt.Fprintln(w, strings.TrimRight(printable(strings.Join(parts, "  ")), " "))
}

// eventWord names the event of a record in one word.
func eventWord(r *audit.Record) string {
	switch r.Event {
	case audit.EventCall, audit.EventRequest:
		return r.Outcome
	case audit.EventIntent:
		return "started"
	case audit.EventApproval:
		return r.Decision
	case audit.EventFile:
		return r.Kind
	}
	return r.Event
}

func auditCaller(c *audit.Caller) string {
	caller := c.Subject
	if c.Key != "" && c.Key != caller {
		caller = strings.TrimSpace(caller + " (" + c.Key + ")")
	}
	if c.Remote != "" {
		caller = strings.TrimSpace(caller + " from " + c.Remote)
	}
	return caller
}
