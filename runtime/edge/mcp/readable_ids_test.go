package mcp_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"sync"
)

// readableIDs shows the sealed ids of questions and events as numbers in the order in which a session
// sees them, and sends the ids for the numbers. The session's own stream is number 0.
type readableIDs struct {
	base http.RoundTripper

	mu        sync.Mutex
	bySession map[string]*idNumbers // guarded by mu
}

type idNumbers struct{ questions, streams map[string]string } // by id

var (
	sealedQuestion = regexp.MustCompile(`ask-[\w-]{40,}`)
	sealedEvent    = regexp.MustCompile(`^id: ([\w-]{40,})\.(\d+)`)
	numberedEvent  = regexp.MustCompile(`^(\d+)-(\d+)$`)
)

func (x *readableIDs) RoundTrip(r *http.Request) (*http.Response, error) {
	x.mu.Lock()
	session := r.Header.Get("Mcp-Session-Id")
	if x.bySession == nil {
		x.bySession = map[string]*idNumbers{}
	}
	if x.bySession[session] == nil {
		x.bySession[session] = &idNumbers{map[string]string{}, map[string]string{}}
	}
	n := x.bySession[session]
	own := r.Method == "GET" && r.Header.Get("Last-Event-ID") == ""
	if r.GetBody != nil { // the body is in memory
		body, _ := io.ReadAll(r.Body)
		for id, number := range n.questions {
			body = bytes.ReplaceAll(body, []byte(number[1:]+`"`), []byte(id[1:]+`"`)) // the first letter may be escaped
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	if m := numberedEvent.FindStringSubmatch(r.Header.Get("Last-Event-ID")); m != nil {
		for ref, number := range maps.All(n.streams) {
			if number == m[1] {
				r.Header.Set("Last-Event-ID", ref+"."+m[2])
			}
		}
	}
	x.mu.Unlock()
	reply, err := x.base.RoundTrip(r)
	if err != nil || !strings.HasPrefix(reply.Header.Get("Content-Type"), "text/event-stream") {
		return reply, err
	}
	reply.Body = &readableStream{Closer: reply.Body, lines: bufio.NewReader(reply.Body), ids: x, numbers: n, own: own}
	return reply, nil
}

// number returns the number of an id, with its prefix.
func number(ids map[string]string, id, prefix string, first int) string {
	if ids[id] == "" {
		ids[id] = fmt.Sprint(prefix, len(ids)+first)
	}
	return ids[id]
}

type readableStream struct {
	io.Closer
	lines   *bufio.Reader
	ids     *readableIDs
	numbers *idNumbers
	own     bool // the session's own stream
	rest    []byte
}

func (s *readableStream) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		line, err := s.lines.ReadString('\n')
		if line == "" {
			return 0, err
		}
		s.ids.mu.Lock()
		if m := sealedEvent.FindStringSubmatch(line); m != nil {
			if s.own {
				s.numbers.streams[m[1]] = "0"
			}
			first := 1
			for _, number := range s.numbers.streams {
				if number == "0" {
					first = 0
				}
			}
			line = "id: " + number(s.numbers.streams, m[1], "", first) + "-" + m[2] + "\n"
		}
		line = sealedQuestion.ReplaceAllStringFunc(line, func(id string) string {
			return number(s.numbers.questions, id, "ask-", 1)
		})
		s.ids.mu.Unlock()
		s.rest = []byte(line)
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}
