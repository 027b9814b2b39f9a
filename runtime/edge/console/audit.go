package console

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hatchel/runtime/durable/audit"
	"hatchel/runtime/durable/store"
)

const auditPath = "/console/audit"

// auditData is the data of the audit page.
type auditData struct {
	Filter  *filterBar
	Problem string // why nothing is shown; empty when records are
	Rows    []audit.Record
	Invalid int    // lines that are not records
	Next    string // address of what comes after; empty for none
	Cut     bool   // the page ends because reading took long
	Command string // that gives the same
	Chain   string // what a check of the whole chain says; empty when none was wanted
	Health  *store.Health
}

const (
	recordsPerPage = 100
	maxCheck       = 5 * time.Second
)

// audit searches the audit log, the newest records first.
func (c *Console) audit(q *request) (*answer, error) {
	g, err := c.admit(q)
	if err != nil {
		return nil, err
	}
	values, in := q.URL.Query(), &seen{}
	readiness, _ := c.Host.Readiness(q.Context())
	filter, onlyProblems := recordFilter(q)
	data := &auditData{Health: readiness.Audit, Command: auditCommand(&filter)}
	out := &answer{template: "audit", title: "Audit", data: data}
	defer func() {
		text := filterField{Name: "text", Label: "Text in the record", IsText: true, Hint: "any"}
		data.Filter = newFilterBar(q, append(recordFields(g, in), text)...)
	}()
	log, why := g.AuditSource()
	if log == nil {
		data.Problem = why
		return out, nil
	}
	before, _ := strconv.ParseInt(values.Get("before"), 10, 64) // the newest for anything else
	next, err := data.read(q, log, &filter, before, func(r *audit.Record) bool {
		in.add(r.Caller.Subject, r.Rule)
		return !onlyProblems || isProblem(r.Outcome)
	})
	if err != nil {
		data.Problem, out.status = err.Error(), http.StatusUnprocessableEntity
	}
	if next > 0 {
		data.Next = q.addressWith("before", strconv.FormatInt(next, 10))
	}
	if values.Has("check") {
		data.Chain = checkChain(q.Context(), log)
	}
	return out, nil
}

// read reads one page of the records that the filter selects and that are wanted, and returns the sequence before which
// the next one begins; 0 for none.
func (d *auditData) read(
	q *request, log audit.Source, f *audit.Filter, before int64, wanted func(*audit.Record) bool,
) (next int64, err error) {
	matches, err := f.Matcher(q.now)
	if err != nil {
		return 0, err
	}
	last := int64(0)
	d.Cut, err = readBack(q.Context(), log, before, func(l *audit.Line) bool {
		r, ok := l.Record()
		switch {
		case !ok:
			d.Invalid++
			return true
		case wanted(&r) && matches(l, &r):
			d.Rows = append(d.Rows, r)
		}
		last = r.Sequence
		return len(d.Rows) < recordsPerPage
	})
	if last > 1 && (d.Cut || len(d.Rows) == recordsPerPage) {
		next = last
	}
	return next, err
}

// Days returns the records by their days.
func (d *auditData) Days() []day[audit.Record] {
	return days(d.Rows, func(r audit.Record) time.Time { return r.Time })
}

// readBack reads a log, the newest line first, until each returns false, and for at most maxSearch. It reports whether
// this time was over. A log in which nothing was recorded yet has no lines.
func readBack(ctx context.Context, log audit.Source, before int64, each func(*audit.Line) bool) (late bool, err error) {
	began := time.Now()
	err = log.ReadBack(ctx, before, func(l *audit.Line) bool {
		more := each(l)
		late = more && time.Since(began) > maxSearch
		return more && !late
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return late, err
}

// auditCommand returns the command that prints the same records.
func auditCommand(f *audit.Filter) string {
	return shellCommand("hatchel audit", [][2]string{
		{"tool", f.Tool}, {"caller", f.Caller}, {"outcome", f.Outcome}, {"rule", f.Rule}, {"since", f.Since},
		{"until", f.Until}, {"text", f.Text},
	}) + " DIR"
}

// timedLog is a log that is read for a limited time.
type timedLog struct {
	audit.Source
	until time.Time
	late  bool
}

// Read implements audit.Source.
func (t *timedLog) Read(ctx context.Context, each func(*audit.Line) bool) error {
	return t.Source.Read(ctx, func(l *audit.Line) bool {
		t.late = t.late || time.Now().After(t.until)
		return !t.late && each(l)
	})
}

// checkChain says whether the hash chain of a log holds.
func checkChain(ctx context.Context, log audit.Source) string {
	timed := &timedLog{Source: log, until: time.Now().Add(maxCheck)}
	v, err := audit.Verify(ctx, timed)
	switch {
	case err != nil:
		return "The log cannot be read: " + err.Error()
	case v.Broken == nil && timed.late:
		return "The log is too long to be checked here: run hatchel audit --verify DIR. So far " + v.String()
	}
	return strings.ToUpper(v.String()[:1]) + v.String()[1:]
}

// recordPath returns the address of the page of the approval or the call of a record; empty if it has none.
func recordPath(r audit.Record) string {
	switch {
	case r.Event == audit.EventApproval:
		return approvalPath(r.ID)
	case r.Event == audit.EventIntent, r.Event == audit.EventCall:
		return callPath(r.ID)
	}
	return ""
}

// callPath returns the address of the page of a call.
func callPath(id string) string { return "/console/calls/" + url.PathEscape(id) }
