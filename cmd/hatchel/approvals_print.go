package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"hatchel/runtime/approval"
)

// list prints all that there is, a page after the other.
func (r *reviewing) list(cmd *cobra.Command, at reviewed, all bool) error {
	q := approval.ListQuery{Status: approval.Pending, Limit: 1000}
	if all {
		q.Status = ""
	}
	var found []*listed
	for {
		page, next, err := at.list(cmd.Context(), q)
		if err != nil {
			return r.undecided("", err)
		}
		found = append(found, page...)
		if q.After = next; next == "" {
			break
		}
	}
	out := cmd.OutOrStdout()
	switch {
	case r.asJSON:
		texts := make([]json.RawMessage, len(found))
		for i, a := range found {
			texts[i] = approval.Harmless(a.text)
		}
		return printJSON(out, texts)
	case len(found) == 0 && !all:
		fmt.Fprintln(cmd.ErrOrStderr(), "hatchel: nothing waits for approval")
		return nil
	case len(found) == 0:
		fmt.Fprintln(cmd.ErrOrStderr(), "hatchel: nobody has asked for approval, or what was decided is forgotten")
		return nil
	}
	return printTable(out, found, all, time.Now())
}

// printTable prints a line for each.
func printTable(w io.Writer, found []*listed, all bool, now time.Time) error {
	var text bytes.Buffer
	out := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	heads, status := []string{"ID", "TOOL", "ASKED BY", "ENDS", "MESSAGE"}, 3
	if all {
		heads = []string{"ID", "TOOL", "ASKED BY", "STATUS", "MESSAGE"}
	}
	fmt.Fprintln(out, strings.Join(heads, "\t"))
	for _, a := range found {
		cells := []string{a.ID, a.Tool, asker(&a.Caller), away(a.Until, now), a.Message}
		if a.Partial {
			cells[4] = "(not all is shown) " + a.Message
		}
		if all {
			cells[status] = standing(a, now)
		}
		for i, c := range cells {
			cells[i] = short(strings.Join(strings.Fields(approval.Legible(c)), " "), 60)
		}
		fmt.Fprintln(out, strings.Join(cells, "\t"))
	}
	out.Flush()
	head, rest, _ := bytes.Cut(text.Bytes(), []byte("\n"))
	if isTerminal(w) {
		head = fmt.Appendf(nil, "\x1b[1m%s\x1b[0m", head)
	}
	_, err := fmt.Fprintf(w, "%s\n%s", head, rest)
	return err
}

// standing is what has become of an approval, in a few words.
func standing(a *listed, now time.Time) string {
	switch d := a.Decision; {
	case a.Status == approval.Pending:
		return "pending, ends " + away(a.Until, now)
	case d == nil:
		return string(a.Status)
	case a.Status == approval.Void:
		return "void"
	case a.Status == approval.Used:
		return "approved by " + d.By + ", used"
	case a.Status == approval.Expired:
		return "approved by " + d.By + ", not used in time"
	default:
		return string(a.Status) + " by " + d.By
	}
}

// away is how far off a time is.
func away(t, now time.Time) string {
	d := t.Sub(now)
	if d < 0 {
		return span(-d) + " ago"
	}
	return "in " + span(d)
}

func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

func asker(w *approval.Who) string {
	switch {
	case w.Subject != "":
		return w.Subject
	case w.Remote != "":
		return "somebody at " + w.Remote
	}
	return "somebody"
}

func short(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// print shows one whole.
func (r *reviewing) print(cmd *cobra.Command, a *listed) error {
	out := cmd.OutOrStdout()
	if r.asJSON {
		return printJSON(out, json.RawMessage(approval.Harmless(a.text)))
	}
	now := time.Now()
	rows := [][2]string{
		{"id", a.ID}, {"status", standing(a, now)}, {"tool", a.Tool}, {"title", a.Title}, {"asked by", fullAsker(&a.Caller)},
		{"asked at", moment(a.Asked, now)}, {"until", moment(a.Until, now)}, {"rules", strings.Join(a.Rules, ", ")}, {"revision", short(a.Revision, 13)},
	}
	switch d := a.Decision; {
	case d != nil && a.Status == approval.Void:
		rows = append(rows, [2]string{"void since", moment(d.At, now)}, [2]string{"reason", d.Reason})
	case d != nil:
		rows = append(rows, [2]string{"decided by", d.By}, [2]string{"decided at", moment(d.At, now)}, [2]string{"reason", d.Reason})
	}
	if a.Partial {
		fmt.Fprintln(out, "WARNING     not all of what would be done, or of the arguments, is shown here: who approves it, approves what is left out, too")
	}
	for _, row := range rows {
		if row[1] != "" {
			fmt.Fprintf(out, "%-11s %s\n", row[0], indented(row[1], 12))
		}
	}
	for _, part := range [][2]string{{"message", a.Message}, {"effect", a.Effect}, {"arguments", pretty(a.Arguments)}} {
		if strings.TrimSpace(part[1]) != "" {
			fmt.Fprintf(out, "%s\n  %s\n", part[0], indented(strings.TrimRight(part[1], "\n"), 2))
		}
	}
	return nil
}

// indented is a text whose later lines stand below the first: what a caller has sent cannot look like a line of ours.
func indented(text string, by int) string {
	return strings.ReplaceAll(approval.Legible(text), "\n", "\n"+strings.Repeat(" ", by))
}

func moment(t, now time.Time) string {
	return t.Local().Format("2006-01-02 15:04:05 MST") + ", " + away(t, now)
}

func fullAsker(w *approval.Who) string {
	said := asker(w)
	if w.Key != "" && w.Key != w.Subject {
		said += ", as " + w.Key + " vouches"
	}
	if w.Remote != "" && w.Subject != "" {
		said += ", from " + w.Remote
	}
	if w.Client != "" {
		said += ", with " + w.Client
	}
	if len(w.Groups) > 0 {
		said += "; groups " + strings.Join(w.Groups, ", ")
	}
	return said
}

// pretty is JSON on lines of its own.
func pretty(text json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, approval.Harmless(text), "", "  ") != nil {
		return string(text)
	}
	return b.String()
}

// printDecided says what was decided.
func (r *reviewing) printDecided(cmd *cobra.Command, a *listed) error {
	if r.asJSON {
		return r.print(cmd, a)
	}
	out, decided := cmd.OutOrStdout(), "approved" // it may be used already
	if a.Status == approval.Rejected {
		decided = "rejected"
	}
	fmt.Fprintf(out, "%s %s: %s for %s\n", a.ID, decided, printable(a.Tool), printable(asker(&a.Caller)))
	if a.Decision != nil && a.Decision.Reason != "" {
		fmt.Fprintf(out, "reason: %s\n", indented(a.Decision.Reason, 8))
	}
	return nil
}
