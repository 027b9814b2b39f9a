// Package eventkind declares the events of a server: their names, and the members of each. What
// publishes events, the on block, the reference and the commands read the same table.
package eventkind

import (
	"slices"
	"strings"
)

// Kind is a kind of event: an index into the table. The zero Kind is none.
type Kind uint8

// The kinds.
const (
	None Kind = iota
	ToolCall
	PromptGet
	ResourceRead
	ToolStep
	ToolResult
	ApprovalRequested
	ApprovalDecided
	TaskFinished
	Reload
	Connection
	Upstream
	Limit
	Refused
	Session
	Server
	Gap
	count
)

// Set is a set of kinds.
type Set uint32

// All has every kind.
const All Set = 1<<count - 2

// Of returns the set of these kinds.
func Of(kinds ...Kind) (s Set) {
	for _, k := range kinds {
		s |= 1 << k
	}
	return s
}

// Has reports whether a kind is in the set.
func (s Set) Has(k Kind) bool { return s&(1<<k) != 0 }

// Declaration describes a kind.
type Declaration struct {
	Name   string
	Doc    string
	Fields []Field // beside Common
}

// Field is a member of the data of an event. A member that may be absent is Optional.
type Field struct {
	Name     string
	Type     string // "string", "integer", "number", "boolean", "object", "list" or "any"
	Optional bool
	Doc      string
}

// Declare returns the declaration of a kind.
func (k Kind) Declare() Declaration { return declarations[k] }

// String returns the name of a kind; empty for None.
func (k Kind) String() string { return declarations[k].Name }

// Parse returns the kind of a name; None for an unknown one.
func Parse(name string) Kind {
	return Kind(max(0, slices.IndexFunc(declarations[:], func(d Declaration) bool { return d.Name == name })))
}

// Kinds returns all kinds, in the order of the table.
func Kinds() (all []Kind) {
	for k := ToolCall; k < count; k++ {
		all = append(all, k)
	}
	return all
}

// Names returns the names of all kinds, in the order of the table.
func Names() (names []string) {
	for _, k := range Kinds() {
		names = append(names, k.String())
	}
	return names
}

// Outcomes are the values of the member outcome: those of calls, as in the audit log, then those that only steps have.
var Outcomes = []string{"ok", "partial", "failed", "refused", "cancelled", "error", "asked", "task",
	"unavailable", "not_sent", "skipped"}

// Common are the members that every event has.
var Common = []Field{
	{"type", "string", false, "The name of the event, as in the field event of the stream."},
	{"time", "string", false, "When it happened, in UTC, with microseconds."},
	{"revision", "string", true, "The revision of the configuration that was served."},
	{"process", "string", false, "The process that has published it."},
	{"omitted_bytes", "integer", true, "How many bytes are left out of an event of more than 64 KiB. Such an event " +
		"has no members of more than 1 KiB; of approval and report, the smaller members are there."},
}

var (
	toolField   = Field{"tool", "string", false, "The name of the tool."}
	callID      = Field{"tool_call_id", "string", false, "The call: the id of its audit records, where there are any."}
	callerField = Field{"caller", "object", true, "Who made the call: subject, key, groups and client, as far as " +
		"they are known."}
	inputField = Field{"input", "any", true, "The arguments, without sensitive values and secrets. Of large ones, a " +
		"string with their beginning."}
	inputSize    = Field{"input_bytes", "integer", true, "The size of arguments that are not there in full."}
	sessionField = Field{"session", "string", true, "The name of the session. It is not its id, which is a credential."}
	traceField   = Field{"trace_id", "string", true, "The trace of the caller, or of the call."}
	taskField    = Field{"task", "string", true, "The task that the call belongs to."}
	outputField  = Field{"output", "string", true, "The result as text, at most 4 KiB. Only with results = " +
		`"redacted".`}
	outputSize = Field{"output_bytes", "integer", true, "The size of an output that is not there in full."}
	errorField = Field{"error", "string", true, "The message of a failure, as the caller reads it. Of a partial " +
		"outcome, that of the first failure, which names the element."}
	outcomeField = Field{"outcome", "string", false, "ok, partial, failed, refused, cancelled, error, asked or task, " +
		"as in the audit log."}
	failedField = Field{"failed", "integer", true, "Of a partial outcome: how many elements and steps with on_error " +
		"= \"continue\" have failed."}
	ofField     = Field{"of", "integer", true, "Of a partial outcome: how many of these were run."}
	failedStep  = Field{"failed_step", "string", true, "Of a partial outcome: the step of the first failure."}
	failedKey   = Field{"failed_key", "string", true, "Of a partial outcome: the key of the first element that failed."}
	msField     = Field{"ms", "number", false, "The duration in milliseconds."}
	rowsField   = Field{"rows", "integer", true, "The number of rows of a result that is a list."}
	bytesField  = Field{"bytes", "integer", true, "The size of the result."}
	ruleField   = Field{"rule", "string", true, "The rule that has decided."}
	replayField = Field{"replayed", "string", true, "key or cache, where the result is that of another call."}
)

// document are the members of the one event about a prompt or a resource.
func document(name Field) []Field {
	return []Field{name, callID, inputField, inputSize, callerField, sessionField, traceField, errorField, outcomeField,
		failedField, ofField, failedStep, failedKey, msField, bytesField, ruleField}
}

