package console

import (
	"fmt"
	"strconv"
)

// pager is the part of a list that a page shows.
type pager struct {
	Total, First, Last int    // First counts from 1
	Before, After      string // addresses of the page before and the next one; empty for none
}

// Shown says which part of the list the page shows.
func (p pager) Shown(noun string) string {
	if p.First == 1 && p.Last == p.Total {
		return count(p.Total, noun)
	}
	return fmt.Sprintf("%d to %d of %s", p.First, p.Last, count(p.Total, noun))
}

// turn sets the part of a list of n, and returns where it begins and ends. The parameter of the address has the number
// of the page; anything else is the first one.
func (p *pager) turn(q *request, parameter string, n, perPage int) (from, to int) {
	page, _ := strconv.Atoi(q.URL.Query().Get(parameter))
	last := max(0, n-1) / perPage
	page = min(max(page, 1), last+1)
	from, to = (page-1)*perPage, min(n, page*perPage)
	p.Total, p.First, p.Last = n, from+1, to
	if page > 1 {
		p.Before = q.addressWith(parameter, strconv.Itoa(page-1))
	}
	if page <= last {
		p.After = q.addressWith(parameter, strconv.Itoa(page+1))
	}
	return from, to
}
