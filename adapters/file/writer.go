package file

import (
	"context"
	"fmt"
	"os"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// A writer writes the file of one block. It is immutable and safe for concurrent use.
type writer struct {
	config   *config
	folder   adapters.Folder
	ifExists adapters.IfExists
}

// Do implements adapters.Action. When it fails, nothing was written.
func (w *writer) Do(ctx context.Context, call *adapters.Call) (adapters.Result, error) {
	if err := ctx.Err(); err != nil {
		return adapters.Result{}, err
	}
	file, data, err := w.prepare(call.Frame)
	if err != nil {
		return adapters.Result{}, err
	}
	defer file.Close()
	out := map[string]any{"path": file.Path, "size": len(data)}
	ready := func() error { return call.Accept(out) }
	if w.ifExists == adapters.ExistsAppend {
		err = file.Append(ctx, func(_ *os.File, size int64) ([]byte, error) {
			out["size"] = int(size) + len(data)
			return data, ready()
		})
	} else {
		err = file.Replace(ctx, data, w.ifExists == adapters.ExistsFail, ready)
	}
	if err != nil {
		return adapters.Result{}, err
	}
	return adapters.Result{Value: out}, nil
}

func (w *writer) prepare(f *hcl.Frame) (*adapters.Entry, []byte, error) {
	name, err := w.config.Write.Render(f)
	if err != nil {
		return nil, nil, &adapters.Fault{Message: err.Error()}
	}
	v, err := w.config.Content.Eval(f)
	if err == nil {
		v, err = value.Raw(v)
	}
	if err != nil {
		return nil, nil, &adapters.Fault{Message: err.Error()}
	}
	data, err := content(v)
	if err != nil {
		return nil, nil, err
	}
	file, err := w.folder.Open(name)
	return file, data, err
}

// content is what a value is in a file: text and bytes as they are, everything else as JSON.
func content(v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return []byte(v), nil
	case value.Bytes:
		return v, nil
	case nil:
		return nil, &adapters.Fault{Message: "there is nothing to write: the content is null"}
	}
	out, err := value.AppendJSON(nil, v)
	if err != nil {
		return nil, &adapters.Fault{Message: "the content cannot be written as JSON: " + err.Error(), Cause: err}
	}
	return append(out, '\n'), nil
}

// Plan implements adapters.Planner: the file and its content.
func (w *writer) Plan(call *adapters.Call) (string, error) {
	file, data, err := w.prepare(call.Frame)
	if err != nil {
		return "", err
	}
	defer file.Close()
	uploaded, err := w.config.Content.Eval(call.Frame)
	if err != nil {
		return "", err
	}
	what := map[adapters.IfExists]string{
		adapters.ExistsFail:    "write a new file",
		adapters.ExistsReplace: "write or replace",
		adapters.ExistsAppend:  "append to",
	}[w.ifExists]
	if given, ok := uploaded.(value.File); ok {
		facts := given.Facts()
		return fmt.Sprintf("%s %s %s\n", what, file.Path, facts.Summary()), nil
	}
	if !utf8.Valid(data) {
		return fmt.Sprintf("%s %s: %s%d bytes]\n", what, file.Path, adapters.NotShown, len(data)), nil
	}
	return fmt.Sprintf("%s %s:\n\n%s\n", what, file.Path, data), nil
}
