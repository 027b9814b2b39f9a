package main

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"time"
)

// stdioLoad keeps a number of calls in flight on the pipes of one target.
type stdioLoad struct {
	row      *callRow
	check    *checker
	target   *target
	in       *bufio.Reader
	requests []*request
	flight   int
	next     int
	started  [1024]time.Time // by id; far more than are ever in flight
}

func dialStdio(t *target, row *callRow, e era, n int) (load, error) {
	l := &stdioLoad{row: row, check: newChecker(row), target: t, flight: n, next: firstID}
	l.in = bufio.NewReaderSize(t.stdout, 1<<20)
	for v := range row.variants {
		l.requests = append(l.requests, lineRequest(body(e, row.tool, row.arguments(v))))
	}
	if e == modern || t.name == "floor" {
		return l, nil
	}
	if _, err := t.stdin.Write([]byte(initializeBody + "\n")); err != nil {
		return nil, err
	}
	if line, err := l.in.ReadSlice('\n'); err != nil || !bytes.Contains(line, []byte(`"serverInfo"`)) {
		return nil, fmt.Errorf("initialize was answered %.300s (%v): %s", line, err, t.log)
	}
	_, err := t.stdin.Write([]byte(initializedBody + "\n"))
	return l, err
}

// run calls for d, waits for the last replies, and returns how long each call took.
func (l *stdioLoad) run(d time.Duration) ([]time.Duration, error) {
	deadline := time.Now().Add(d)
	stuck := time.AfterFunc(d+20*time.Second, func() { l.target.cmd.Process.Kill() })
	defer stuck.Stop()
	times := make([]time.Duration, 0, 1<<14)
	for range l.flight {
		if err := l.send(); err != nil {
			return nil, err
		}
	}
	for waiting := l.flight; waiting > 0; {
		line, err := l.in.ReadSlice('\n')
		if err != nil {
			return nil, fmt.Errorf("reading a reply: %w: %s", err, l.target.log)
		}
		id, err := replyID(line)
		if err != nil {
			return nil, err
		}
		now := time.Now()
		times = append(times, now.Sub(l.started[id%len(l.started)]))
		if err := l.check.check(id%l.row.variants, id, line); err != nil {
			return nil, err
		}
		if now.After(deadline) {
			waiting--
		} else if err := l.send(); err != nil {
			return nil, err
		}
	}
	return times, nil
}

func (l *stdioLoad) send() error {
	id := l.next
	l.next++
	r := l.requests[id%l.row.variants]
	r.number(id)
	l.started[id%len(l.started)] = time.Now()
	_, err := l.target.stdin.Write(r.bytes)
	return err
}

func replyID(line []byte) (int, error) {
	at := bytes.Index(line, []byte(`"id":`))
	if at < 0 || len(line) < at+len(`"id":`)+idDigits {
		return 0, fmt.Errorf("a line that is no reply: %.300s", line)
	}
	return strconv.Atoi(string(line[at+len(`"id":`):][:idDigits]))
}

func (l *stdioLoad) close() {}
