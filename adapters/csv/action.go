package csv

import (
	"context"
	"fmt"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
)

// An action writes the rows of one block. It is immutable and safe for concurrent use.
type action struct {
	config    *config
	folder    adapters.Folder
	delimiter rune
	columns   []string // nil when they are those of the rows of a call
}

// Do implements adapters.Action. When it fails, nothing was written.
func (a *action) Do(ctx context.Context, call *adapters.Call) (adapters.Result, error) {
	if err := ctx.Err(); err != nil {
		return adapters.Result{}, err
	}
	name, t, err := a.prepare(call.Frame)
	if err != nil {
		return adapters.Result{}, err
	}
	file, err := a.folder.Open(name)
	if err != nil {
		return adapters.Result{}, err
	}
	defer file.Close()
	out := map[string]any{"path": file.Path, "count": len(t.rows)}
	ready := func() error { return call.Accept(out) }
	if adapters.IfExists(a.config.IfExists) == adapters.ExistsAppend {
		err = a.extend(ctx, file, t, ready)
	} else {
		var data []byte
		if data, err = t.encode(ctx, nil, a.config.Header); err == nil {
			err = file.Replace(ctx, data, adapters.IfExists(a.config.IfExists) == adapters.ExistsFail, ready)
		}
	}
	if err != nil {
		return adapters.Result{}, err
	}
	return adapters.Result{Value: out}, nil
}

func (a *action) prepare(f *hcl.Frame) (name string, t *table, err error) {
	if name, err = a.config.File.Render(f); err != nil {
		return "", nil, &adapters.Fault{Message: err.Error()}
	}
	rows, err := a.config.Rows.Eval(f)
	if err != nil {
		return "", nil, &adapters.Fault{Message: err.Error()}
	}
	t, err = a.table(rows)
	return name, t, err
}

// Plan implements adapters.Planner: the file and what would stand in it.
func (a *action) Plan(call *adapters.Call) (string, error) {
	name, t, err := a.prepare(call.Frame)
	if err != nil {
		return "", err
	}
	file, err := a.folder.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := t.encode(call.Frame.Context, nil, a.config.Header)
	if err != nil {
		return "", err
	}
	what := map[adapters.IfExists]string{
		adapters.ExistsFail:    "write a new file",
		adapters.ExistsReplace: "write or replace",
		adapters.ExistsAppend:  "append to",
	}[adapters.IfExists(a.config.IfExists)]
	return fmt.Sprintf("%s %s, %d rows:\n\n%s", what, file.Path, len(t.rows), strings.ReplaceAll(string(data), "\r\n", "\n")), nil
}
