package http

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hatchel/adapters"
)

// Plan implements adapters.Planner. It returns the request line, the headers and the body.
func (a *action) Plan(call *adapters.Call) (string, error) {
	r := &compiledRequest{dryRun: true}
	if err := a.fill(call.Frame.Context, call.Frame, nextPage{}, r); err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s\n", a.method, r.address())
	for _, name := range slices.Sorted(maps.Keys(r.header)) {
		for _, v := range r.header[name] {
			fmt.Fprintf(&out, "%s: %s\n", name, v)
		}
	}
	if r.body != nil {
		fmt.Fprintf(&out, "\n%s\n", adapters.PlanText(r.body, len(r.body)))
	}
	return adapters.Scrub(out.String(), r.secrets), nil
}

// Plan implements adapters.Planner. It returns the request of the first page.
func (a *paginatedAction) Plan(call *adapters.Call) (string, error) {
	first, err := a.action.Plan(call)
	if err != nil || a.paginate.MaxPages == 1 {
		return first, err
	}
	return fmt.Sprintf("%s\nand the next pages, at most %d in total\n", first, a.paginate.MaxPages), nil
}
