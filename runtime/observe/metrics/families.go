package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Family is one metric: what all its series have in common.
type Family struct {
	Name   string
	Type   string // "counter", "gauge" or "histogram"
	Labels []string
	Help   string
}

// Names of metrics. Those that begin with mcp_ are of the OpenTelemetry convention for MCP.
const (
	operationDuration = "mcp_server_operation_duration_seconds"
	sessionDuration   = "mcp_server_session_duration_seconds"

	callsTotal    = "hatchel_calls_total"
	callsInFlight = "hatchel_calls_in_flight"
	callsWaiting  = "hatchel_calls_waiting"
	callerCalls   = "hatchel_caller_calls_total"
	refusalsTotal = "hatchel_refusals_total"
	signInsTotal  = "hatchel_sign_ins_total"

	backendDuration = "hatchel_backend_duration_seconds"
	backendAttempts = "hatchel_backend_attempts_total"
	backendPages    = "hatchel_backend_pages_total"
	backendReplaced = "hatchel_backend_replaced_total"
	connectionUp    = "hatchel_connection_up"
	breakerState    = "hatchel_breaker_state"
	poolInUse       = "hatchel_pool_in_use"
	poolMax         = "hatchel_pool_max"

	upstreamDrift    = "hatchel_upstream_drift"
	upstreamSessions = "hatchel_upstream_sessions"
	upstreamRestarts = "hatchel_upstream_restarts_total"

	approvalsPending = "hatchel_approvals_pending"
	approvalsTotal   = "hatchel_approvals_total"
	approvalWait     = "hatchel_approval_wait_seconds"
	tasksRunning     = "hatchel_tasks"
	sessionsOpen     = "hatchel_sessions"
	streamsOpen      = "hatchel_streams"

	configSynchronized = "hatchel_config_synchronized"
	configInfo         = "hatchel_config_info"
	reloadsTotal       = "hatchel_reloads_total"
	reloadDuration     = "hatchel_reload_duration_seconds"

	auditWritable  = "hatchel_audit_writable"
	auditRecords   = "hatchel_audit_records_total"
	webhookPending = "hatchel_webhook_pending"
	webhookOldest  = "hatchel_webhook_oldest_seconds"
	hookFailures   = "hatchel_hook_failures_total"
	cacheTotal     = "hatchel_cache_total"
	stateUp        = "hatchel_state_up"
	stateDuration  = "hatchel_state_seconds"
	spansDropped   = "hatchel_spans_dropped_total"
	linesDropped   = "hatchel_log_lines_dropped_total"
	buildInfo      = "hatchel_build_info"
)

const (
	counter   = "counter"
	gauge     = "gauge"
	histogram = "histogram"
)

