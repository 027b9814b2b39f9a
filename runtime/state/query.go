package state

import (
	"strconv"
	"strings"
	"time"
)

// Query says which records are listed: those of a kind, by Due and then by Name.
type Query struct {
	Kind  string
	Group string    // only those; empty for all
	Until time.Time // only those that are due until then; zero for all
	After *Record   // only those that come after this one; nil for all
	Limit int       // how many at most; at least 1
}

// clauses are the query in SQL, with its arguments. Every one of them is used once, in their order, so that all databases read it in the same way.
func (q *Query) clauses() (clauses string, arguments []any) {
	var b strings.Builder
	add := func(text string, values ...any) {
		for _, value := range values {
			arguments = append(arguments, value)
			text = strings.Replace(text, "?", "$"+strconv.Itoa(len(arguments)), 1)
		}
		b.WriteString(text)
	}
	add(" WHERE kind = ? AND expires > ?", q.Kind, now())
	if q.Group != "" {
		add(" AND grp = ?", q.Group)
	}
	if !q.Until.IsZero() {
		add(" AND due <= ?", q.Until.UnixMilli())
	}
	if q.After != nil {
		add(" AND (due, name) > (?, ?)", q.After.Due.UnixMilli(), q.After.Name)
	}
	add(" ORDER BY due, name LIMIT ?", max(q.Limit, 1))
	return b.String(), arguments
}
