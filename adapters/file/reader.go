package file

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"unicode/utf8"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/internal/charset"
	"hatchel/internal/osfile"
)

// reader reads the file of one block. It is immutable and safe for concurrent use.
type reader struct {
	block    *block
	dir      adapters.Directory
	format   string
	maxSize  int64 // bytes
	encoding *charset.Encoding
}

// Do implements adapters.Action.
func (r *reader) Do(ctx context.Context, call *adapters.Call) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	target, lines, err := r.prepare(call.Frame)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	if call.Trace != nil {
		call.Trace(adapters.TraceSent, "read "+target.Path)
	}
	file, err := target.OpenRead()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, adapters.FileFault(err, target.Path)
	}
	out := map[string]any{"path": target.Path, "size": int(info.Size()), "truncated": false}
	if err := r.read(ctx, call, file, lines, out); err != nil || out["truncated"] == false {
		return out, err
	}
	size := hcl.Size(r.maxSize).String()
	return out, call.Truncate(adapters.Cut{Members: []string{"content", "lines"}, Limit: "max_size = " + size,
		Argument: "max_size", Seen: "the content is larger: " + target.Path, Allowed: r.block.Truncate})
}

func (r *reader) prepare(f *hcl.Frame) (*adapters.File, lineRange, error) {
	lines, err := r.lineRange(f)
	if err != nil {
		return nil, lineRange{}, err
	}
	target, err := r.dir.OpenRendered(f, r.block.Read)
	return target, lines, err
}

// read sets the member of the output that the format determines.
func (r *reader) read(
	ctx context.Context, call *adapters.Call, file *os.File, lines lineRange, out map[string]any,
) error {
	path, src := out["path"].(string), &ctxReader{ctx: ctx, src: file}
	if r.format == asBytes {
		raw, err := io.ReadAll(io.LimitReader(src, r.maxSize+1))
		if err == nil && int64(len(raw)) > r.maxSize {
			return r.tooLarge(path)
		}
		out["content"] = value.Bytes(raw)
		return toFault(ctx, err, path)
	}
	raw, err := r.readText(ctx, file, src, lines, path)
	if err == nil && int64(len(raw)) > r.maxSize {
		if !canBeCut(r.format) {
			err = r.tooLarge(path)
		}
		raw, out["truncated"] = raw[:lastLineEnd(raw[:r.maxSize])], true
	}
	if err != nil {
		return err
	}
	text := string(raw)
	isText := r.format != asCSV && r.format != asJSON // their own faults name the encoding
	if guess := charset.GuessUTF16(text); isText && guess != "" && r.block.Encoding == "" {
		return newUTF16Fault(guess, path)
	}
	switch r.format {
	case asLines:
		out["lines"] = adapters.SplitLines(text)
	case asCSV:
		out["rows"], err = decodeCSV(text, r.block.Delimiter, path)
	case asJSON:
		out["content"], err = decodeJSON(text, path, call)
	default:
		out["content"] = text
	}
	return err
}

// Plan implements adapters.Planner.
func (r *reader) Plan(call *adapters.Call) ([]adapters.Effect, error) {
	target, lines, err := r.prepare(call.Frame)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	text := fmt.Sprintf("read %s as %s", target.Path, r.format)
	if !lines.isAll() {
		text += ", " + lines.String()
	}
	return adapters.PlanEffects("file", target.Path, text), nil
}

// Version implements adapters.Versioner. It changes when the file is written or replaced, also by a file
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
	inode := osfile.Inode(info) // distinguishes a file from one that replaced it
	return fmt.Sprintf("%d %d %d", info.ModTime().UnixNano(), info.Size(), inode), nil
}

// lineRange is the lines from first to last, counted from 1.
type lineRange struct{ first, last int }

func (l lineRange) isAll() bool { return l.first == 1 && l.last == math.MaxInt }

func (l lineRange) String() string {
	if l.last == math.MaxInt {
		return fmt.Sprintf("from line %d", l.first)
	}
	return fmt.Sprintf("lines %d to %d", l.first, l.last)
}

