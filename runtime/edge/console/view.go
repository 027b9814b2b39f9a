package console

import (
	"strings"

	"hatchel/runtime/edge/view"
)

// viewFrame is the view of a tool in its page: the frame with its app, which gets the result of a call.
type viewFrame struct {
	Title  string
	App    string // address of the app
	Result string // address of the result as JSON
}

// newViewFrame returns the frame with the result of a call; nil for a tool without a view, and for a failed call, whose
// message the page shows. It can be loaded for as long as a download.
func (c *Console) newViewFrame(q *request, page *toolData, encoded []byte) *viewFrame {
	if page.app == nil {
		return nil
	}
	id := c.downloads.keep(q.session.ID, string(page.Try.hidden.JSON(encoded)), q.now)
	return &viewFrame{Title: "View of the result of " +
		"" + page.Name, App: toolPath(page.Name) + "/view", Result: downloadPath + id}
}

// viewApp sends the app of a tool for a frame.
func (c *Console) viewApp(q *request) (*answer, error) {
	g, err := c.admit(q)
	if err != nil {
		return nil, err
	}
	app := g.Apps[q.PathValue("name")]
	if app == nil {
		return nil, notFound("There is no view of this name. It may have been removed by a reload")
	}
	h := q.writer.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", strings.Join([]string{"sandbox allow-scripts", view.Policy(), "frame-ancestors " +
		"'self'"}, "; "))
	q.writer.Write([]byte(app.HTML))
	return nil, nil
}
