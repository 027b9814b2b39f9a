package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"hatchel/cmd/hatchel/console"
	"hatchel/internal/cut"
	"hatchel/internal/printable"
	"hatchel/runtime/stage/approval"
)

const listPageSize = 1000

// approvalRow is an approval as a source shows it.
type approvalRow struct {
	ID     string          `json:"id"`
	Status approval.Status `json:"status"`
	approval.Request
	Digest   string             `json:"digest"`
	Decision *approval.Decision `json:"decision"`
	Call     *approval.Call     `json:"call,omitempty"`
}

// decodeApproval decodes an approval of a source.
func decodeApproval(text []byte) (*approvalRow, error) {
	a := new(approvalRow)
	if err := json.Unmarshal(printable.EscapeJSON(text), a); err != nil || a.ID == "" {
		return nil, errors.New("the approval cannot be decoded")
	}
	return a, nil
}

// listApprovals returns all approvals with a status, or with any if it is empty: as JSON, and decoded.
func listApprovals(
	ctx context.Context, source approvalSource, status approval.Status,
) (texts []json.RawMessage, rows []*approvalRow, err error) {
	q := approval.ListQuery{Status: status, Limit: listPageSize}
	texts = []json.RawMessage{}
	for {
		page, next, err := source.ListApprovals(ctx, q)
		if err != nil {
			return nil, nil, err
		}
		for _, text := range page {
			a, err := decodeApproval(text)
			if err != nil {
				return nil, nil, err
			}
			texts, rows = append(texts, printable.EscapeJSON(text)), append(rows, a)
		}
		if q.After = next; next == "" {
			return texts, rows, nil
		}
	}
}

const maxCell = 60 // characters

// printApprovals prints approvals, one a line; all says that not only pending ones are listed.
func printApprovals(w io.Writer, rows []*approvalRow, all bool, now time.Time) error {
	var text bytes.Buffer
	out := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	heading := "EXPIRES"
	if all {
		heading = "STATUS"
	}
	fmt.Fprintf(out, "ID\tTOOL\tREQUESTED BY\t%s\tMESSAGE\n", heading)
	for _, a := range rows {
		cells := []string{a.ID, a.Tool, requester(&a.Caller), relativeTime(a.Deadline, now), a.Message}
		if a.Partial {
			cells[4] = "(incomplete) " + a.Message
		}
		if all {
			cells[3] = statusText(a, now)
		}
		for i, c := range cells {
			cells[i] = cut.Runes(console.JoinLines(approval.EscapeText(c)), maxCell)
		}
		fmt.Fprintln(out, strings.Join(cells, "\t"))
	}
	out.Flush()
	head, rest, _ := bytes.Cut(text.Bytes(), []byte("\n"))
	if console.IsTerminal(w) {
		head = fmt.Appendf(nil, "\x1b[1m%s\x1b[0m", head)
	}
	_, err := fmt.Fprintf(w, "%s\n%s", head, rest)
	return err
}

// statusText returns the status of an approval and who decided it.
func statusText(a *approvalRow, now time.Time) string {
	switch d := a.Decision; {
	case a.Status == approval.Pending:
		return "pending, expires " + relativeTime(a.Deadline, now)
	case d == nil || a.Status == approval.Void:
		return string(a.Status)
	case a.Status == approval.Used && a.Call != nil:
		return "approved by " + d.By + ", " + printable.Line(a.Call.String())
	case a.Status == approval.Used:
		return "approved by " + d.By + ", used"
	case a.Status == approval.Expired:
		return "approved by " + d.By + ", expired"
	default:
		return string(a.Status) + " by " + d.By
	}
}

func relativeTime(t, now time.Time) string {
	d := t.Sub(now).Truncate(time.Second)
	if d.Abs() >= time.Hour {
		d = d.Truncate(time.Minute)
	}
	switch {
	case d == 0 && t.Before(now):
		return "just now"
	case d < 0:
		return d.Abs().String() + " ago"
	}
	return "in " + d.String()
}

