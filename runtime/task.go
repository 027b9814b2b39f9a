package runtime

import (
	"encoding/json"
	"strconv"
	"time"

	"hatchel/hcl/value"
	"hatchel/runtime/mcp"
	"hatchel/runtime/result"
	"hatchel/runtime/state"
)

// What a task is doing, in the words of the protocol.
const (
	taskWorking   = "working"
	taskWaiting   = "input_required"
	taskCompleted = "completed"
	taskFailed    = "failed"
	taskCancelled = "cancelled"
)

// pollInterval is how long clients are asked to wait between two questions about a task, in milliseconds.
const pollInterval = 500

// kindTask is that of the records of tasks.
const kindTask = "task"

// task is a call that goes on after its first answer, as it is remembered.
type task struct {
	row state.Record

	Tool    string `json:"tool"`
	Digest  string `json:"digest"`            // of the tool, when the task began
	Owner   string `json:"subject,omitempty"` // to whom it belongs
	Toolset string `json:"toolset,omitempty"`

	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
	Created int64  `json:"created"` // in milliseconds since 1970, as Updated
	Updated int64  `json:"updated"`
	TTL     int64  `json:"ttl"` // in milliseconds

	Callback     []string        `json:"callback,omitempty"`     // the webhooks that are told when it is over
	Identity     *mcp.Identity   `json:"identity,omitempty"`     // who began it, when somebody has asked
	Client       json.RawMessage `json:"client,omitempty"`       // what the client said of itself
	Capabilities json.RawMessage `json:"capabilities,omitempty"` // and of what it can do, when the task began
	Call         json.RawMessage `json:"call,omitempty"`         // what it takes to go on, unless it is over
	Step         string          `json:"step,omitempty"`         // that is under way

	Asked  []taskQuestion `json:"asked,omitempty"`  // while it waits
	Issued map[string]int `json:"issued,omitempty"` // how often each question was asked

	Result json.RawMessage `json:"result,omitempty"` // of a completed task: the result of tools/call
	Error  json.RawMessage `json:"error,omitempty"`  // of a failed one
}

// taskQuestion is a question that the client has yet to answer.
type taskQuestion struct {
	Key    string          `json:"key"` // never used again
	Ask    string          `json:"ask"` // what the tool calls it
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// readTask is the task of a row.
func readTask(row *state.Record) (*task, error) {
	t := &task{row: *row}
	return t, json.Unmarshal(row.Body, t)
}

// encode puts what is known of the task into its row.
func (t *task) encode() (err error) {
	t.row.Body, err = json.Marshal(t)
	return err
}

// isFinal reports whether nothing can become of the task any more.
func (t *task) isFinal() bool {
	return t.Status == taskCompleted || t.Status == taskFailed || t.Status == taskCancelled
}

// end makes the task one that is over.
func (t *task) end(status, message string) {
	t.Status, t.Message = status, message
	t.Call, t.Step, t.Asked, t.row.Owner = nil, "", nil, ""
}

// fail ends the task with an error of the protocol.
func (t *task) fail(e *mcp.Error) {
	t.end(taskFailed, e.Message)
	t.Result = nil
	b := strconv.AppendInt([]byte(`{"code":`), int64(e.Code), 10)
	b = value.AppendString(append(b, `,"message":`...), e.Message)
	if e.Data != nil {
		b = append(append(b, `,"data":`...), e.Data...)
	}
	t.Error = append(b, '}')
}

// wait makes the task one that waits for answers: for those that are left of before, and for these. A question that was asked before gets another key: no key is ever used
// twice.
func (t *task) wait(left []taskQuestion, asked []mcp.Question) {
	t.Status, t.Message, t.Step, t.row.Owner = taskWaiting, "", "", ""
	t.Asked = left
	if t.Issued == nil {
		t.Issued = map[string]int{}
	}
	for _, q := range asked {
		key := q.Key
		t.Issued[q.Key]++
		if n := t.Issued[q.Key]; n > 1 {
			key += "." + strconv.Itoa(n)
		}
		t.Asked = append(t.Asked, taskQuestion{key, q.Key, q.Method, q.Params})
	}
}

// appendMembers appends what tasks/get answers, or what tools/call answers when the task begins.
func (t *task) appendMembers(dst []byte, detailed bool) []byte {
	dst = value.AppendString(append(dst, `"taskId":`...), t.row.Name)
	dst = value.AppendString(append(dst, `,"status":`...), t.Status)
	dst = result.AppendMember(dst, "statusMessage", t.Message)
	dst = value.AppendString(append(dst, `,"createdAt":`...), formatTime(t.Created))
	dst = value.AppendString(append(dst, `,"lastUpdatedAt":`...), formatTime(t.Updated))
	dst = strconv.AppendInt(append(dst, `,"ttlMs":`...), t.TTL, 10)
	dst = strconv.AppendInt(append(dst, `,"pollIntervalMs":`...), pollInterval, 10)
	switch {
	case !detailed:
	case t.Status == taskWaiting:
		dst = append(dst, `,"inputRequests":{`...)
		for i, q := range t.Asked {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = value.AppendString(append(value.AppendString(dst, q.Key), `:{"method":`...), q.Method)
			dst = append(append(append(dst, `,"params":`...), q.Params...), '}')
		}
		dst = append(dst, '}')
	case t.Status == taskCompleted:
		dst = append(append(dst, `,"result":`...), t.Result...)
	case t.Status == taskFailed:
		dst = append(append(dst, `,"error":`...), t.Error...)
	}
	return dst
}

func formatTime(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// caller is who began the task, as far as the call can read it.
func (t *task) caller() *mcp.Caller {
	return &mcp.Caller{Revision: mcp.Revision20260728, Toolset: t.Toolset, Identity: t.Identity, Subject: t.subject(), ClientInfo: t.Client, Capabilities: t.Capabilities}
}

// refreshToken has the task go on with the token of its caller that was shown last: tokens are not remembered.
func (t *task) refreshToken(caller *mcp.Caller) {
	if t.Identity != nil && caller.Identity != nil {
		now := *t.Identity // others may be reading that
		now.Token = caller.Identity.Token
		t.Identity = &now
	}
}

func (t *task) subject() string {
	if t.Identity == nil {
		return t.Owner
	}
	return t.Identity.Subject
}

// belongs reports whether a caller may know of the task.
func (t *task) belongs(c *mcp.Caller) bool { return t.Owner == c.Owner() && t.Toolset == c.Toolset }
