package call

import (
	"path/filepath"
	"strings"

	"hatchel/hcl"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/failure"
)

// failureWriter words how a call has failed for its caller.
type failureWriter struct {
	operation *Operation
	frame     *hcl.Frame
	caller    *mcp.Caller // nil in a step of another call
	step      string      // the name of the step that failed
}

// text returns what the caller reads about a failed call: in the words of the author, if there are any.
func (w failureWriter) text(f *failure.Failure) string {
	text := w.operation.failureText(w.frame, f, w.step)
	if w.caller == nil { // the call that it is a step of adds what was done
		return text
	}
	return strings.TrimSpace(text)
}

// failureText returns what the caller reads about a failure of a step: in the words of the author, if there are any.
func (o *Operation) failureText(f *hcl.Frame, failed *failure.Failure, step string) string {
	if !o.hasOwnText(failed) {
		return failed.Message
	}
	frame := *f
	frame.Failure = failed.ErrorRoot(step)
	text, err := o.errorText.Append(nil, &frame)
	if err != nil {
		return failed.Message
	}
	return string(text)
}

// hasOwnText reports whether the author's text is what the caller reads about a failure.
func (o *Operation) hasOwnText(f *failure.Failure) bool { return o.errorText != nil && !f.Refused }

// public returns what leaves the process about a failed call; nothing for a call that has
// not failed.
func (w failureWriter) public(f *failure.Failure) string {
	if f == nil {
		return ""
	}
	return w.operation.Writer.Message(hideRevealed(w.frame, w.operation.Env.relativePaths(w.text(f))), w.frame.Detect)
}

// answer is public for the answer to a request, with what the author of the tool can change for a caller
// who has started the server: their client does not show them its log.
func (w failureWriter) answer(f *failure.Failure) string {
	text := w.public(f)
	if f.Hint == "" || w.caller == nil || !w.caller.Operates {
		return text
	}
	return text + "\nHint for the author of the " + w.operation.Kind + ": " +
		w.operation.Writer.Message(hideRevealed(w.frame, w.operation.Env.relativePaths(f.Hint)), w.frame.Detect) + "."
}

// protocolError returns a failure as the error that answers a request which has no result.
func (w failureWriter) protocolError(f *failure.Failure) error {
	if f.Protocol != nil {
		return f.Protocol
	}
	kind := w.operation.Kind
	if f.Internal {
		f.Message = failure.InternalMessage(kind)
	}
	if f.NotFound { // the log names the file
		f.Message = "a file of the " + kind + " was not found"
	}
	out := &mcp.Error{Code: mcp.CodeInternalError, Message: w.answer(f)}
	if f.Refused && !f.Unrecorded || f.NotFound && kind != "completion" {
		out.Code = mcp.CodeInvalidParams // also for what does not exist, as for an unknown name or URI
	}
	if f.NotFound && kind == "resource" { // the URI becomes the data of the error
		return out
	}
	if f.ID != "" {
		out.Data = []byte(`{"correlationId":"` + f.ID + `"}`)
	}
	return out
}

// shortenPaths makes the paths of files in the configuration directory relative to it, in the outputs of steps that no
// step reads any more: what is left to do is the result, which callers read.
func (o *Operation) shortenPaths(f *hcl.Frame) {
	shorten := func(output any) {
		members, _ := output.(map[string]any)
		path, _ := members["path"].(string)
		if !filepath.IsAbs(path) {
			return
		}
		if name, err := filepath.Rel(o.Env.Dir, path); err == nil && filepath.IsLocal(name) {
			members["path"] = filepath.ToSlash(name)
		}
	}
	shorten(f.Output)
	for _, s := range o.Steps {
		output := f.Steps[s.Decl.Name]
		shorten(output)
		switch elements := output.(type) {
		case []any:
			for _, e := range elements {
				shorten(e)
			}
		case map[string]any:
			if s.Decl.Each == nil {
				continue
			}
			for _, e := range elements {
				shorten(e)
			}
		}
	}
}

// relativePaths makes paths in the configuration directory relative to it, also where a link leads to it: callers do
// not learn where on the server that is.
func (e *Environment) relativePaths(text string) string {
	if !strings.Contains(text, string(filepath.Separator)) {
		return text
	}
	dirs := []string{e.Dir}
	if real, err := filepath.EvalSymlinks(e.Dir); err == nil && real != e.Dir {
		dirs = append(dirs, real)
	}
	for _, dir := range dirs {
		if len(dir) > len("/") && filepath.IsAbs(dir) {
			text = replaceDir(text, filepath.Clean(dir))
		}
	}
	return text
}

// replaceDir removes a directory from the paths in it, and writes . for the directory itself. Other names that begin
// like it stay.
func replaceDir(text, dir string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, dir)
		out.WriteString(before)
		inPath := before != "" && strings.ContainsAny(before[len(before)-1:], pathBytes)
		switch {
		case !found:
			return out.String()
		case inPath:
			out.WriteString(dir)
		case strings.HasPrefix(rest, "/") && len(rest) > 1 && strings.ContainsAny(rest[1:2], pathBytes):
			rest = rest[1:]
		case rest == "" || !strings.ContainsAny(rest[:1], pathBytes):
			out.WriteByte('.')
			rest = strings.TrimPrefix(rest, "/")
		default:
			out.WriteString(dir)
		}
		text = rest
	}
}

// pathBytes are what a name of a file may go on with.
const pathBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