func requester(w *approval.Requester) string {
	switch {
	case w.Subject != "":
		return w.Subject
	case w.Remote != "":
		return "unknown at " + w.Remote
	}
	return "unknown"
}

// Print prints all of an approval.
func (a *approvalRow) Print(out io.Writer, now time.Time) {
	lines := [][2]string{
		{"id", a.ID},
		{"status", statusText(a, now)},
		{"tool", a.Tool},
		{"title", a.Title},
		{"requester", requesterDetails(&a.Caller)},
		{"requested", formatTime(a.RequestedAt, now)},
		{"expires", formatTime(a.Deadline, now)},
		{"rules", strings.Join(a.Rules, ", ")},
		{"revision", cut.Runes(a.Revision, 13)},
		{"digest", a.Digest},
	}
	switch d := a.Decision; {
	case d != nil && a.Status == approval.Void:
		lines = append(lines, [2]string{"voided", formatTime(d.At, now)}, [2]string{"reason", d.Reason})
	case d != nil:
		lines = append(lines, [2]string{"decided by", d.By}, [2]string{"decided", formatTime(d.At, now)},
			[2]string{"reason", d.Reason})
	}
	if a.Partial {
		fmt.Fprintln(out, "WARNING     the effect or the arguments are truncated: an approval also covers "+
			"what is not shown")
	}
	for _, line := range lines {
		if line[1] != "" {
			fmt.Fprintf(out, "%-11s %s\n", line[0], indentLines(line[1], 12))
		}
	}
	parts := [][2]string{{"message", a.Message}, {"effect", a.Effect}, {"arguments", indentJSON(a.Arguments)}}
	for _, o := range a.Before {
		what := "before: " + o.Name + ", read " + formatTime(o.At, now)
		parts = append(parts, [2]string{what, cmp.Or(o.Error, indentJSON(o.Result))})
	}
	for _, part := range parts {
		if strings.TrimSpace(part[1]) != "" {
			fmt.Fprintf(out, "%s\n  %s\n", part[0], indentLines(strings.TrimRight(part[1], "\n"), 2))
		}
	}
}

// indentLines escapes a text and indents all lines but the first, so that a caller cannot forge a
// line of the output.
func indentLines(text string, by int) string {
	return strings.ReplaceAll(approval.EscapeText(text), "\n", "\n"+strings.Repeat(" ", by))
}

func formatTime(t, now time.Time) string {
	return t.Local().Format("2006-01-02 15:04:05 MST") + ", " + relativeTime(t, now)
}

func requesterDetails(w *approval.Requester) string {
	text := requester(w)
	addIf := func(applies bool, fact string) {
		if applies {
			text += fact
		}
	}
	described := strings.HasPrefix(w.Key, "os:") // by a command line, as by serve --stdio --claim
	addIf(described, ", as "+w.Key+" says")
	addIf(!described && w.Key != "" && w.Key != w.Subject, ", authenticated by "+w.Key)
	addIf(w.Remote != "" && w.Subject != "", ", from "+w.Remote)
	addIf(w.Client != "", ", client "+w.Client)
	addIf(len(w.Groups) > 0, "; groups "+strings.Join(w.Groups, ", "))
	return text
}

func indentJSON(text json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, printable.EscapeJSON(text), "", "  ") != nil {
		return string(text)
	}
	return b.String()
}

// PrintDecision confirms a decision: approve or reject.
func (a *approvalRow) PrintDecision(out io.Writer, verb string) {
	decided := "approved" // it may be used already
	switch {
	case a.Status == approval.Pending:
		decided = "the decision to " + verb + " is stored, and takes effect when a server has recorded it in its " +
			"audit log"
	case a.Status == approval.Rejected:
		decided = "rejected"
	}
	by := printable.Line(requester(&a.Caller))
	fmt.Fprintf(out, "%s %s: %s for %s\n", a.ID, decided, printable.Line(a.Tool), by)
	if a.Decision != nil && a.Decision.Reason != "" {
		fmt.Fprintf(out, "reason: %s\n", indentLines(a.Decision.Reason, 8))
	}
}
