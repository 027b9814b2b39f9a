package mcp

// TaskRequest is one request about a task. Its slices alias memory that is reused once it has been answered.
type TaskRequest struct {
	Method  string // "tasks/get", "tasks/update" or "tasks/cancel"
	ID      string
	Answers []byte // inputResponses of tasks/update, an object as encoded JSON
	Caller  *Caller
}

// TasksExtension is what a client declares among its capabilities when it can follow tasks: Caller.Can("extensions", TasksExtension).
const TasksExtension = "io.modelcontextprotocol/tasks"
