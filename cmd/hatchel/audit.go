package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"hatchel/adapters/all"
	"hatchel/hcl"
	"hatchel/runtime"
	"hatchel/runtime/audit"
	"hatchel/runtime/source"
)

// auditing are the flags of audit.
type auditing struct {
	loading
	tool    string
	caller  string
	outcome string
	since   string
	follow  bool
	asJSON  bool
	verify  bool
}

var outcomes = []string{audit.OK, audit.Failed, audit.Refused, audit.Cancelled, audit.Fault, audit.Asked, audit.Task}

func auditCommand() *cobra.Command {
	a := new(auditing)
	cmd := &cobra.Command{
		Use:   "audit [FILE | DIR]",
		Short: "Read what was called, by whom, and what came of it",
		Long: `Read the audit log in a file, or that of a folder, whose audit block says where it is: in files, or in a database. Files that are full
are read, too, in their order.

A call that may change something has two records: one before it begins, with its arguments, and one when it is over. Both have the same id.

With --verify every record is compared with its hash and with the record before it, and the first line that was changed is named. Who can
write the files, or owns the table, can also leave out their end: keep the hash that --verify prints somewhere else.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd, folderOf(args)) },
	}
	a.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&a.tool, "tool", "", "only calls of this tool, prompt or resource: a `name`, or a pattern with *")
	f.StringVar(&a.caller, "caller", "", "only calls of this `subject`, key, group, address or client, or of what a pattern with * is of")
	f.StringVar(&a.outcome, "outcome", "", "only calls that came to this: "+strings.Join(outcomes, ", "))
	f.StringVar(&a.since, "since", "", "only what is not older: a `time` as 2026-01-31 or 2026-01-31T15:04:05Z, or for how long, as 90m or 24h")
	f.BoolVar(&a.follow, "follow", false, "go on with what is written from now on")
	f.BoolVar(&a.asJSON, "json", false, "print the records as they are in the file")
	f.BoolVar(&a.verify, "verify", false, "say whether anything was changed")
	for _, name := range []string{"tool", "caller", "outcome", "since", "follow", "json"} {
		cmd.MarkFlagsMutuallyExclusive("verify", name)
	}
	cmd.RegisterFlagCompletionFunc("outcome", cobra.FixedCompletions(outcomes, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *auditing) run(cmd *cobra.Command, where string) error {
	wanted, err := a.filter(time.Now())
	if err != nil {
		return err
	}
	log, err := a.locate(where, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if a.verify {
		return log.verify(cmd.Context(), cmd.OutOrStdout())
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	defer out.Flush()
	each := func(l *audit.Line) bool {
		r, ok := l.Record()
		switch {
		case !ok:
			fmt.Fprintf(cmd.ErrOrStderr(), "hatchel: %s:%d is no record, or it was changed: see hatchel audit --verify %s\n", l.File, l.Number, where)
		case !wanted(&r):
		case a.asJSON:
			fmt.Fprintf(out, "%s\n", l.Text)
		default:
			printRecord(out, &r)
		}
		return !a.follow || out.Flush() == nil
	}
	return log.read(cmd.Context(), a.follow, each)
}

// locate is the log that was named, or that of the folder.
func (a *auditing) locate(where string, stderr io.Writer) (auditLog, error) {
	info, err := os.Stat(where)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if files, err := audit.Files(where); err != nil || len(files) == 0 {
			return auditLog{}, failf("%s cannot be found: it does not exist", where)
		}
		return auditLog{file: where}, nil // the file after the last full one has not been begun
	case err != nil:
		return auditLog{}, failf("%s cannot be read: %s", where, reason(err))
	case !info.IsDir():
		return auditLog{file: where}, nil
	}
	return a.declared(where, stderr)
}

// declared is the log that the configuration in a folder declares.
func (a *auditing) declared(where string, stderr io.Writer) (auditLog, error) {
	folder, err := source.NewFolder(where)
	if err != nil {
		return auditLog{}, failf("%s cannot be found: %s", where, reason(err))
	}
	options, err := a.options(folder.Dir(), stderr)
	if err != nil {
		return auditLog{}, err
	}
	files, err := folder.Snapshot()
	if err != nil {
		return auditLog{}, failf("%s cannot be read: %s", where, reason(err))
	}
	set := all.Set()
	cfg, diags := hcl.Load(files, set.Kinds(), options)
	switch declared := cfg.Audit; {
	case declared == nil && diags.HasErrors():
		return auditLog{}, failf("%s has %s: hatchel validate %s says which. Name the file of the log", where, counted(diags), where)
	case declared == nil:
		return auditLog{}, failf("%s declares no audit: nothing is written down. Declare audit { file = \"audit.jsonl\" }", where)
	case declared.Stdout:
		return auditLog{}, failf("the records of %s go to standard output: name the file in which they were collected", where)
	case declared.Postgres != "":
		return auditLog{address: declared.Postgres}, nil
	case declared.File == "":
		return auditLog{}, failf("%s has %s: hatchel validate %s says which", where, counted(diags), where)
	case filepath.IsAbs(declared.File):
		return auditLog{file: declared.File}, nil
	default:
		return auditLog{file: filepath.Join(where, filepath.FromSlash(declared.File))}, nil
	}
}

// filter is which records are wanted.
func (a *auditing) filter(now time.Time) (func(*audit.Record) bool, error) {
	since, err := a.from(now)
	if err != nil {
		return nil, err
	}
	if a.outcome != "" && !slices.Contains(outcomes, a.outcome) {
		return nil, misusef("--outcome is one of %s, and got %q", strings.Join(outcomes, ", "), a.outcome)
	}
	for _, pattern := range []string{a.tool, a.caller} {
		if _, err := path.Match(escaped(pattern), ""); err != nil {
			return nil, misusef("%q is no pattern", pattern)
		}
	}
	return func(r *audit.Record) bool {
		c := &r.Caller
		return !r.Time.Before(since) &&
			(a.outcome == "" || r.Outcome == a.outcome) &&
			(a.tool == "" || like(a.tool, r.Name, r.URI)) &&
			(a.caller == "" || like(a.caller, append([]string{c.Subject, c.Key, c.Remote, c.Client}, c.Groups...)...))
	}, nil
}

// from is the time of the first record that is wanted.
func (a *auditing) from(now time.Time) (time.Time, error) {
	if a.since == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(a.since); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, form := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if t, err := time.Parse(form, a.since); err == nil {
			return t, nil
		}
	}
	return time.Time{}, misusef("--since is a time as in 2026-01-31 or 2026-01-31T15:04:05Z, or for how long, as in 90m or 24h, and got %q", a.since)
}

// like reports whether a pattern, in which * stands for any characters, is of one of the texts.
func like(pattern string, texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		// A slash is a character as any other here.
		ok, _ := path.Match(escaped(strings.ReplaceAll(pattern, "/", "\x00")), strings.ReplaceAll(text, "/", "\x00"))
		return text != "" && ok
	})
}

// escaped is a pattern in which nothing but * has a meaning.
func escaped(pattern string) string {
	return strings.NewReplacer(`\`, `\\`, `?`, `\?`, `[`, `\[`).Replace(pattern)
}

// printRecord prints a record in one line.
func printRecord(w io.Writer, r *audit.Record) {
	parts := []string{r.Time.Format("2006-01-02T15:04:05.000Z"), fmt.Sprintf("%-9s", happened(r))}
	what := strings.TrimSpace(r.Kind + " " + r.Name)
	if r.Event == audit.EventFile {
		what = r.Name
	}
	if r.URI != "" {
		what = strings.TrimSpace(what + " " + r.URI)
	}
	parts = append(parts, what, who(&r.Caller), string(r.Arguments))
	if r.Duration > 0 {
		parts = append(parts, fmt.Sprintf("%.1fms", r.Duration))
	}
	if r.Event == audit.EventFile && r.Kind != "ticket" {
		parts = append(parts, strconv.Itoa(r.Bytes)+" bytes")
	}
	if r.Event == audit.EventFile && r.Outcome != audit.OK {
		parts = append(parts, r.Outcome)
	}
	switch a := r.Approval; {
	case r.Event == audit.EventApproval && a != nil:
		parts = append(parts, "asked by "+a.Asker, "approval "+a.ID, a.Reason)
	case r.Rule != "" && r.Rule != "default" || r.Decision == "denied":
		parts = append(parts, r.Decision+" by "+r.Rule)
	}
	if a := r.Approval; a != nil && r.Event != audit.EventApproval && a.By != "" {
		parts = append(parts, "approval "+a.ID+" by "+a.By)
	}
	if r.Replayed != "" {
		parts = append(parts, "again, by the "+r.Replayed)
	}
	if r.Task != "" {
		parts = append(parts, "task "+r.Task)
	}
	if r.Lost > 0 {
		parts = append(parts, fmt.Sprintf("%d bytes before this were no record", r.Lost))
	}
	parts = append(parts, r.File, strings.Join(r.Removed, " "), r.Message)
	parts = slices.DeleteFunc(parts, func(s string) bool { return strings.TrimSpace(s) == "" })
	fmt.Fprintln(w, strings.TrimRight(printable(strings.Join(parts, "  ")), " "))
}

// happened is what a record is about, in one word.
func happened(r *audit.Record) string {
	switch r.Event {
	case audit.EventCall, audit.EventRequest:
		return r.Outcome
	case audit.EventIntent:
		return "begins"
	case audit.EventApproval:
		return r.Decision
	case audit.EventFile:
		return r.Kind
	}
	return r.Event
}

// who is a caller as a person reads it.
func who(c *audit.Caller) string {
	said := c.Subject
	if c.Key != "" && c.Key != said {
		said = strings.TrimSpace(said + " (" + c.Key + ")")
	}
	if c.Remote != "" {
		said = strings.TrimSpace(said + " from " + c.Remote)
	}
	return said
}

// printable is a text with which nobody can write to the terminal what is not there.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

// audits is where a command has what it calls written down. Its standard output is for the answer.
func audits(cmd *cobra.Command) *runtime.AuditLogs {
	return &runtime.AuditLogs{Stdout: cmd.ErrOrStderr()}
}
