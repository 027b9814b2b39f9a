package http

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"hatchel/adapters"
)

// Plan implements adapters.Planner: the request line, the headers and the body, secrets hidden.
func (a *action) Plan(call *adapters.Call) (string, error) {
	d, err := a.build(call.Frame.Context, call.Frame, nil, &draft{method: a.method, shown: true})
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s\n", d.method, d.address())
	names := make([]string, 0, len(d.header))
	for name := range d.header {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		for _, v := range d.header[name] {
			fmt.Fprintf(&out, "%s: %s\n", name, v)
		}
	}
	switch {
	case d.body == nil:
	case utf8.Valid(d.body):
		fmt.Fprintf(&out, "\n%s\n", d.body)
	default:
		fmt.Fprintf(&out, "\n%s%d bytes]\n", adapters.NotShown, len(d.body))
	}
	return adapters.Scrub(out.String(), d.secrets), nil
}

// Plan implements adapters.Planner: the request of the first page.
func (p *pages) Plan(call *adapters.Call) (string, error) {
	first, err := p.action.Plan(call)
	if err != nil || p.paginate.MaxPages == 1 {
		return first, err
	}
	return fmt.Sprintf("%s\nand the pages after it, %d in all at most\n", first, p.paginate.MaxPages), nil
}
