package runtime

import (
	"context"
	"encoding/base64"
	"errors"
	"strconv"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/runtime/mcp"
	"hatchel/runtime/result"
)

// resource is one compiled resource: one document, or a family of them.
type resource struct {
	operation
	resource   *hcl.Resource
	probeSlots chan struct{} // holds one for everybody who looks whether it has changed
}

// maxResourceProbes is how many look at a resource for those who follow it, at once: the backend is there for calls, too.
const maxResourceProbes = 8

func newResource(g *Generation, decl *hcl.Resource) *resource {
	r := &resource{resource: decl, probeSlots: make(chan struct{}, maxResourceProbes)}
	r.initialize(g, "resource", &decl.Operation, decl.Error)
	return r
}

// match gives the variables of a URI that leads to the resource.
func (r *resource) match(uri string) (variables map[string]string, ok bool) {
	if r.resource.Template == nil {
		return map[string]string{}, r.resource.URI == uri
	}
	return r.resource.Template.Match(uri)
}

// read serves one resources/read of a URI with these variables.
func (r *resource) read(ctx context.Context, req *mcp.CallRequest, variables map[string]string) (mcp.Document, error) {
	d, err := r.serve(ctx, req, inputs{texts: variables}, func(c *call) error { return r.contents(c, req.Name) })
	if err != nil {
		return d, withURI(req.Name, err)
	}
	d.Private = true // until somebody says that it is for everybody
	if k := r.resource.CacheHint; k != nil {
		d.TTL, d.Private = k.TTL, k.Private
	}
	return d, nil
}

// withURI puts the URI into an error that says nothing more than its message.
func withURI(uri string, err error) error {
	var known *mcp.Error
	if !errors.As(err, &known) || known.Data != nil {
		return err
	}
	told := *known
	told.Data = append(value.AppendString([]byte(`{"uri":`), uri), '}')
	return &told
}

// contents writes the document at uri.
func (r *resource) contents(c *call, uri string) error {
	v, err := r.document(c.frame)
	if err != nil {
		return c.evalError(err)
	}
	if r.resource.Text == nil && r.resource.Data == nil && result.IsPartial(c.frame.Output) {
		return &adapters.Fault{Message: "there is more of it than is read at most, and a part of it is not sent"}
	}
	scrubber := r.generation.scrubber
	dst := value.AppendString(append(c.result.Blocks, `"contents":[{"uri":`...), uri)
	dst = result.AppendMember(dst, "mimeType", r.resource.MediaType(uri, v))
	size := 0
	switch v := v.(type) {
	case value.Bytes:
		size = len(v)
		dst = append(base64.StdEncoding.AppendEncode(append(dst, `,"blob":"`...), scrubber.Bytes(v)), '"')
	case string:
		size = len(v)
		dst = value.AppendString(append(dst, `,"text":`...), scrubber.Text(v))
	default:
		b, err := value.AppendJSON(nil, v)
		if err != nil {
			_, err = result.AppendText(nil, v)
			return c.evalError(err)
		}
		size = len(b)
		dst = value.AppendString(append(dst, `,"text":`...), string(scrubber.JSON(b)))
	}
	c.result.Blocks = append(dst, "}]"...)
	return result.CheckDocumentSize(size)
}

// document is the content of the resource: a text, bytes, or a value that is sent as JSON.
func (r *resource) document(f *hcl.Frame) (any, error) {
	switch {
	case r.resource.Text != nil:
		text, err := r.resource.Text.Append(nil, f)
		return string(text), err
	case r.resource.Data != nil:
		v, err := result.EvalData(r.resource.Data, f)
		if text, ok := v.(string); ok {
			raw, err := base64.StdEncoding.DecodeString(text)
			return value.Bytes(raw), err
		}
		return v, err
	}
	return r.resource.Body.Eval(f)
}

// listEntry is the resource, or the family, as it is listed.
func (r *resource) listEntry() mcp.Entry {
	d := r.resource
	e := value.AppendString([]byte(`{"name":`), d.Name)
	if d.Template != nil {
		e = result.AppendMember(e, "uriTemplate", d.Template.Raw())
	} else {
		e = result.AppendMember(e, "uri", d.URI)
	}
	e = result.AppendMember(e, "title", d.Title)
	e = result.AppendMember(e, "description", d.Description)
	e = result.AppendMember(e, "mimeType", d.MimeType)
	if d.Size > 0 && d.Template == nil {
		e = strconv.AppendInt(append(e, `,"size":`...), int64(d.Size), 10)
	}
	if len(d.Icons) > 0 {
		e = append(mcp.AppendIcons(append(e, `,"icons":[`...), icons(d.Icons)), ']')
	}
	e, _ = result.AppendAnnotations(e, d.Annotations, nil) // what is said of a resource is known
	e = append(e, '}')
	return mcp.Entry{Name: d.Name, Legacy: e, Modern: e}
}
