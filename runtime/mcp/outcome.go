package mcp

import "bytes"

// Outcome is the result of a tool call.
type Outcome struct {
	Content    Appender // an array of content blocks; nil means an empty array
	Structured Appender // structuredContent, or nil; omitted in revisions without it
	IsError    bool
	Meta       Appender // _meta, an object, or nil

	// Wrap says that Structured is wrapped as {"result": …} for revisions up to 2025-11-25, like
	// the output schema that they see.
	Wrap bool

	Questions *Questions // instead of all else: input that is required first; for modern callers only

	// Task, instead of all else, is the members of the task that the call has become, as encoded
	// JSON without braces. It is only for callers that declare TasksExtension.
	Task Appender
}

// AppendResult appends the result of tools/call in revision r, without the metadata of a server.
func (o *Outcome) AppendResult(dst []byte, r Revision) []byte { return o.appendResult(dst, r, nil) }

func (o *Outcome) appendResult(dst []byte, r Revision, server *Info) []byte {
	switch {
	case o.Questions != nil:
		return o.Questions.appendResult(dst, server)
	case o.Task != nil:
		return server.endResult(o.Task.AppendJSON(append(dst, `{"resultType":"task",`...)), r)
	}
	modern := r.Modern()
	dst = append(beginResult(dst, r), `"content":`...)
	if o.Content != nil {
		dst = o.Content.AppendJSON(dst)
	} else {
		dst = append(dst, "[]"...)
	}
	if o.Structured != nil && r.hasStructuredContent() {
		wrap := o.Wrap && !modern
		dst = append(dst, `,"structuredContent":`...)
		if wrap {
			dst = append(dst, `{"result":`...)
		}
		dst = o.Structured.AppendJSON(dst)
		if wrap {
			dst = append(dst, '}')
		}
	}
	if o.IsError {
		dst = append(dst, `,"isError":true`...)
	}
	if o.Meta == nil {
		return server.endResult(dst, r)
	}
	dst = o.Meta.AppendJSON(append(dst, `,"_meta":`...))
	if modern && server != nil {
		dst = server.addToMeta(dst)
	}
	return append(dst, '}')
}

// addToMeta adds serverInfo to the metadata of an outcome, the object at the end of dst.
func (i *Info) addToMeta(dst []byte) []byte {
	dst, isObject := bytes.CutSuffix(dst, []byte{'}'})
	if !isObject {
		panic("the metadata of an outcome is not an object")
	}
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(i.appendServerInfo(dst), '}')
}
