package http

import (
	"fmt"
	"strconv"
	"strings"
)

// statuses are the statuses that patterns such as "2xx" and "404" name.
type statuses []span

type span struct{ from, to int }

func (s statuses) has(code int) bool {
	for _, x := range s {
		if x.from <= code && code <= x.to {
			return true
		}
	}
	return false
}

// parseStatus reads one pattern. Its error is for the author.
func parseStatus(pattern string) (span, error) {
	if class, ok := strings.CutSuffix(strings.ToLower(pattern), "xx"); ok && len(class) == 1 && class[0] >= '1' && class[0] <= '5' {
		from := int(class[0]-'0') * 100
		return span{from, from + 99}, nil
	}
	if code, err := strconv.Atoi(pattern); err == nil && code >= 100 && code <= 599 {
		return span{code, code}, nil
	}
	return span{}, fmt.Errorf("%q is not a status: write one such as \"404\", or a class such as \"2xx\"", pattern)
}

func parseStatuses(patterns []string) (all statuses, err error) {
	for _, p := range patterns {
		s, err := parseStatus(p)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
