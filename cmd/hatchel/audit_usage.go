package main

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/console"
	"hatchel/internal/printable"
	"hatchel/internal/tokens"
	"hatchel/runtime/durable/audit"
)

// usageFlags are the flags of audit usage.
type usageFlags struct {
	loadFlags
	audit.Filter
	by     string
	format string
}

func auditUsageCommand() *cobra.Command {
	f := new(usageFlags)
	cmd := &cobra.Command{
		Use:   "usage [FILE | DIR]",
		Short: "Count calls, their outcomes and tokens in the audit log",
		Long: `Count the calls in an audit log by caller, tool, client or day: how many were made, failed
and were refused, or answered without being carried out; how long they took together; the
bytes of their answers; and the tokens of their arguments and answers, which are estimated.

A call that became a task, or that asked the client something, counts once, when it is over.
Failed calls include those that were cancelled or ended with an error of the protocol;
refused ones include requests that were refused before they became a call. Searches of
find_tools count apart from calls. Answers of versions before the member "tokens" of records
have no estimate.

If lines of the time that is counted cannot be read, the figures are those of the others, and
the exit code is 1.`,
		Example: `  hatchel audit usage ./tools --since 7d
  hatchel audit usage ./tools --since 30d --by caller,day --format csv`,
		Args: oneLog,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, folderOf(cmd, args)) },
	}
	dirFlag(cmd, new(string))
	f.register(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.by, "by", "caller,tool", "count by these `WORDS`, separated by commas: "+
		strings.Join(usageKeys, ", "))
	fs.StringVar(&f.format, "format", "text", "`FORMAT` of the output: text, json or csv")
	registerFilter(cmd, &f.Filter)
	completeWords(cmd, "by", usageKeys...)
	completeWords(cmd, "format", usageFormats...)
	return cmd
}

// usageKeys are the words of --by.
var usageKeys = []string{"caller", "tool", "client", "day"}

var usageFormats = []string{"text", "json", "csv"}

// usage is what the calls with the same keys came to.
type usage struct {
	Keys      map[string]string `json:"by"`
	Calls     int               `json:"calls"`
	Failed    int               `json:"failed"`
	Refused   int               `json:"refused"`
	Replayed  int               `json:"replayed"`
	Searches  int               `json:"searches"`
	Duration  float64           `json:"ms"`
	Bytes     int64             `json:"bytes"`
	TokensIn  int64             `json:"tokens_in"`
	TokensOut int64             `json:"tokens_out"`
}

func (f *usageFlags) run(cmd *cobra.Command, path string) error {
	matches, err := f.Matcher(time.Now())
	if err != nil {
		return misusef("--%s", err)
	}
	keys := strings.Split(f.by, ",")
	for i, key := range keys {
		if !slices.Contains(usageKeys, key) || slices.Contains(keys[:i], key) {
			return misusef("--by takes each of %s at most once, separated by commas, and is %q",
				strings.Join(usageKeys, ", "), f.by)
		}
	}
	if !slices.Contains(usageFormats, f.format) {
		return misusef("--format must be text, json or csv, and is %q", f.format)
	}
	log, err := f.locate(cmd, path)
	if err != nil {
		return err
	}
	counts := map[string]*usage{}
	var unread unreadLines
	if err := unread.setTimes(&f.Filter); err != nil {
		return err
	}
	err = readAuditLog(cmd, log, path, log.Read, func(l *audit.Line, r *audit.Record) bool {
		if unread.see(l, r); r != nil && isUsage(r) && matches(l, r) {
			values := usageValues(keys, r)
			id := strings.Join(values, "\x00")
			if counts[id] == nil {
				counts[id] = &usage{Keys: map[string]string{}}
				for i, key := range keys {
					counts[id].Keys[key] = values[i]
				}
			}
			counts[id].add(r)
		}
		return true
	})
	if err != nil && len(counts) == 0 {
		return err
	}
	if n := unread.count(); err == nil && n > 0 {
		err = failf("%s of %s could not be read", console.Plural(n, "line"), log)
	}
	if err != nil {
		err = failf("the figures are incomplete: %s", err)
	}
	rows := slices.SortedFunc(maps.Values(counts), func(a, b *usage) int {
		return cmp.Or(b.Calls-a.Calls, slices.Compare(a.values(keys), b.values(keys)))
	})
	out := bufio.NewWriter(cmd.OutOrStdout())
	defer out.Flush()
	write := writeUsageText
	switch f.format {
	case "json":
		write = writeUsageJSON
	case "csv":
		write = writeUsageCSV
	}
	return cmp.Or(write(out, keys, rows), err)
}

// unreadLines counts the lines that are no valid records. The time of such a line is between those of the records
// beside it.
type unreadLines struct {
	isAfterSince, isBeforeUntil func(*audit.Line, *audit.Record) bool

	n       int
	pending int  // lines after the last record
	isLate  bool // no line after the last record is counted
}

// setTimes sets the time in which lines are counted.
func (u *unreadLines) setTimes(f *audit.Filter) (err error) {
	now := time.Now()
	if u.isAfterSince, err = (&audit.Filter{Since: f.Since}).Matcher(now); err != nil {
		return err
	}
	u.isBeforeUntil, err = (&audit.Filter{Until: f.Until}).Matcher(now)
	return err
}

