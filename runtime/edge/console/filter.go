package console

import (
	"cmp"
	"html"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/served"
)

// filterBar is the form above a list that selects its rows. What selects something is a chip below it.
type filterBar struct {
	Path   string
	Fields []filterField
	Chips  []chip
	Clear  string // address of the list without the chips; empty for one chip at most
}

// filterField is a value that selects rows: one of a list, or a text for which the list has proposals.
type filterField struct {
	Name, Label, Value string
	Choices            []choice
	IsText             bool
	Hint               string // an example of a text
}

// isChosen reports whether the field has the value of a choice.
func (f filterField) isChosen(c choice) bool { return c.Value == f.Value }

// Proposals returns the choices of a text. A template would take most of the time of a page for them.
func (f filterField) Proposals() template.HTML {
	var out strings.Builder
	for _, c := range f.Choices {
		text := ""
		if c.Text != c.Value {
			text = html.EscapeString(c.Text)
		}
		for _, part := range []string{`<option value="`, html.EscapeString(c.Value), `">`, text, "</option>"} {
			out.WriteString(part)
		}
	}
	return template.HTML(out.String())
}

// choice is a value of a list.
type choice struct{ Value, Text string }

// chip is a field that selects something.
type chip struct {
	Label, Text string
	Remove      string // address of the list without it
}

// newFilterBar returns the bar of the page that is asked for. The fields have the values of its address, unless they
// have one already.
func newFilterBar(q *request, fields ...filterField) *filterBar {
	bar := &filterBar{Path: q.URL.Path, Fields: fields}
	values := q.URL.Query()
	for i := range fields {
		f := &fields[i]
		f.Value = cmp.Or(f.Value, values.Get(f.Name))
		at := slices.IndexFunc(f.Choices, func(c choice) bool { return c.Value == f.Value })
		if f.Value == "" || !f.IsText && at <= 0 {
			continue // it is what a list without a filter has
		}
		text := f.Value
		if at >= 0 {
			text = f.Choices[at].Text
		}
		bar.Chips = append(bar.Chips, chip{f.Label, text, addressWithout(q, f.Name)})
	}
	if len(bar.Chips) > 1 {
		bar.Clear = bar.Path
	}
	return bar
}

// places are what addresses have of a place in a list.
var places = []string{"after", "before", "shown", "page", "callers"}

// addressWithout returns the address of the page without a value of its query, at the beginning of the list.
func addressWithout(q *request, name string) string {
	values := url.Values{}
	for other, v := range q.URL.Query() {
		if other != name && !slices.Contains(places, other) {
			values[other] = v
		}
	}
	if len(values) == 0 {
		return q.URL.Path
	}
	return q.URL.Path + "?" + values.Encode()
}

// maxProposals is how many values the list of a field has.
const maxProposals = 200

// choicesOf returns these values as choices, sorted.
func choicesOf(values map[string]bool) (choices []choice) {
	for _, v := range slices.Sorted(maps.Keys(values)) {
		if v != "" && len(choices) < maxProposals {
			choices = append(choices, choice{v, v})
		}
	}
	return choices
}

// problems selects the outcomes of all calls that did not do what was asked.
const problems = "problems"

// seen are the values that the rows of a list have, which its filter proposes.
type seen struct{ callers, rules map[string]bool }

func (s *seen) add(caller, rule string) {
	if s.callers == nil {
		s.callers, s.rules = map[string]bool{}, map[string]bool{}
	}
	s.callers[caller], s.rules[rule] = true, true
}

// recordFields are the fields of the lists of calls and of the audit log.
func recordFields(g *served.Served, in *seen) []filterField {
	outcomes := []choice{{"", "all"}, {problems, "failed or refused"}}
	for _, o := range audit.Outcomes {
		outcomes = append(outcomes, choice{o, o})
	}
	return []filterField{
		toolField(g),
		{Name: "caller", Label: "Caller", Choices: choicesOf(in.callers), IsText: true, Hint: "any"},
		{Name: "outcome", Label: "Outcome", Choices: outcomes},
		{Name: "rule", Label: "Rule", Choices: choicesOf(in.rules), IsText: true, Hint: "any"},
		{Name: "since", Label: "Since", IsText: true, Hint: "24h or date", Choices: []choice{
			{"15m", "15 minutes ago"}, {"1h", "an hour ago"}, {"24h", "24 hours ago"}, {"168h", "7 days ago"},
		}},
		{Name: "until", Label: "Until", IsText: true, Hint: "1h or date"},
	}
}

// recordFilter returns what the fields of a request select, and whether only problems are.
func recordFilter(q *request) (f audit.Filter, onlyProblems bool) {
	values := q.URL.Query()
	f = audit.Filter{
		Tool: values.Get("tool"), Caller: values.Get("caller"), Outcome: values.Get("outcome"),
		Rule: values.Get("rule"), Since: values.Get("since"), Until: values.Get("until"), Text: values.Get("text"),
	}
	if onlyProblems = f.Outcome == problems; onlyProblems {
		f.Outcome = ""
	}
	return f, onlyProblems
}

// isProblem reports whether a call with this outcome did not do all that was asked.
func isProblem(outcome string) bool {
	class := stateOf(outcome).Class
	return class == "bad" || class == "warn"
}

// day is the rows of a list that belong to one day, in UTC.
type day[T any] struct {
	ID, Name string
	Rows     []T
}

// days groups rows, which are sorted by their times.
func days[T any](rows []T, of func(T) time.Time) (days []day[T]) {
	for _, row := range rows {
		at := of(row).UTC()
		id := at.Format(time.DateOnly)
		if len(days) == 0 || days[len(days)-1].ID != id {
			days = append(days, day[T]{ID: id, Name: at.Format("Monday, 2 January 2006")})
		}
		last := &days[len(days)-1]
		last.Rows = append(last.Rows, row)
	}
	return days
}

// toolField is the field of a list for what was called.
func toolField(g *served.Served) filterField {
	names := map[string]bool{}
	for _, p := range g.Sorted {
		names[p.Decl.Name] = true
	}
	return filterField{Name: "tool", Label: "Tool", Choices: choicesOf(names), IsText: true, Hint: "any, ord*"}
}

// statusField is the field of a list for a status. The first of all is that of a list without a filter.
func statusField[S ~string](value string, all []S) filterField {
	f := filterField{Name: "status", Label: "Status", Value: value}
	for _, s := range all {
		f.Choices = append(f.Choices, choice{string(s), stateOf(s).Word})
	}
	return f
}
