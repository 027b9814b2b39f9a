package runtime

import (
	"context"
	"sync"
	"time"

	"hatchel/adapters"
	"hatchel/runtime/failure"
)

// pingTimeout is how long a server has to answer a health check.
const pingTimeout = time.Second

// Health says whether the state store, or the audit log, is available.
type Health struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// connectionProbe is a connection whose health is reported.
type connectionProbe struct {
	name  string
	conn  adapters.Health // nil when it cannot be pinged
	guard *adapters.ConnectionGuard
}

// ConnectionHealth says whether a connection answers.
type ConnectionHealth struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Error   string `json:"error,omitempty"`
	Breaker string `json:"breaker,omitempty"` // "closed", "open" or "half-open"; empty for a connection without one
	err     error
}

// Health pings the connections that can be pinged, all at once. Of others that have a circuit
// breaker it returns that.
func (g *Generation) Health(ctx context.Context) []ConnectionHealth {
	out := make([]ConnectionHealth, len(g.health))
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	var running sync.WaitGroup
	for i, h := range g.health {
		running.Go(func() {
			var err error
			if h.conn != nil {
				err = ping(ctx, h.conn)
			}
			out[i] = ConnectionHealth{Name: h.name, OK: err == nil, Breaker: h.guard.State(), err: err}
			if err != nil {
				out[i].Error = g.env.Scrubber.Text(err.Error())
			}
		})
	}
	running.Wait()
	return out
}

func ping(ctx context.Context, h adapters.Health) (err error) {
	defer failure.Recover(&err)
	return h.Ping(ctx)
}
