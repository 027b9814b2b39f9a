package mcp

import (
	"context"
)

// TaskRequest is one request about a task. Its slices alias memory that is reused once it has been answered.
type TaskRequest struct {
	Method  string // "tasks/get", "tasks/update" or "tasks/cancel"
	ID      string
	Answers []byte // inputResponses of tasks/update, an object as encoded JSON
	Caller  *Caller
}

// TasksExtension is what a client declares among its capabilities when it can follow tasks: Caller.Can("extensions", TasksExtension).
const TasksExtension = "io.modelcontextprotocol/tasks"

// task appends the result of tasks/get, tasks/update or tasks/cancel.
func (s *Server) task(ctx context.Context, dst []byte, m *message, q query) ([]byte, *Error) {
	if !q.caller.Can("extensions", TasksExtension) {
		return dst, MissingCapability("extensions", TasksExtension)
	}
	id, bad := m.about()
	if bad != nil {
		return dst, bad
	}
	req := &TaskRequest{Method: string(m.method), ID: id, Caller: q.caller}
	if req.Method == "tasks/update" {
		if req.Answers = m.inputResponses; req.Answers == nil || req.Answers[0] != '{' {
			return dst, errorf(CodeInvalidParams, "params.inputResponses must be an object")
		}
	}
	members, err := s.handler.Task(ctx, req)
	if err != nil {
		return dst, s.refused(ctx, m, err)
	}
	dst = append(dst, `{"resultType":"complete"`...)
	if members != nil {
		dst = members.AppendJSON(append(dst, ','))
	}
	return q.end(dst), nil
}

// standing returns how a task stands: the members of the object that tasks/get answers with. A panic of the Handler is an error.
func (s *Server) standing(ctx context.Context, req *TaskRequest) (members []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	now, err := s.handler.Task(ctx, req)
	if err != nil {
		return nil, err
	}
	return now.AppendJSON(nil), nil
}