var families = []Family{
	{operationDuration, histogram,
		[]string{"mcp_method_name", "gen_ai_tool_name", "gen_ai_prompt_name", "error_type", "network_transport"},
		"Time from a request of the protocol to its reply, without the time that it waited for people."},
	{sessionDuration, histogram, []string{"network_transport"},
		"Time from the start of a session to its end. A session over HTTP ends when its client deletes it; one over " +
			"standard input and output ends with the connection."},
	{callsTotal, counter, []string{"kind", "name", "outcome", "replayed"},
		"Calls that have ended, by the outcome that the audit log has. For a result that was not made by this call, " +
			"replayed is its source: key or cache."},
	{callerCalls, counter, []string{"subject", "outcome"}, "Calls that have ended, by caller. Only with callers."},
	{callsInFlight, gauge, []string{"kind", "name"}, "Calls that run or wait."},
	{callsWaiting, gauge, []string{"kind", "name", "reason"}, "Calls that wait for a limit or an approval."},
	{refusalsTotal, counter, []string{"reason"}, "Calls and requests that were refused, by what has refused them: " +
		"policy, scope, limit, approval, argument, credential, memory (of the requests in progress), resets (of the " +
		"streams of a connection, which was closed), key (of idempotency) or answer (of the client to a question)."},
	{signInsTotal, counter, []string{"outcome"}, "What happened to sign-ins of a sign_in block: consented, denied, " +
		"refused, refreshed, replayed, revoked, asserted, limited (too many requests of a network) or failed."},
	{backendDuration, histogram, []string{"kind", "connection", "outcome"},
		"Time of a backend block with its retries, pages and waits. The outcome is ok, failed, unavailable, not_sent " +
			"or cancelled; connection is empty for a block without one."},
	{backendAttempts, counter, []string{"kind", "connection"}, "HTTP requests that were sent, with those sent again."},
	{backendPages, counter, []string{"kind", "connection"}, "Pages that were read."},
	{backendReplaced, counter, []string{"kind", "connection"}, "Characters of JSON answers that are one half of a " +
		"surrogate pair, in whose place U+FFFD was read."},
	{connectionUp, gauge, []string{"kind", "connection"}, "Whether a connection answers, which a scrape asks."},
	{breakerState, gauge, []string{"kind", "connection", "state"},
		"1 for the state of a breaker: closed, open or half-open."},
	{poolInUse, gauge, []string{"kind", "connection"}, "Connections of a database that are in use."},
	{poolMax, gauge, []string{"kind", "connection"}, "Connections to a database that may be open."},
	{upstreamDrift, gauge, []string{"connection"}, "Definitions of an MCP server that blocks use and that are not as " +
		"reviewed."},
	{upstreamSessions, gauge, []string{"connection"}, "Sessions with an MCP server that are open, or its processes."},
	{upstreamRestarts, counter, []string{"connection"}, "Processes of an MCP server that were started again after " +
		"they had ended by themselves, since the connection was opened."},
	{approvalsPending, gauge, nil, "Approvals that wait for a decision, of all processes with the same state."},
	{approvalsTotal, counter, []string{"name", "decision"}, "Approvals that calls have waited for, by tool. The " +
		"decision is approved, rejected, expired, or none for a wait that ended otherwise."},
	{approvalWait, histogram, []string{"name"}, "Time that calls have waited for an operator."},
	{tasksRunning, gauge, []string{"status"}, "Tasks that are kept, of all processes with the same state: working, " +
		"input_required, completed, failed or cancelled."},
	{sessionsOpen, gauge, nil, "Sessions over HTTP that are in memory."},
	{streamsOpen, gauge, nil, "Event streams to clients over HTTP."},
	{configSynchronized, gauge, nil, "Whether what is served is what the directory holds: 0 after a failed reload, " +
		"and while the command of a secret fails."},
	{configInfo, gauge, []string{"revision", "commit"},
		"1 for the revision of the configuration that is served, and its commit if it is from a git repository."},
	{reloadsTotal, counter, []string{"result"}, "Loads of the directory: ok, failed, or held until a lock is there."},
	{reloadDuration, histogram, nil, "Time of a load."},
	{auditWritable, gauge, nil, "Whether the audit log can be written."},
	{auditRecords, counter, []string{"result"}, "Records of the audit log: written or failed."},
	{webhookPending, gauge, []string{"webhook"}, "Deliveries to a webhook that wait or are in flight."},
	{webhookOldest, gauge, []string{"webhook"}, "How long the oldest of these waits."},
	{hookFailures, counter, []string{"event"}, "Events for which the condition of a hook has failed, by their type."},
	{cacheTotal, counter, []string{"name", "result"}, "Calls of tools with a cache: hit, shared for one that has " +
		"waited for another with the same question, or miss."},
	{stateUp, gauge, nil, "Whether the state store answers."},
	{stateDuration, gauge, nil, "Time that the state store took to answer the scrape."},
	{spansDropped, counter, nil, "Spans of traces that were not sent, because too many waited or the collector did " +
		"not take them. Only with otlp."},
	{linesDropped, counter, nil, "Lines of the log that were dropped, because standard error took none for a second " +
		"or was closed."},
	{buildInfo, gauge, []string{"version"}, "1 for the version of the program."},
}

// Families returns all metrics, in the order of the reference. Beside them there are those of the Go runtime and of the
// process, which begin with go_ and process_.
func Families() []Family { return slices.Clone(families) }

func familyOf(name string) Family {
	i := slices.IndexFunc(families, func(f Family) bool { return f.Name == name })
	return families[i]
}

func newCounters(name string) *prometheus.CounterVec {
	f := familyOf(name)
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.Name, Help: f.Help}, f.Labels)
}

func newGauges(name string) *prometheus.GaugeVec {
	f := familyOf(name)
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: f.Name, Help: f.Help}, f.Labels)
}

func newHistograms(name string, buckets []float64) *prometheus.HistogramVec {
	f := familyOf(name)
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: f.Name, Help: f.Help, Buckets: buckets}, f.Labels)
}

// describeSample describes what is read when it is scraped: gauges of the server, and the counter of another package.
func describeSample() map[string]*prometheus.Desc {
	all := map[string]*prometheus.Desc{}
	for _, f := range families {
		isCounted := f.Name == callsInFlight || f.Name == callsWaiting
		if f.Type == gauge && !isCounted || f.Name == spansDropped || f.Name == linesDropped ||
			f.Name == upstreamRestarts {
			all[f.Name] = prometheus.NewDesc(f.Name, f.Help, f.Labels, nil)
		}
	}
	return all
}

// durationBuckets are those of the convention, and smaller ones, because most calls take less than 10 ms.
var durationBuckets = [...]float64{
	0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300,
}

var (
	// waitBuckets are those of waiting for people.
	waitBuckets = []float64{1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600}
	// sessionBuckets are those of the convention, and larger ones.
	sessionBuckets = append(durationBuckets[4:len(durationBuckets):len(durationBuckets)], 1800, 3600, 4*3600, 24*3600)
	// loadBuckets are those of loads.
	loadBuckets = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}
)
