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

var (
	statusClass = regexp.MustCompile(`^[1-5][xX][xX]$`)
	statusCode  = regexp.MustCompile(`^[1-5][0-9][0-9]$`)
)

func parseStatus(pattern string) (statusRange, error) {
	switch {
	case statusClass.MatchString(pattern):
		from := int(pattern[0]-'0') * 100
		return statusRange{from, from + 99}, nil
	case statusCode.MatchString(pattern):
		code, err := strconv.Atoi(pattern)
		return statusRange{code, code}, err
	}
	return statusRange{}, fmt.Errorf(`%q is not a status. Write one such as "404", or a class such as "2xx"`, pattern)
}

func parseStatuses(patterns []string) (all statuses, err error) {
	for _, p := range patterns {
		r, err := parseStatus(p)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}