// see takes the next line, whose record is nil if it has none.
func (u *unreadLines) see(l *audit.Line, r *audit.Record) {
	switch {
	case r == nil && !u.isLate:
		u.pending++
	case r != nil:
		if u.isAfterSince(l, r) {
			u.n += u.pending
		}
		u.pending, u.isLate = 0, !u.isBeforeUntil(l, r)
	}
}

func (u *unreadLines) count() int { return u.n + u.pending }

// isUsage reports whether a record is about a call, or a request that was refused before it became one.
func isUsage(r *audit.Record) bool {
	return r.Event == audit.EventIntent || r.Event == audit.EventCall ||
		r.Event == audit.EventRequest && r.Outcome == audit.Refused
}

// usageValues returns what a record has for each key.
func usageValues(keys []string, r *audit.Record) []string {
	values := make([]string, len(keys))
	for i, key := range keys {
		switch key {
		case "caller":
			values[i] = cmp.Or(r.Caller.Subject, r.Caller.Key)
		case "tool":
			values[i] = r.Name
			if r.Kind != "" && r.Kind != "tool" && r.Kind != "search" && r.Name != "" {
				values[i] = r.Kind + " " + r.Name
			}
		case "client":
			values[i] = r.Caller.Client
		case "day":
			values[i] = r.Time.UTC().Format(time.DateOnly)
		}
	}
	return values
}

func (u *usage) values(keys []string) []string {
	values := make([]string, len(keys))
	for i, key := range keys {
		values[i] = u.Keys[key]
	}
	return values
}

// add counts a record. What a call was sent is in its first record, and what it came to in its last one.
func (u *usage) add(r *audit.Record) {
	if n := len(r.Arguments); n > 0 {
		in := tokens.Sample(r.Arguments)
		if r.ArgumentsSize > n {
			in = int(float64(in) * float64(r.ArgumentsSize) / float64(n))
		}
		u.TokensIn += int64(in)
	}
	if r.Event == audit.EventIntent {
		return
	}
	u.Duration += r.Duration
	u.Bytes += int64(r.Bytes)
	u.TokensOut += int64(r.Tokens)
	if r.Outcome == audit.Asked || r.Outcome == audit.Task {
		return
	}
	if r.Kind == "search" {
		u.Searches++
		return
	}
	u.Calls++
	switch r.Outcome {
	case audit.Failed, audit.Cancelled, audit.ProtocolError:
		u.Failed++
	case audit.Refused:
		u.Refused++
	}
	if r.Replayed != "" {
		u.Replayed++
	}
}

// numbers are the columns after the keys, by their names.
func (u *usage) numbers() []string {
	return []string{
		strconv.Itoa(u.Calls), strconv.Itoa(u.Failed), strconv.Itoa(u.Refused), strconv.Itoa(u.Replayed),
		strconv.Itoa(u.Searches), strconv.FormatFloat(u.Duration, 'f', 0, 64), strconv.FormatInt(u.Bytes, 10),
		strconv.FormatInt(u.TokensIn, 10), strconv.FormatInt(u.TokensOut, 10),
	}
}

var usageColumns = []string{"calls", "failed", "refused", "replayed", "searches", "ms", "bytes", "tokens_in",
	"tokens_out"}

func writeUsageText(w io.Writer, keys []string, rows []*usage) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "There are no calls.")
		return err
	}
	total := new(usage)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(append(slices.Clone(keys), "calls", "failed", "refused", "replayed", "searches",
		"ms", "bytes", "≈ tokens in", "≈ tokens out"), "\t"))
	for _, u := range rows {
		values := u.values(keys)
		for i, value := range values {
			values[i] = printable.Line(cmp.Or(value, "–"))
		}
		fmt.Fprintln(table, strings.Join(append(values, u.numbers()...), "\t"))
		total.sum(u)
	}
	last := append([]string{"total"}, slices.Repeat([]string{""}, len(keys)-1)...)
	fmt.Fprintln(table, strings.Join(append(last, total.numbers()...), "\t"))
	return table.Flush()
}

func (u *usage) sum(other *usage) {
	u.Calls, u.Failed, u.Refused = u.Calls+other.Calls, u.Failed+other.Failed, u.Refused+other.Refused
	u.Replayed, u.Searches = u.Replayed+other.Replayed, u.Searches+other.Searches
	u.Duration, u.Bytes = u.Duration+other.Duration, u.Bytes+other.Bytes
	u.TokensIn, u.TokensOut = u.TokensIn+other.TokensIn, u.TokensOut+other.TokensOut
}

func writeUsageJSON(w io.Writer, _ []string, rows []*usage) error {
	if rows == nil {
		rows = []*usage{}
	}
	for _, u := range rows {
		u.Duration = float64(int64(u.Duration*10+0.5)) / 10
	}
	text, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}

// writeUsageCSV writes cells that no spreadsheet computes and no terminal obeys: callers choose the names of their
// clients, and of tools that do not exist.
func writeUsageCSV(w io.Writer, keys []string, rows []*usage) error {
	out := csv.NewWriter(w)
	out.Write(append(slices.Clone(keys), usageColumns...))
	for _, u := range rows {
		values := u.values(keys)
		for i, value := range values {
			if values[i] = printable.Line(value); printable.StartsFormula(values[i]) {
				values[i] = "'" + values[i]
			}
		}
		out.Write(append(values, u.numbers()...))
	}
	out.Flush()
	return out.Error()
}
