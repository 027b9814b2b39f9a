package client

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"hatchel/hcl/jsonscan"
)

// errListTime is why a list ends that takes too long.
var errListTime = fmt.Errorf("the list of tools took longer than %s", MaxListTime)

// Tools lists the tools, all pages, within the limits maxTools, maxListBytes, maxListDepth, maxPages and MaxListTime.
// The error is an [*Error]; of Invalid if a limit is exceeded, because a list that is cut proves nothing.
func (s *Session) Tools(ctx context.Context) (List, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, MaxListTime, errListTime)
	defer cancel()
	list := List{TTL: -1}
	var params []byte
	bytes := 0
	for page := 1; ; page++ {
		if page > maxPages {
			return List{}, invalid("the server lists its tools on more than %d pages", maxPages)
		}
		m, err := s.do(ctx, s.newExchange("tools/list", params))
		if err != nil {
			return List{}, err
		}
		if bytes += m.size; bytes > maxListBytes {
			return List{}, invalid("the list of tools has more than %d bytes", maxListBytes)
		}
		if err := list.add(m); err != nil {
			return List{}, err
		}
		cursor := m.members.Get("nextCursor")
		if cursor == nil || string(cursor) == "null" || string(cursor) == `""` {
			return list, nil
		}
		if cursor[0] != '"' {
			return List{}, invalid("nextCursor of the list of tools is no string")
		}
		params = append([]byte(`"cursor":`), cursor...)
	}
}

// add adds the definitions of a page.
func (l *List) add(m *message) error {
	var problem error
	isArray := each(m.members.Get("tools"), func(value []byte) bool {
		if len(l.Tools) == maxTools {
			problem = invalid("the server lists more than %d tools", maxTools)
			return false
		}
		d := Definition{Raw: value}
		d.Name, _ = jsonscan.LookupText(value, "name")
		l.Tools = append(l.Tools, d)
		return true
	})
	if !isArray {
		return invalid("the list of tools is no array")
	}
	if ms, err := strconv.ParseFloat(string(m.members.Get("ttlMs")), 64); err == nil && ms >= 0 {
		ttl := time.Duration(min(ms, float64(maxTTL/time.Millisecond))) * time.Millisecond
		if l.TTL < 0 || ttl < l.TTL {
			l.TTL = ttl
		}
	}
	return problem
}

const maxTTL = 365 * 24 * time.Hour
