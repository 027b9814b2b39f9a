package file

import (
	"context"
	"fmt"
	"os"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// A reader reads the file of one block. It is immutable and safe for concurrent use.
type reader struct {
	config    *config
	folder    adapters.Folder
	form      string
	limit     int64 // bytes that may be read into a result
	delimiter rune
}

// Do implements adapters.Action.
func (r *reader) Do(ctx context.Context, call *adapters.Call) (adapters.Result, error) {
	if err := ctx.Err(); err != nil {
		return adapters.Result{}, err
	}
	entry, lines, err := r.prepare(call.Frame)
	if err != nil {
		return adapters.Result{}, err
	}
	defer entry.Close()
	file, err := entry.Read()
	if err != nil {
		return adapters.Result{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return adapters.Result{}, adapters.FileFault(err, entry.Path)
	}
	out := map[string]any{"path": entry.Path, "size": int(info.Size())}
	if err := r.read(ctx, file, lines, out); err != nil {
		return adapters.Result{}, err
	}
	return adapters.Result{Value: out}, nil
}

func (r *reader) prepare(f *hcl.Frame) (*adapters.Entry, span, error) {
	name, err := r.config.Read.Render(f)
	if err != nil {
		return nil, span{}, &adapters.Fault{Message: err.Error()}
	}
	lines, err := r.lines(f)
	if err != nil {
		return nil, span{}, err
	}
	entry, err := r.folder.Open(name)
	return entry, lines, err
}

// read fills the member of the output that the form asks for.
func (r *reader) read(ctx context.Context, file *os.File, lines span, out map[string]any) error {
	path := out["path"].(string)
	raw, err := r.take(ctx, file, lines, path)
	if err != nil {
		return err
	}
	if r.form == asBytes {
		out["content"] = value.Bytes(raw)
		return nil
	}
	text, err := decodeText(raw, path)
	if err != nil {
		return err
	}
	switch r.form {
	case asLines:
		out["lines"] = split(text)
	case asCSV:
		out["rows"], err = r.rows(text, path)
	case asJSON:
		out["content"], err = decodeJSON(text, path)
	default:
		out["content"] = text
	}
	return err
}

// Plan implements adapters.Planner.
func (r *reader) Plan(call *adapters.Call) (string, error) {
	entry, lines, err := r.prepare(call.Frame)
	if err != nil {
		return "", err
	}
	defer entry.Close()
	if lines.all() {
		return fmt.Sprintf("read %s as %s\n", entry.Path, r.form), nil
	}
	return fmt.Sprintf("read %s as %s, %s\n", entry.Path, r.form, lines), nil
}
