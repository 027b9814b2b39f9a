package csv

import (
	"context"
	"fmt"
	"os"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
)

// action writes the rows of one block. It is immutable and safe for concurrent use.
type action struct {
	block     *block
	dir       adapters.Directory
	delimiter rune
	columns   []string // nil if the rows of a call determine them
}

// Do implements adapters.Action. If it fails, nothing was written.
func (a *action) Do(ctx context.Context, call *adapters.Call) (adapters.Result, error) {
	if err := ctx.Err(); err != nil {
		return adapters.Result{}, err
	}
	target, t, err := a.prepare(call.Frame)
	if err != nil {
		return adapters.Result{}, err
	}
	defer target.Close()
	out := map[string]any{"path": target.Path, "count": len(t.rows)}
	makeData := func(existing *os.File, size int64) ([]byte, error) {
		var data []byte
		if size > 0 {
			separator, err := a.checkExisting(existing, size, t, target.Path)
			if err != nil {
				return nil, err
			}
			data = separator
		}
		return t.encode(ctx, data, a.block.Header && size == 0)
	}
	accept := func() error { return call.CheckOutput(out) }
	if err := target.Write(ctx, adapters.IfExists(a.block.IfExists), makeData, accept); err != nil {
		return adapters.Result{}, err
	}
	return adapters.Result{Value: out}, nil
}

func (a *action) prepare(f *hcl.Frame) (*adapters.File, *table, error) {
	name, err := a.block.File.Render(f)
	if err != nil {
		return nil, nil, &adapters.Fault{Message: err.Error()}
	}
	rows, err := a.block.Rows.Eval(f)
	if err != nil {
		return nil, nil, &adapters.Fault{Message: err.Error()}
	}
	t, err := a.newTable(rows)
	if err != nil {
		return nil, nil, err
	}
	target, err := a.dir.Open(name)
	return target, t, err
}

// Plan implements adapters.Planner. It returns the path and the content of the file.
func (a *action) Plan(call *adapters.Call) (string, error) {
	target, t, err := a.prepare(call.Frame)
	if err != nil {
		return "", err
	}
	defer target.Close()
	data, err := t.encode(call.Frame.Context, nil, a.block.Header)
	if err != nil {
		return "", err
	}
	phrase, text := adapters.IfExists(a.block.IfExists).Phrase(), strings.ReplaceAll(string(data), "\r\n", "\n")
	return fmt.Sprintf("%s %s, %d rows:\n\n%s", phrase, target.Path, len(t.rows), text), nil
}
