package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// modernMeta declares the client in every request of the modern era.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"hatchel-bench","version":"1.0.0"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},` +
	`"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// outcome is the part of a result that says how to go on.
type outcome struct {
	ResultType   string
	RequestState string
	TaskID       string
	Status       string
}

// taskTools are tools of the served folder whose calls become tasks.
var taskTools = []string{"slow_compute", "failing_job", "protocol_error_job", "multi_input"}

// post sends one request of the modern era, which needs no session. The SDK does not know tasks
// yet.
func (r *run) post(ctx context.Context, method, name, params string) (outcome, error) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,%s}}`, method, params, modernMeta)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.server.host+"/mcp",
		bytes.NewReader([]byte(body)))
	if err != nil {
		return outcome{}, err
	}
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": modern, "Mcp-Method": method, "Mcp-Name": name,
	} {
		req.Header.Set(key, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return outcome{}, err
	}
	defer res.Body.Close()
	var answer struct {
		Result outcome
		Error  *struct {
			Code    int
			Message string
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return outcome{}, fmt.Errorf("%s: %s: %w", method, res.Status, err)
	}
	if answer.Error != nil {
		return outcome{}, fmt.Errorf("%s %s: %d %s", method, name, answer.Error.Code, answer.Error.Message)
	}
	return answer.Result, nil
}

// runTask calls a tool whose calls become tasks, and follows, cancels or abandons the task.
func (r *run) runTask(ctx context.Context) error {
	tool := pick(taskTools)
	r.edits.Lock() // the tool exists
	task, err := r.post(ctx, "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":{}`, tool))
	r.edits.Unlock()
	if err != nil {
		return err
	}
	if task.ResultType != "task" {
		r.count("task tool: " + task.ResultType)
		return nil
	}
	r.count("task created")
	id := fmt.Sprintf(`"taskId":%q`, task.TaskID)
	for range 40 {
		switch rand.IntN(20) {
		case 0:
			r.count("task abandoned")
			return nil
		case 1:
			if _, err := r.post(ctx, "tasks/cancel", task.TaskID, id); err != nil {
				return err
			}
		}
		got, err := r.post(ctx, "tasks/get", task.TaskID, id)
		if err != nil {
			return err
		}
		switch got.Status {
		case "completed", "failed", "cancelled":
			r.count("task " + got.Status)
			return nil
		case "working", "input_required":
		default:
			return fmt.Errorf("task with status %q", got.Status)
		}
		if err := sleep(ctx, time.Duration(20+rand.IntN(100))*time.Millisecond); err != nil {
			return err
		}
	}
	r.count("task abandoned")
	return nil
}
