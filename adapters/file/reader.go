package file

import (
	"context"
	"fmt"
	"os"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// reader reads the file of one block. It is immutable and safe for concurrent use.
type reader struct {
	block     *block
	dir       adapters.Directory
	format    string
	maxSize   int64 // bytes
	delimiter string
}

// Do implements adapters.Action.
func (r *reader) Do(ctx context.Context, call *adapters.Call) (adapters.Result, error) {
	if err := ctx.Err(); err != nil {
		return adapters.Result{}, err
	}
	target, lines, err := r.prepare(call.Frame)
	if err != nil {
		return adapters.Result{}, err
	}
	defer target.Close()
	file, err := target.OpenRead()
	if err != nil {
		return adapters.Result{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return adapters.Result{}, adapters.FileFault(err, target.Path)
	}
	out := map[string]any{"path": target.Path, "size": int(info.Size())}
	if err := r.read(ctx, file, lines, out); err != nil {
		return adapters.Result{}, err
	}
	return adapters.Result{Value: out}, nil
}

func (r *reader) prepare(f *hcl.Frame) (*adapters.File, lineRange, error) {
	name, err := r.block.Read.Render(f)
	if err != nil {
		return nil, lineRange{}, &adapters.Fault{Message: err.Error()}
	}
	lines, err := r.lineRange(f)
	if err != nil {
		return nil, lineRange{}, err
	}
	target, err := r.dir.Open(name)
	return target, lines, err
}

// read sets the member of the output that the format determines.
func (r *reader) read(ctx context.Context, file *os.File, lines lineRange, out map[string]any) error {
	path := out["path"].(string)
	raw, err := r.readLines(ctx, file, lines, path)
	if err != nil {
		return err
	}
	if r.format == asBytes {
		out["content"] = value.Bytes(raw)
		return nil
	}
	text, err := decodeText(raw, path)
	if err != nil {
		return err
	}
	switch r.format {
	case asLines:
		out["lines"] = splitLines(text)
	case asCSV:
		out["rows"], err = decodeCSV(text, r.delimiter, path)
	case asJSON:
		out["content"], err = decodeJSON(text, path)
	default:
		out["content"] = text
	}
	return err
}

// Plan implements adapters.Planner.
func (r *reader) Plan(call *adapters.Call) (string, error) {
	target, lines, err := r.prepare(call.Frame)
	if err != nil {
		return "", err
	}
	defer target.Close()
	if lines.isAll() {
		return fmt.Sprintf("read %s as %s\n", target.Path, r.format), nil
	}
	return fmt.Sprintf("read %s as %s, %s\n", target.Path, r.format, lines), nil
}

// Version implements adapters.Versioned. It changes when the file is written or replaced, also by a file
// of the same size. A name without a regular file has the version "none".
func (r *reader) Version(_ context.Context, call *adapters.Call) (string, error) {
	name, err := r.block.Read.Render(call.Frame)
	if err != nil {
		return "", &adapters.Fault{Message: err.Error()}
	}
	target, err := r.dir.Open(name)
	if err != nil {
		return "none", nil
	}
	defer target.Close()
	info, err := target.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "none", nil
	}
	return fmt.Sprintf("%d %d %d", info.ModTime().UnixNano(), info.Size(), inode(info)), nil
}
