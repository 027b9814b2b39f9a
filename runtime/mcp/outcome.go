package mcp

// Outcome is what a call came to.
type Outcome struct {
	Content    Appender // an array of content blocks; nil is an empty array
	Structured Appender // structuredContent, or nil. Left out for revisions that have none
	IsError    bool
	Meta       Appender // an object that becomes _meta, or nil

	// Wrap says that Structured is to be wrapped as {"result": …} for revisions up to 2025-11-25, because the schema that the tool
	// advertises to them is.
	Wrap bool

	Questions *Questions // instead of all else: what must be known first. Modern callers only
	Task      Appender   // instead of all else: the members of the task that the call has become, as encoded JSON without braces. Only callers that can follow tasks
}

// AppendResult appends the result of tools/call that o is in revision r, without what a server adds about itself.
func (o *Outcome) AppendResult(dst []byte, r Revision) []byte { return o.appendResult(dst, r, nil) }

func (o *Outcome) appendResult(dst []byte, r Revision, server *Info) []byte {
	switch {
	case o.Questions != nil:
		return o.Questions.appendResult(dst, server)
	case o.Task != nil:
		return server.end(o.Task.AppendJSON(append(dst, `{"resultType":"task",`...)))
	}
	modern := r.Modern()
	dst = append(begin(dst, r), `"content":`...)
	if o.Content != nil {
		dst = o.Content.AppendJSON(dst)
	} else {
		dst = append(dst, "[]"...)
	}
	if o.Structured != nil && r.structured() {
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
	introduce := modern && server != nil
	switch {
	case o.Meta == nil && introduce:
		return append(dst, server.tail...)
	case o.Meta != nil && introduce:
		dst = merge(append(dst, `,"_meta":`...), o.Meta, server)
	case o.Meta != nil:
		dst = o.Meta.AppendJSON(append(dst, `,"_meta":`...))
	}
	return append(dst, '}')
}

// merge appends the metadata of an outcome together with what every modern result of a server carries.
func merge(dst []byte, meta Appender, server *Info) []byte {
	dst = meta.AppendJSON(dst)
	if dst[len(dst)-1] != '}' {
		panic("the metadata of an outcome is not an object")
	}
	dst = dst[:len(dst)-1]
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(server.appendServerInfo(dst), '}')
}
