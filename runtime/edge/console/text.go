package console

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"strings"
	"time"

	"hatchel/adapters"
	"hatchel/internal/cut"
	"hatchel/internal/printable"
	"hatchel/internal/wildcard"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/stage/task"
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
	case d < time.Second:
		return "just now"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
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
func matches(pattern, text string) bool { return pattern == "" || wildcard.MatchAny(pattern, text) }

// shellCommand returns a command for a shell, with those flags that have a value.
func shellCommand(command string, flags [][2]string) string {
	for _, flag := range flags {
		if name, value := flag[0], flag[1]; value != "" {
			command += " --" + name + " '" + strings.ReplaceAll(value, "'", `'\''`) + "'"
		}
	}
	return command
}

// controlText returns a text as the value of a control. A form sends it back, so the characters that
// EscapeText replaces are references, which browsers read as the characters.
func controlText(text string) template.HTML {
	return template.HTML(printable.Replace(html.EscapeString(text), "\n", func(r rune) string {
		return fmt.Sprintf("&#%d;", r)
	}))
}

// shorten returns the beginning of a text, in one line.
func shorten(text string, maxRunes int) string {
	return cut.Runes(strings.Join(strings.Fields(text), " "), maxRunes)
}

// condition is a state in a word for people, with its colour: ok, warn, bad or off.
type condition struct{ Class, Word string }

// waitsForApproval is the condition of a call that an operator must approve first.
var waitsForApproval = condition{"warn", "waits for approval"}

// stateOf returns the condition for what the server calls a state: of a call, an approval, a task, a rule, a breaker.
func stateOf(state any) condition {
	c := condition{"off", fmt.Sprint(state)}
	switch c.Word {
	case audit.OK, "approved", "allowed", "closed", task.Working, task.Completed, adapters.UpstreamReady:
		c.Class = "ok"
	case audit.Failed, audit.ProtocolError, "rejected", "denied", "open", adapters.UpstreamDrifted:
		c.Class = "bad"
	case audit.Partial, audit.Refused, audit.Cancelled, "pending", "half-open", adapters.UpstreamStarting:
		c.Class = "warn"
	case task.Waiting:
		return condition{"warn", "waits for an answer"}
	case "used":
		return condition{"ok", "approved, call made"}
	case "approve":
		return condition{"warn", "needs an approval"}
	}
	return c
}

// recordState returns what a record of the audit log says.
func recordState(r audit.Record) condition {
	if r.Event == audit.EventIntent {
		return condition{"off", "started"}
	}
	if said := cmp.Or(r.Outcome, r.Decision); said != "" {
		return stateOf(said)
	}
	return condition{"off", r.Event}
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
