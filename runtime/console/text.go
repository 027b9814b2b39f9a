package console

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"hatchel/runtime/approval"
	"hatchel/runtime/audit"
	"hatchel/runtime/call"
)

// formatTime returns a time in UTC for people.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// clock returns the first of these times that is known, without its day.
func clock(times ...time.Time) string {
	for _, t := range times {
		if !t.IsZero() {
			return t.UTC().Format("15:04:05")
		}
	}
	return "unknown"
}

// ago returns how long before now a moment was, in its largest unit.
func ago(t, now time.Time) string {
	switch d := now.Sub(t).Round(time.Second); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s ago", max(0, int(d.Seconds())))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days ago", int(d.Hours()/24))
	}
}

// left returns how long a moment is after now.
func left(t, now time.Time) string {
	d := t.Sub(now).Round(time.Second)
	switch {
	case d <= 0:
		return "expired"
	case d < 2*time.Hour:
		return fmt.Sprintf("%d:%02d left", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h left", int(d.Hours()))
}

// matches reports whether a pattern, in which * matches any characters, is empty or matches a text.
func matches(pattern, text string) bool { return pattern == "" || audit.MatchAny(pattern, text) }

// shellWord returns a text as one word of a shell.
func shellWord(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// verdict returns what the rules decide, with its colour.
func verdict(e *call.Explanation) condition {
	switch e.Verdict {
	case "allowed":
		return condition{"ok", "allowed"}
	case "denied":
		return condition{"bad", "denied"}
	case "approve":
		return condition{"warn", "needs an approval"}
	}
	return condition{"off", "depends on its inputs"}
}

// cut returns the beginning of a text, in one line.
func cut(text string, maxRunes int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxRunes {
		return string(runes[:maxRunes]) + "…"
	}
	return text
}

// approvalState returns the status of an approval with its colour.
func approvalState(s approval.Status) condition {
	class := map[approval.Status]string{
		approval.Pending: "warn", approval.Approved: "ok", approval.Used: "ok", approval.Rejected: "bad",
	}[s]
	return condition{cmp.Or(class, "off"), string(s)}
}

// recordState returns what a record of the audit log says, with its colour.
func recordState(r audit.Record) condition {
	word := cmp.Or(r.Outcome, r.Decision, r.Event)
	if r.Event == audit.EventIntent {
		word = "started"
	}
	return condition{outcomeClass(word), word}
}

// outcomeClass returns the colour of the outcome of a call, or of a decision.
func outcomeClass(outcome string) string {
	switch outcome {
	case audit.OK, "approved":
		return "ok"
	case audit.Failed, audit.ProtocolError, "rejected":
		return "bad"
	case audit.Refused, audit.Cancelled:
		return "warn"
	}
	return "off"
}

// duration returns a duration for people.
func duration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// count returns a number and its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
