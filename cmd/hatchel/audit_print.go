package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"hatchel/internal/printable"
	"hatchel/runtime/durable/audit"
)

// printAuditRecord prints a record in one line.
func printAuditRecord(w io.Writer, r *audit.Record) {
	target := strings.TrimSpace(r.Kind + " " + r.Name)
	if r.Event == audit.EventFile {
		target = r.Name
	}
	if r.URI != "" {
		target = strings.TrimSpace(target + " " + r.URI)
	}
	parts := []string{
		r.Time.Format("2006-01-02T15:04:05.000Z"), fmt.Sprintf("%-9s", eventWord(r)),
		target, callerText(&r.Caller), string(r.Arguments),
	}
	for i := range r.Identities {
		parts = append(parts, r.Identities[i].String())
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
	case r.Event == audit.EventSignIn:
		addIf(r.Rule != "" && r.Rule != "default", "by %s", r.Rule)
	case r.Rule != "" && r.Rule != "default" || r.Decision == "denied":
		parts = append(parts, r.Decision+" by "+r.Rule)
	}
	if a := r.Approval; a != nil && r.Event != audit.EventApproval && a.By != "" {
		parts = append(parts, "approval "+a.ID+" by "+a.By)
	}
	if r.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d failed", r.Failed, r.Of))
	}
	addIf(r.Replayed != "", "replayed by the %s", r.Replayed)
	addIf(r.Task != "", "task %s", r.Task)
	addIf(r.LostBytes > 0, "%d bytes before this record are not valid", r.LostBytes)
	parts = append(parts, r.File, strings.Join(r.Removed, " "), r.Message)
	parts = slices.DeleteFunc(parts, func(s string) bool { return strings.TrimSpace(s) == "" })
	fmt.Fprintln(w, strings.TrimRight(printable.Line(strings.Join(parts, "  ")), " "))
}

// eventWord names the event of a record in one word.
func eventWord(r *audit.Record) string {
	switch r.Event {
	case audit.EventCall, audit.EventRequest, audit.EventSignIn:
		return r.Outcome
	case audit.EventIntent:
		return audit.Started
	case audit.EventApproval:
		return r.Decision
	case audit.EventFile:
		return r.Kind
	}
	return r.Event
}

func callerText(c *audit.Caller) string {
	caller := c.Subject
	if c.Key != "" && c.Key != caller {
		caller = strings.TrimSpace(caller + " (" + c.Key + ")")
	}
	if c.Remote != "" {
		caller = strings.TrimSpace(caller + " from " + c.Remote)
	}
	return caller
}
