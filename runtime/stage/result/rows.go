package result

import (
	"fmt"
	"sort"
	"strconv"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/internal/tokens"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/rows"
)

// Project leaves the members that the call has not chosen out of the result, unless the tool has no projection.
func (s *Shaper) Project(r *Result, input map[string]any) error {
	names := s.tool.Fields(input)
	if names == nil || !r.HasValue {
		return nil
	}
	encoded, err := value.AppendJSON(nil, r.Value)
	if err != nil {
		return failure.AsFault(explainJSON(err))
	}
	r.Value = lazyJSON(rows.Project(encoded, names, s.resultType()))
	return nil
}

// columnsOf returns the type of a list of rows whose columns the backend has told; nil for any other value.
func columnsOf(v any) *schema.Type {
	told, ok := v.(interface{ Columns() []string })
	if !ok {
		return nil
	}
	row := schema.ObjectOf()
	for _, name := range told.Columns() {
		row.Members = append(row.Members, &schema.Member{Name: name, Type: &schema.Type{Kind: schema.Any}})
	}
	return schema.ListOf(row)
}

// tableType returns the type of a result in which the call has chosen its members: with the columns that the backend
// has told, if the type does not have any, so that a table without rows has its header. It is nil when it is unknown.
func (s *Shaper) tableType(r *Result, input map[string]any) *schema.Type {
	t := s.resultType()
	elem := rows.Elem(t)
	tellsNone := t == nil || t.Kind == schema.Any || elem != nil && len(elem.Members) == 0
	if r.columns != nil && tellsNone {
		t = r.columns
	}
	if names := s.tool.Fields(input); names != nil {
		return rows.ProjectType(t, names)
	}
	return t
}

// encodeRows makes the text of a result that has a format, a maximum of tokens or pages. A list ends after the last
// element that fits, and has at least one. Table reports that the text is a table.
func (s *Shaper) encodeRows(r *Result, input map[string]any) (table bool, err error) {
	t := s.tableType(r, input)
	list, ok := rows.Find(r.Structured, t)
	if !ok {
		return false, s.useWholeAsText(r)
	}
	first := list.First
	written, table := list.Write(s.tool.Format(input), t)
	if table {
		first = written.First
	}
	limit := s.MaxText
	switch {
	case r.Page != nil:
		limit = max(limit-pageReserve, limit/2)
	case !table && s.defaults.structured:
		limit = maxStructuredFactor * s.MaxText // the text is truncated to MaxText on its own
	}
	n := list.Len()
	if fit := func(n int) bool { return s.fits(first(n), limit) }; n > 1 && !fit(n) {
		n = max(sort.Search(n, func(n int) bool { return !fit(n + 1) }), 1)
	}
	switch {
	case r.Page != nil:
		if err := s.finishPage(r, list.First(n), n); err != nil {
			return false, err
		}
	case n < list.Len():
		r.Cut = &adapters.Cut{Limit: "max_tokens = " + strconv.Itoa(s.MaxTokens)}
		if len(first(n+1)) > limit {
			r.Cut.Limit = "max_text = " + hcl.Size(limit).String()
		}
		r.Structured = list.First(n)
	}
	if !table {
		return false, s.useWholeAsText(r)
	}
	r.Text = written.AppendOthers(append(r.Text, first(n)...))
	return true, nil
}

// useWholeAsText is useAsText for a result that has no list, or whose list is cut already. Structured content above
// four times the maximum of tokens fails the call.
func (s *Shaper) useWholeAsText(r *Result) error {
	if s.fits(r.Structured, s.MaxText) || s.MaxTokens == 0 {
		s.useAsText(r)
		return nil
	}
	if s.defaults.structured {
		most := maxStructuredFactor * s.MaxTokens
		if n := tokens.Estimate(string(r.Structured)); n > most {
			return s.tooLargeError(fmt.Sprintf("≈ %d tokens", n), fmt.Sprintf("%d, four times max_tokens", most))
		}
	}
	r.Text = append(r.Text, r.Structured...)
	return nil
}
