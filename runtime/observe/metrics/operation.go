package metrics

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Unknown replaces a name that a caller has invented.
const Unknown = "_unknown"

// other replaces the names of a family that has too many series.
const other = "_other"

// Operation counts the calls of one tool, prompt or resource. It is safe for concurrent use. A nil Operation counts
// nothing.
type Operation struct {
	metrics *Metrics
	key     operationKey
	called  atomic.Bool
	ends    atomic.Uint64 // calls that have ended
	gone    time.Time     // since when it is not served; zero while it is; guarded by Metrics.mu

	inFlight  slot[prometheus.Gauge]
	waiting   [len(waitReasons)]slot[prometheus.Gauge]
	durations [len(transports)][maxErrorTypes]slot[prometheus.Observer]
	decided   [len(decisions)]slot[prometheus.Counter]
	waits     slot[prometheus.Observer]
	cached    [len(cacheResults)]slot[prometheus.Counter]
	ended     [maxOutcomes][len(sources)]slot[prometheus.Counter]
}

type operationKey struct{ kind, name string }

// slot holds a series from its first use on.
type slot[T any] struct{ atomic.Pointer[T] }

// Call is what a call came to.
type Call struct {
	HTTP     bool   // the client is connected over HTTP, otherwise over standard input and output
	Outcome  string // of the audit log
	Replayed string // as in the audit log: the source of a result that was not made by this call; empty for none
	IsError  bool   // the result is an error for the model
	Code     int    // of an error of the protocol; 0 for none
	Duration time.Duration
	TraceID  string // of a sampled trace; empty for none
	// Background says that the call is that of a task, for whose end no request waits.
	Background bool
	Subject    string // of the caller; empty for none, or where callers are not counted
	MaxCallers int    // how many callers are counted
	Refusal    string // what has refused the call; empty for another outcome
}

// What refuses a call.
const (
	RefusedByPolicy     = "policy"
	RefusedByScope      = "scope"
	RefusedByLimit      = "limit"
	RefusedByApproval   = "approval"
	RefusedByArgument   = "argument"
	RefusedByCredential = "credential"
	RefusedByMemory     = "memory" // of the requests in progress
	RefusedByResets     = "resets" // of streams, for which an HTTP/2 connection was closed
	RefusedByKey        = "key"    // of idempotency, whose call goes on, was interrupted or had other arguments
	RefusedByAnswer     = "answer" // to a question: it was declined, is not valid, or the client cannot be asked
)

var (
	transports = [...]string{"pipe", "tcp"}
	// outcomes are those of the audit log. The first one replaces others.
	outcomes     = [...]string{other, "ok", "partial", "failed", "refused", "cancelled", "error", "asked", "task"}
	sources      = [...]string{"", "key", "cache"}
	decisions    = [...]string{"none", "approved", "rejected", "expired"}
	cacheResults = [...]string{CacheMiss: "miss", CacheHit: "hit", CacheShared: "shared"}
	// waitReasons are what calls wait for: WaitLimit and WaitApproval.
	waitReasons = [...]string{"limit", "approval"}
	// errorTypes are the values of error_type. The first one is no error, the last one replaces others.
	errorTypes = [...]string{"", "tool_error", "-32700", "-32600", "-32601", "-32602", "-32603", "-32002", "_OTHER"}
)

const (
	maxErrorTypes = len(errorTypes)
	maxOutcomes   = len(outcomes)
)

// Begin counts a call as running.
func (o *Operation) Begin() {
	if o != nil {
		o.gauge().Inc()
	}
}

// End counts a call that has begun as ended.
func (o *Operation) End(c *Call) {
	if o == nil {
		return
	}
	defer o.ends.Add(1) // when all is counted
	o.gauge().Dec()
	o.counter(c.Outcome, c.Replayed).Inc()
	if c.Refusal != "" {
		o.metrics.refused(c.Refusal)
	}
	if c.MaxCallers > 0 && c.Subject != "" {
		o.metrics.countCaller(c.Subject, outcomes[indexIn(outcomes[:], c.Outcome)], c.MaxCallers)
	}
	if c.Background {
		return
	}
	observe(o.duration(indexOf(c.HTTP), errorType(c.IsError, c.Code)), c.Duration, c.TraceID)
}