// lineRange returns the lines that a call reads. Null means the beginning or the end of the file.
func (r *reader) lineRange(f *hcl.Frame) (l lineRange, err error) {
	if l.first, err = lineNumber(r.block.First, f, "first", 1); err != nil {
		return l, err
	}
	if l.last, err = lineNumber(r.block.Last, f, "last", math.MaxInt); err != nil {
		return l, err
	}
	if l.last < l.first {
		return l, &adapters.Fault{Message: fmt.Sprintf("the last line (%d) is before the first (%d)", l.last, l.first)}
	}
	return l, nil
}

func lineNumber(e *hcl.Expr, f *hcl.Frame, name string, ifNull int) (int, error) {
	if e == nil {
		return ifNull, nil
	}
	v, err := e.Eval(f)
	if err == nil {
		v, err = value.Resolve(v)
	}
	if err != nil {
		return 0, &adapters.Fault{Message: err.Error()}
	}
	if v == nil {
		return ifNull, nil
	}
	n, ok := value.Int(v)
	if !ok || n < 1 {
		return 0, &adapters.Fault{Message: fmt.Sprintf("%s must be a line number of at least 1", name)}
	}
	return n, nil
}

// canBeCut reports whether a format of a larger file is cut. All others need all of it.
func canBeCut(format string) bool { return format == asText || format == asLines }

// lastLineEnd returns the end of the last whole line of a text, or else of its last character.
func lastLineEnd(text []byte) int {
	for _, lineEnd := range []byte("\n\r") {
		if i := bytes.LastIndexByte(text, lineEnd); i >= 0 {
			return i + 1
		}
	}
	end := len(text)
	for end > 0 && len(text)-end < utf8.UTFMax && !utf8.Valid(text[:end]) {
		end--
	}
	return end
}

// readText reads a range of lines, or the whole file, as UTF-8 up to more than the maximum size. It skips the lines
// before the range without storing them.
func (r *reader) readText(
	ctx context.Context, file *os.File, src io.Reader, lines lineRange, path string,
) (out []byte, err error) {
	lineEnd := byte('\n')
	if !lines.isAll() {
		if lineEnd, err = r.findLineEnd(file, src); err != nil {
			return nil, toFault(ctx, err, path)
		}
	}
	in := charset.NewReader(src, r.encoding)
	in.LineEnd = lineEnd
	for n := 1; n <= lines.last; {
		part, faults, err := in.ReadLine()
		if n >= lines.first {
			if out = append(out, part...); len(faults) > 0 {
				return nil, newEncodingFault(faults[0].Err, out, path)
			}
		}
		switch {
		case int64(len(out)) > r.maxSize, err == io.EOF:
			return out, nil
		case err != nil:
			return nil, toFault(ctx, err, path)
		case part[len(part)-1] == lineEnd:
			n++
		}
	}
	return out, nil
}

// findLineEnd returns what ends the lines of a file: a carriage return if it has no line feed.
func (r *reader) findLineEnd(file *os.File, src io.Reader) (byte, error) {
	in := charset.NewReader(src, r.encoding)
	lineEnd := byte('\r')
	for {
		part, _, err := in.ReadLine()
		if err != nil && err != io.EOF {
			return 0, err
		}
		if bytes.HasSuffix(part, []byte("\n")) {
			lineEnd = '\n'
		}
		if err == io.EOF || lineEnd == '\n' {
			_, err = file.Seek(0, io.SeekStart)
			return lineEnd, err
		}
	}
}

func toFault(ctx context.Context, err error, path string) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return adapters.FileFault(err, path)
}

func (r *reader) tooLarge(path string) error {
	return &adapters.Fault{Message: fmt.Sprintf("the content is larger than %s: %s", hcl.Size(r.maxSize), path)}
}

// ctxReader fails when its context ends.
type ctxReader struct {
	ctx context.Context
	src io.Reader
}

func (r *ctxReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.src.Read(p)
}
