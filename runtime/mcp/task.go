package mcp

import "context"

// TaskRequest is one request about a task. Its slices alias memory that is reused after the reply.
type TaskRequest struct {
	Method  string // "tasks/get", "tasks/update" or "tasks/cancel"
	ID      string
	Answers []byte // inputResponses of tasks/update: an object as encoded JSON
	Caller  *Caller
}

// TasksExtension is the capability of clients that support tasks: Caller.Can("extensions",
// TasksExtension).
const TasksExtension = "io.modelcontextprotocol/tasks"

// serveTask appends the result of tasks/get, tasks/update or tasks/cancel.
func (s *Server) serveTask(ctx context.Context, dst []byte, m *message, rc requestContext) ([]byte, *Error) {
	if !rc.caller.Can("extensions", TasksExtension) {
		return dst, MissingCapability("extensions", TasksExtension)
	}
	id, invalid := m.subjectName()
	if invalid != nil {
		return dst, invalid
	}
	req := &TaskRequest{Method: string(m.method), ID: id, Caller: rc.caller}
	if req.Method == "tasks/update" {
		if req.Answers = m.inputResponses; !isObject(req.Answers) {
			return dst, invalidParams("params.inputResponses must be an object")
		}
	}
	members, err := s.handler.Task(ctx, req)
	if err != nil {
		return dst, s.protocolError(ctx, m, err)
	}
	dst = append(dst, `{"resultType":"complete"`...)
	if members != nil {
		dst = members.AppendJSON(append(dst, ','))
	}
	return rc.info.endResult(dst, rc.caller.Revision), nil
}

// taskState returns the members of the object that tasks/get returns. A panic of the Handler is an
// error.
func (s *Server) taskState(ctx context.Context, caller *Caller, id string) (members []byte, err error) {
	defer recoverError(&err)
	state, err := s.handler.Task(ctx, &TaskRequest{Method: "tasks/get", ID: id, Caller: caller})
	if err != nil {
		return nil, err
	}
	return state.AppendJSON(nil), nil
}