// observe adds a duration to a histogram. The trace becomes an exemplar.
func observe(to prometheus.Observer, d time.Duration, traceID string) {
	if traceID == "" {
		to.Observe(d.Seconds())
		return
	}
	to.(prometheus.ExemplarObserver).ObserveWithExemplar(d.Seconds(), prometheus.Labels{"trace_id": traceID})
}

// indexIn returns the index of a word in a list, whose first one replaces others.
func indexIn(words []string, word string) int { return max(0, slices.Index(words, word)) }

func indexOf(http bool) int {
	if http {
		return 1
	}
	return 0
}

// errorType returns the index of an error in errorTypes.
func errorType(isError bool, code int) int {
	switch {
	case code != 0:
		text := strconv.Itoa(code)
		if i := slices.Index(errorTypes[:], text); i >= 0 {
			return i
		}
		return maxErrorTypes - 1
	case isError:
		return 1
	}
	return 0
}

func (o *Operation) gauge() prometheus.Gauge {
	return useSlot(o.metrics, &o.inFlight, callsInFlight, o.key.name, func(name string) prometheus.Gauge {
		return o.metrics.inFlight.WithLabelValues(o.key.kind, name)
	})
}

func (o *Operation) duration(transport, err int) prometheus.Observer {
	return useSlot(o.metrics, &o.durations[transport][err], operationDuration, o.key.name,
		func(name string) prometheus.Observer {
			tool, prompt := "", ""
			switch o.key.kind {
			case "tool":
				tool = name
			case "prompt":
				prompt = name
			}
			method := Methods[o.key.kind]
			return o.metrics.durations.WithLabelValues(method, tool, prompt, errorTypes[err], transports[transport])
		})
}

// Methods are the methods that call operations, by kind.
var Methods = map[string]string{
	"tool": "tools/call", "prompt": "prompts/get", "resource": "resources/read", "skill": "resources/read",
	"completion": "completion/complete",
}

func (o *Operation) counter(outcome, replayed string) prometheus.Counter {
	at, from := indexIn(outcomes[:], outcome), indexIn(sources[:], replayed)
	return useSlot(o.metrics, &o.ended[at][from], callsTotal, o.key.name, func(name string) prometheus.Counter {
		o.called.Store(true)
		return o.metrics.calls.WithLabelValues(o.key.kind, name, outcomes[at], sources[from])
	})
}

// useSlot returns the series in a slot. The first use makes it, with a name that is other once the family has too many.
func useSlot[T any](m *Metrics, s *slot[T], family, name string, create func(name string) T) T {
	if series := s.Load(); series != nil {
		return *series
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if series := s.Load(); series != nil {
		return *series
	}
	if m.series[family] >= maxSeries {
		name = other
	} else {
		m.series[family]++
	}
	series := create(name)
	s.Store(&series)
	return series
}

// What a call finds in the cache of its tool.
const (
	CacheMiss = iota
	CacheHit
	CacheShared // the result of another call that it has waited for
)

// Cached counts what a call has found in the cache.
func (o *Operation) Cached(result int) {
	if o == nil {
		return
	}
	useSlot(o.metrics, &o.cached[result], cacheTotal, o.key.name, func(name string) prometheus.Counter {
		return o.metrics.cacheResults.WithLabelValues(name, cacheResults[result])
	}).Inc()
}

// What calls wait for.
const (
	WaitLimit = iota
	WaitApproval
)

// Wait counts a call as waiting, or with -1 as not waiting any more.
func (o *Operation) Wait(reason int, n int64) {
	if o == nil {
		return
	}
	useSlot(o.metrics, &o.waiting[reason], callsWaiting, o.key.name, func(name string) prometheus.Gauge {
		return o.metrics.waiting.WithLabelValues(o.key.kind, name, waitReasons[reason])
	}).Add(float64(n))
}

// Decided counts an approval that a call has waited for: approved, rejected, expired or none.
func (o *Operation) Decided(decision string, waited time.Duration) {
	if o == nil {
		return
	}
	at := indexIn(decisions[:], decision)
	useSlot(o.metrics, &o.decided[at], approvalsTotal, o.key.name, func(name string) prometheus.Counter {
		return o.metrics.approvals.WithLabelValues(name, decisions[at])
	}).Inc()
	useSlot(o.metrics, &o.waits, approvalWait, o.key.name, func(name string) prometheus.Observer {
		return o.metrics.approvalWaits.WithLabelValues(name)
	}).Observe(waited.Seconds())
}
