package call

import (
	"context"
	"log/slog"
	"time"

	"hatchel/adapters/scrub"
	"hatchel/hcl/schema"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/durable/state"
	"hatchel/runtime/durable/webhook"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/observe/event"
	"hatchel/runtime/observe/metrics"
	"hatchel/runtime/observe/recent"
	"hatchel/runtime/stage/approval"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/files"
	"hatchel/runtime/stage/limit"
	"hatchel/runtime/stage/opencall"
	"hatchel/runtime/stage/result"
	"hatchel/runtime/stage/task"
)

// Environment is what the calls of one generation need of the server. It is made at compile time
// and immutable.
type Environment struct {
	Dir      string // the configuration directory
	Now      func() time.Time
	Log      *slog.Logger
	Server   string // its name
	Revision string // of the configuration
	Scrubber *scrub.Scrubber
	Uploads  *files.Rules // of uploaded files; nil where no operation takes any
	Lenience schema.Lenience
	Observer *Observer // nil outside of tests
	Tracing  *Tracing  // nil unless calls are traced

	Running context.Context // ends when calls must end, except for pinned ones
	Pinned  context.Context // ends when pinned calls must end

	Generation Generation
	Audit      Audit            // nil where calls are not recorded
	AuditOmits []string         // names of values of identities that are not recorded
	Metrics    *metrics.Metrics // nil where nothing is measured
	Events     *event.Publisher // nil where nothing reads events
	Refusals   *event.Refusals  // those of the process; nil with Events
	Recent     *recent.Log      // nil where calls are not kept for the console; else Events is not nil
	// MetricCallers is how many callers have metrics of their own.
	MetricCallers int
	State         State
	Limiter       *limit.Limiter
	Results       *result.Cache
	Waiters       *Waiters
	Tasks         *task.Registry
	Keys          *state.Lease // of idempotency keys
	Process       *state.Process
	Files         *files.Store
	OpenCalls     *opencall.Registry // that stay open while their clients answer
}

// Generation is the lifetime of the configuration that calls are served from.
type Generation interface {
	// Pin lets a call that has entered the generation run for as long as it takes. Unpin undoes
	// that.
	Pin()
	Unpin()
	// Retain keeps the generation open for work that has not entered it. Release undoes that.
	Retain()
	Release()
	// Serving returns the tool of a name as it is served now, nil for none, and whether its caller,
	// who may be nil, is known there.
	Serving(tool string, caller *mcp.Caller) (p *Program, known bool)
}

// Audit is where calls are recorded.
type Audit interface {
	// Append adds a record. After an error, what the record is about must not happen.
	Append(r *audit.Record, durable bool) error
}

// State is what calls keep in the state store beside tasks, idempotency keys and files.
type State interface {
	// Sealer returns what seals the state of paused calls in tokens. The store is open: a
	// configuration whose calls need it is not served before.
	Sealer() *elicit.Sealer
	// Cursors returns what seals the cursors of pages. The store is open like that of Sealer.
	Cursors() mcp.Sealer
	// Approvals returns the approvals that calls wait for. The store is open like that of Sealer.
	Approvals() *approval.Store
	// Enqueue stores an event for delivery to a webhook. It ignores one that does not exist.
	Enqueue(ctx context.Context, webhook string, e *webhook.Event) error
}
