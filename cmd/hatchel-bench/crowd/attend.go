package crowd

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// attend stays with a task as long as the visitor likes. Who also listens to it must hear of its end.
func (v *visitor) attend(ctx context.Context, o outcome) error {
	if v.over == nil || rand.IntN(3) > 0 {
		_, err := v.follow(ctx, o)
		return err
	}
	c, err := dial(ctx, v.over.host, v.over.toolset, modern, v.can)
	if err != nil {
		return err
	}
	defer c.close()
	q := request{method: "subscriptions/listen", params: fmt.Sprintf(`"notifications":{"taskIds":[%q]}`, o.TaskID)}
	res, err := c.post(c.message(q, `"task"`), q)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return fmt.Errorf("listening to a task was answered %s", res.Status)
	}
	status, err := v.follow(ctx, o)
	if err != nil || !ended(status) {
		return err
	}
	return v.hearTheEnd(c, newEvents(res.Body), status)
}

func (v *visitor) hearTheEnd(c *client, stream *events, status string) error {
	c.net.SetDeadline(time.Now().Add(patience))
	for {
		frame, err := stream.next()
		if err != nil {
			return fmt.Errorf("a listener of a task was not told that it was %s: %w", status, err)
		}
		var m struct {
			Method string
			Params outcome
		}
		if err := json.Unmarshal(frame, &m); err != nil {
			return err
		}
		if m.Method == "notifications/tasks" && m.Params.Status == status {
			v.s.tally.add("a listener was told of the end of a task")
			return nil
		}
	}
}

func ended(status string) bool {
	return status == "completed" || status == "failed" || status == "cancelled"
}

// follow asks about a task until it has ended, or cancels it, or forgets about it, and returns its last known status.
func (v *visitor) follow(ctx context.Context, o outcome) (status string, err error) {
	id := fmt.Sprintf(`"taskId":%q`, o.TaskID)
	for range 40 {
		switch rand.IntN(20) {
		case 0:
			v.s.tally.add("a task was forgotten")
			return o.Status, nil
		case 1:
			_, err = v.ask(request{method: "tasks/cancel", name: o.TaskID, params: id})
		default:
			if o.Status == "input_required" {
				_, err = v.ask(request{method: "tasks/update", name: o.TaskID, params: id + `,"inputResponses":` + encoded(v.responses(o))})
			}
		}
		if err != nil {
			return "", err
		}
		r, err := v.ask(request{method: "tasks/get", name: o.TaskID, params: id})
		if err != nil {
			return "", err
		}
		if r.Failure != nil {
			v.s.faults.add("a task is not known", "%v", r.Failure)
			return "", nil
		}
		o = outcome{TaskID: o.TaskID}
		if err := json.Unmarshal(r.Result, &o); err != nil {
			return "", fmt.Errorf("%w in %.300s", err, r.Result)
		}
		switch {
		case ended(o.Status):
			v.s.tally.add("a task: " + o.Status)
			return o.Status, nil
		case o.Status != "working" && o.Status != "input_required":
			v.s.faults.add("a task of no status", "%.300s", r.Result)
			return "", nil
		}
		if pause(ctx, time.Duration(20+rand.IntN(200))*time.Millisecond) != nil {
			return o.Status, nil
		}
	}
	v.s.tally.add("a task was not waited for")
	return o.Status, nil
}
