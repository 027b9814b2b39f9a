package http

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// statuses are the statuses that patterns such as "2xx" and "404" match.
type statuses []statusRange

type statusRange struct{ from, to int }

func (s statuses) contains(status int) bool {
	return slices.ContainsFunc(s, func(r statusRange) bool { return r.from <= status && status <= r.to })
}

var statusPattern = regexp.MustCompile(`^[1-5](\d\d|[xX]{2})$`)

// parseStatuses parses patterns such as "2xx" and "404".
func parseStatuses(patterns []string) (all statuses, err error) {
	for _, p := range patterns {
		if !statusPattern.MatchString(p) {
			return nil, fmt.Errorf(`%q is not a status. Write one such as "404", or a class such as "2xx"`, p)
		}
		status, err := strconv.Atoi(p)
		if err != nil { // a class
			from := int(p[0]-'0') * 100
			all = append(all, statusRange{from, from + 99})
			continue
		}
		all = append(all, statusRange{status, status})
	}
	return all, nil
}
