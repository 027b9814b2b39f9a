package console

import (
	"net/url"
	"slices"

	"hatchel/runtime/stage/approval"
	"hatchel/runtime/stage/task"
)

const (
	tasksPath    = "/console/tasks"
	tasksPerPage = 100
)

// tasksData is the data of the list of tasks.
type tasksData struct {
	Filter *filterBar
	Rows   []taskView
	Next   string // address of the next page; empty for none
}

// taskView is a task as the pages of tasks show it.
type taskView struct{ *task.Task }

// State returns what the task does, or what became of it.
func (v taskView) State() condition {
	if v.Awaited() != "" {
		return waitsForApproval
	}
	return stateOf(v.Status)
}

// Awaited returns the approval that the task waits for; empty for none.
func (v taskView) Awaited() string {
	if v.IsFinal() {
		return ""
	}
	return approval.AwaitedID(v.Message)
}

// taskData is the data of the page of a task.
type taskData struct {
	taskView
	MayCancel bool
}

func taskPath(id string) string { return tasksPath + "/" + url.PathEscape(id) }

// tasks lists the tasks with a status, the oldest first: those that are working, unless the query names another one.
func (c *Console) tasks(q *request) (*answer, error) {
	tasks, values := c.Host.Operator().State.Tasks, q.URL.Query()
	status := values.Get("status")
	if !slices.Contains(task.Statuses, status) {
		status = task.Working
	}
	data := &tasksData{Filter: newFilterBar(q, statusField(status, task.Statuses))}
	var after *task.Task
	if id := values.Get("after"); id != "" {
		t, err := tasks.FindAny(q.Context(), id)
		if err != nil {
			return nil, err
		}
		if t == nil {
			return &answer{location: tasksPath}, nil // its place in the list is gone
		}
		after = t
	}
	found, err := tasks.List(q.Context(), status, after, tasksPerPage+1)
	if err != nil {
		return nil, err
	}
	if len(found) > tasksPerPage {
		found = found[:tasksPerPage]
		data.Next = q.addressWith("after", found[tasksPerPage-1].ID())
	}
	for _, t := range found {
		data.Rows = append(data.Rows, taskView{t})
	}
	return &answer{template: "tasks", title: "Tasks", data: data}, nil
}

// findTask returns the task of a page. Those who operate the server may cancel it, and who has asked for it.
func (c *Console) findTask(q *request) (*taskData, error) {
	t, err := c.Host.Operator().State.Tasks.FindAny(q.Context(), q.PathValue("id"))
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return nil, notFound("There is no such task. A task is kept for the ttl of its tool")
	}
	return &taskData{taskView{t}, !t.IsFinal() && (q.isAdmin() || t.Owner == q.caller.Owner())}, nil
}

// task shows a task.
func (c *Console) task(q *request) (*answer, error) {
	data, err := c.findTask(q)
	if err != nil {
		return nil, err
	}
	return &answer{template: "task", title: "Task of " + data.Tool, data: data}, nil
}

// confirmCancel asks whether a task is to be cancelled.
func (c *Console) confirmCancel(q *request) (*answer, error) {
	data, err := c.mayCancel(q)
	if err != nil || data == nil {
		return &answer{location: taskPath(q.PathValue("id"))}, err
	}
	return &answer{template: "task-cancel", title: "Cancel a task of " + data.Tool, data: data}, nil
}

// mayCancel returns a task that the person may cancel; nil for one that has ended.
func (c *Console) mayCancel(q *request) (*taskData, error) {
	data, err := c.findTask(q)
	switch {
	case err != nil:
		return nil, err
	case data.IsFinal():
		return nil, nil
	case !data.MayCancel:
		return nil, c.refuse(q, "You may not cancel this task: that is for the group "+adminGroup+
			", and for the caller who has begun it")
	}
	return data, nil
}

// cancelTask cancels a task.
func (c *Console) cancelTask(q *request) (*answer, error) {
	data, err := c.mayCancel(q)
	if err != nil {
		return nil, err
	}
	if data != nil {
		err = c.Host.Operator().CancelTask(q.Context(), data.ID(), q.caller)
	}
	return &answer{location: taskPath(q.PathValue("id"))}, err
}
