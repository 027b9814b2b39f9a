package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"hatchel/cmd/hatchel/console"
	"hatchel/hcl/eventkind"
	"hatchel/internal/cut"
	"hatchel/internal/printable"
)

// eventLine is what is printed of an event.
type eventLine struct {
	ID         string
	Type       string
	Time       time.Time
	Tool       string
	Prompt     string
	Resource   string
	Caller     struct{ Subject, Client string }
	Subject    string
	Step       string
	Kind       string
	Outcome    string
	Failed     int
	Of         int
	Error      string
	MS         *float64
	Rows       int
	State      string
	Connection string
	Message    string
	Reason     string
	Count      int
	Status     string
	Result     string
	Lost       *int
	Input      json.RawMessage
	Approval   struct{ ID, Status string }
	Report     struct {
		Revision    string
		Diagnostics []struct{ Severity string }
	}
}

// maxEventInput is how many characters of the arguments are printed.
const maxEventInput = 80

// eventID returns the ID of an event, which is one line of JSON.
func eventID(text []byte) (string, error) {
	var e struct{ ID string }
	if err := json.Unmarshal(text, &e); err != nil {
		return "", fmt.Errorf("the server has sent a line that is no event: %w", err)
	}
	return e.ID, nil
}

// printEvent prints an event, which is one line of JSON, as a line with the local time. Characters that control a
// terminal are replaced.
func printEvent(w io.Writer, text []byte) error {
	var e eventLine
	if err := json.Unmarshal(text, &e); err != nil {
		return fmt.Errorf("the server has sent a line that is no event: %w", err)
	}
	words := []string{e.Time.Local().Format(time.TimeOnly), fmt.Sprintf("%-18s", e.Type)}
	add := func(format string, value any) { words = append(words, fmt.Sprintf(format, value)) }
	for _, text := range []string{e.Tool, e.Prompt, e.Resource, e.Connection, e.Step, e.Kind, e.State, e.Result,
		e.Approval.ID, e.Approval.Status, e.Status, e.Outcome, e.Reason} {
		if text != "" && text != words[len(words)-1] {
			add("%s", text)
		}
	}
	if e.MS != nil {
		add("%.4g ms", *e.MS)
	}
	if e.Rows > 0 {
		words = append(words, console.Plural(e.Rows, "row"))
	}
	if e.Failed > 0 {
		words = append(words, fmt.Sprintf("%d of %d failed", e.Failed, e.Of))
	}
	if e.Count > 1 {
		add("%d times", e.Count)
	}
	for _, who := range []string{e.Caller.Subject, e.Subject} {
		if who != "" {
			add("by %s", who)
		}
	}
	if e.Caller.Client != "" {
		add("(%s)", e.Caller.Client)
	}
	if e.Type == eventkind.ToolCall.String() && len(e.Input) > 0 {
		add("%s", cut.Runes(string(e.Input), maxEventInput))
	}
	if e.Type == eventkind.Gap.String() {
		words = append(words, describeGap(e.Lost))
	}
	if n := len(e.Report.Diagnostics); n > 0 {
		words = append(words, console.Plural(n, "diagnostic"))
	}
	for _, why := range []string{e.Error, e.Message} {
		if why != "" {
			add("– %s", console.FirstLine(why))
		}
	}
	_, err := fmt.Fprintln(w, printable.Line(strings.Join(words, " ")))
	return err
}

func describeGap(lost *int) string {
	if lost == nil {
		return "events are missing here"
	}
	return console.Plural(*lost, "event") + " lost"
}