var declarations = [count]Declaration{
	ToolCall: {"tool_call", "A call of a tool begins.", []Field{toolField, callID, inputField, inputSize, callerField,
		sessionField, traceField, taskField}},
	PromptGet: {"prompt_get", "A request for a prompt has ended, or continues later: its outcome is asked then. " +
		"There is no event of its beginning, and none of its steps.",
		document(Field{"prompt", "string", false, "The name of the prompt."})},
	ResourceRead: {"resource_read", "A read of a resource has ended, or continues later: its outcome is asked then. " +
		"There is no event of its beginning, and none of its steps.",
		document(Field{"resource", "string", false, "The name of the resource, or of the skill whose file is read."})},
	ToolStep: {"tool_step", "A step of a call has ended. A step with each has one event.", []Field{
		toolField, callID,
		{"step", "string", false, "The name of the step; the kind of its backend, if it has none."},
		{"kind", "string", false, "The kind of its backend: http, sql, shell, …"},
		{"connection", "string", true, "The connection, as in http.shop."},
		msField,
		{"outcome", "string", false, "ok, partial, failed, unavailable, not_sent, cancelled or skipped. partial: " +
			"an element of each has failed, and the call went on."},
		failedField, ofField, failedKey, errorField, rowsField, bytesField,
		{"attempts", "integer", true, "The number of HTTP requests that were sent."}}},
	ToolResult: {"tool_result", "A call of a tool has ended, or continues later: its outcome is asked or task then.",
		[]Field{toolField, callID, outputField, outputSize, errorField, outcomeField, failedField, ofField, failedStep,
			failedKey, msField, rowsField, bytesField, ruleField, replayField, taskField}},
	ApprovalRequested: {"approval.requested", "A call waits for the approval of an operator.",
		[]Field{toolField, {"approval", "object", false, "The approval, as a webhook gets it. Its " +
			"tool_call_id is the call that has requested it."}}},
	ApprovalDecided: {"approval.decided", "An approval was given, was refused, has expired or is void.",
		[]Field{toolField, {"approval", "object", false, "The approval with its decision, as a webhook gets it."}}},
	TaskFinished: {"task.finished", "A task has ended.", []Field{toolField,
		{"task", "string", false, "The task."},
		{"status", "string", false, "completed, failed or cancelled."},
		{"outcome", "string", true, "Of a completed task: the outcome of its call, as in tool_result. It is failed " +
			"where the result is an error."},
		{"subject", "string", true, "Who has started it."},
		{"created", "string", false, "When it was started."}}},
	Reload: {"reload", "A load of the configuration has ended.", []Field{
		{"result", "string", false, "ok, failed or held."},
		{"report", "object", false, "The report of POST /admin/reload, with its diagnostics."}}},
	Connection: {"connection", "The circuit breaker of a connection has changed, or a check of its health came out " +
		"differently than the one before.", []Field{
		{"connection", "string", false, "The connection, as in http.shop."},
		{"state", "string", false, "closed, open or half-open, of the breaker; up or down, of the health."},
		{"message", "string", true, "Why it is down."}}},
	Upstream: {"upstream", "The state of the server behind a connection mcp has changed, or what is different of the " +
		"definitions that blocks use.", []Field{
		{"connection", "string", false, "The connection, as in mcp.github."},
		{"state", "string", false, "ready, starting, failed or drifted."},
		{"drift", "list", true, "The definitions that are not as reviewed: the name of each, what has changed, and " +
			"whether it is served."},
		{"message", "string", true, "Why no session can be opened."}}},
	Limit: {"limit", "A limit has refused calls of a tool: at most one event a second and tool.", []Field{
		toolField, {"count", "integer", false, "How many calls were refused since the last event."}}},
	Refused: {"refused", "Calls of a tool, or requests without valid credentials, were refused: at most one event a " +
		"second, reason and tool.", []Field{
		{"tool", "string", true, "The name of the tool; absent for others, and for requests that are no calls."},
		{"prompt", "string", true, "The name of the prompt; absent for others."},
		{"resource", "string", true, "The name of the resource or the skill; absent for others."},
		{"reason", "string", false, "policy, scope, approval, argument or credential."},
		{"message", "string", true, "The reason of the last one in words."},
		{"subject", "string", true, "The caller of the last one."},
		{"count", "integer", false, "How many were refused since the last event."}}},
	Session: {"session", "A session over HTTP has begun in this process or has ended.", []Field{
		{"session", "string", false, "The name of the session. It is not its id, which is a credential."},
		{"state", "string", false, "begun or ended."},
		{"subject", "string", true, "Whose session it is."}}},
	Server: {"server", "The server serves its first configuration, or begins to stop.", []Field{
		{"state", "string", false, "started or stopping."},
		{"version", "string", true, "The version of the program."}}},
	Gap: {"gap", "Events are missing here, because the listener is too slow, or because the server no longer has them.",
		[]Field{{"lost", "integer", true, "How many, of all listeners' events; absent where that is not known."}}},
}

// Find returns the field of a name, also of the common ones.
func (d Declaration) Find(name string) (Field, bool) {
	for _, fields := range [][]Field{Common, d.Fields} {
		if i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name }); i >= 0 {
			return fields[i], true
		}
	}
	return Field{}, false
}

// List returns the names of all kinds in one text.
func List() string { return strings.Join(Names(), ", ") }
