package crowd

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// callers call at a steady rate, whether or not the calls before are answered.
type callers struct {
	due     chan time.Time
	calling sync.WaitGroup
	faults  *faults

	mu   sync.Mutex
	took Spread // from the moment in which each call was due; guarded by mu
}

// call is one of the calls that are made, and a text that its reply has.
type call struct{ tool, arguments, want string }

var steadyCalls = []call{
	{"say_hello", `{"name":"Ada"}`, "Hello Ada"},
	{"office_lookup", `{"id":1}`, `revision`},
}

const connections = 32

// callSteadily calls rate times a second until ctx ends.
func callSteadily(ctx context.Context, host string, rate int, f *faults) (*callers, error) {
	c := &callers{due: make(chan time.Time, 100_000), faults: f}
	for i := range connections {
		one, err := dial(ctx, host, "", eras[i%2], nothing)
		if err != nil {
			return nil, err
		}
		c.calling.Go(func() {
			c.call(one, i)
			if err := one.leave(one); err != nil {
				f.add("ending a session", "%v", err)
			}
			one.close()
		})
	}
	c.calling.Go(func() {
		defer close(c.due)
		start := time.Now()
		for n := 0; ; n++ {
			at := start.Add(time.Duration(n) * time.Second / time.Duration(rate))
			if pause(ctx, time.Until(at)) != nil {
				return
			}
			c.due <- at
		}
	})
	return c, nil
}

func (c *callers) call(one *client, n int) {
	for at := range c.due {
		n++
		k := steadyCalls[n%len(steadyCalls)]
		got, err := one.must(request{method: "tools/call", name: k.tool, params: fmt.Sprintf(`"name":%q,"arguments":%s`, k.tool, k.arguments)})
		took := time.Since(at)
		switch {
		case err != nil:
			c.faults.add("a call failed", "%s: %v", one.era, err)
			return
		case !strings.Contains(string(got), k.want) || strings.Contains(string(got), `"isError":true`):
			c.faults.add("a call was answered wrongly", "%s: %.300s", k.tool, got)
		}
		c.mu.Lock()
		c.took = append(c.took, took)
		c.mu.Unlock()
	}
}

// rest waits until all calls are answered, and returns how long each took.
func (c *callers) rest() Spread {
	c.calling.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.took
}
