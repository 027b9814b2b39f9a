package console

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
)

const (
	reloadPath  = "/console/reload"
	noDirectory = "This server has no directory that it could load again"
)

// reloadData is the data of the page about the last load.
type reloadData struct {
	*loadData
	Refusal string // why the person cannot load it again; empty if they can
	Notice  string // why nothing was loaded
}

// reload shows what the last load came to.
func (c *Console) reload(q *request) (*answer, error) {
	return c.reloadPage(q, http.StatusOK, "")
}

func (c *Console) reloadPage(q *request, status int, notice string) (*answer, error) {
	data := &reloadData{c.newLoadData(q), "", notice}
	switch {
	case c.Reload == nil:
		data.Refusal = noDirectory
	case c.Host.Authenticator() == nil:
		data.Refusal = "Without authentication, the configuration is loaded again when a file changes, on SIGHUP and " +
			"on POST /admin/reload"
	case permitOperator(c, q) != "":
		data.Refusal = "Only callers in the group " + adminGroup + " can load the configuration again here"
	}
	return &answer{template: "reload", title: "Reload", data: data, status: status}, nil
}

// loadNow loads the configuration directory again.
func (c *Console) loadNow(q *request) (*answer, error) {
	if c.Reload == nil {
		return nil, notFound(noDirectory)
	}
	// The load continues when the browser goes away.
	err := c.Reload(context.WithoutCancel(q.Context()))
	if failed := new(fs.PathError); errors.As(err, &failed) {
		err = failed.Err // without the path
	}
	if err != nil {
		const text = "The configuration directory cannot be read: "
		return c.reloadPage(q, http.StatusInternalServerError, text+err.Error())
	}
	return &answer{location: reloadPath}, nil
}
