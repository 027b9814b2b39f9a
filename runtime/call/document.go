package call

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/stage/elicit"
	"hatchel/runtime/stage/failure"
	"hatchel/runtime/stage/result"
	"hatchel/runtime/stage/rows"
)

// Resource is one compiled resource: one document, or those of a URI template.
type Resource struct {
	Operation
	Resource *hcl.Resource
	Skill    *hcl.Skill    // whose files are served; nil for another resource
	Probes   chan struct{} // holds one for every subscription that reads the resource now
}

// maxProbes is how many subscriptions read one resource at once: its backend is there for calls,
// too.
const maxProbes = 8

// NewResource returns a resource without its steps and rules.
func NewResource(env *Environment, decl *hcl.Resource) *Resource {
	r := &Resource{Resource: decl, Probes: make(chan struct{}, maxProbes)}
	r.Init(env, "resource", &decl.Operation, decl.Error)
	return r
}

// NewSkill returns the resource of the files of a skill, without its rules.
func NewSkill(env *Environment, decl *hcl.Skill) *Resource {
	r := &Resource{Resource: &decl.Resource, Skill: decl, Probes: make(chan struct{}, maxProbes)}
	r.Init(env, "skill", &decl.Operation, nil)
	return r
}

// Read serves one resources/read of a URI with these variables.
func (r *Resource) Read(
	ctx context.Context, req *mcp.CallRequest, variables map[string]string,
) (mcp.Document, error) {
	d, err := r.serveDocument(ctx, req, inputs{texts: variables}, r.contents(req.Name))
	if err != nil {
		return d, withURI(req.Name, err)
	}
	d.Private = true // unless the configuration says otherwise
	if hint := r.Resource.CacheHint; hint != nil {
		d.TTL, d.Private = hint.TTL, !hint.Public
	}
	return d, nil
}

// withURI adds the URI to an error without data.
func withURI(uri string, err error) error {
	var known *mcp.Error
	if !errors.As(err, &known) || known.Data != nil {
		return err
	}
	out := *known
	out.Data = append(value.AppendString([]byte(`{"uri":`), uri), '}')
	return &out
}

// writeDocument appends the members of the result of a call that has run.
type writeDocument func(dst []byte, f *hcl.Frame) ([]byte, error)

// contents returns what writes the document at a URI.
func (r *Resource) contents(uri string) writeDocument {
	if r.Skill != nil {
		return r.fileContents(uri)
	}
	return func(dst []byte, f *hcl.Frame) ([]byte, error) {
		v, err := r.evalDocument(f)
		if err != nil {
			return nil, failure.AsFault(err)
		}
		safe := result.NewRedactor(r.Env.Scrubber, f.Detect)
		dst = value.AppendString(append(dst, `"contents":[{"uri":`...), uri)
		dst = mcp.AppendMember(dst, "mimeType", r.Resource.MediaType(uri, v))
		size := 0
		switch v := v.(type) {
		case value.Bytes:
			size = len(v)
			dst = append(base64.StdEncoding.AppendEncode(append(dst, `,"blob":"`...), r.Env.Scrubber.Bytes(v)), '"')
		case string:
			size = len(v)
			dst = value.AppendString(append(dst, `,"text":`...), safe.Text(v))
		default:
			b, err := value.AppendJSON(nil, v)
			if err != nil {
				_, err = result.AppendText(nil, v)
				return nil, failure.AsFault(err)
			}
			b = safe.JSON(b)
			if list, ok := rows.Find(b, r.Resource.Body.Type()); ok && r.Resource.Format != "" {
				if table, ok := list.Write(r.Resource.Format, r.Resource.Body.Type()); ok {
					b = safe.Bytes(table.Whole())
				}
			}
			size = len(b)
			dst = value.AppendString(append(dst, `,"text":`...), string(b))
		}
		if err := f.Detect.CheckSize(size); err != nil {
			return nil, &adapters.Fault{Message: err.Error()}
		}
		return append(dst, "}]"...), result.CheckDocumentSize(size)
	}
}

// evalDocument returns the document: a text, bytes, or a value that is sent as JSON.
func (r *Resource) evalDocument(f *hcl.Frame) (any, error) {
	switch {
	case r.Resource.Text != nil:
		text, err := r.Resource.Text.Append(nil, f)
		return string(text), err
	case r.Resource.Data != nil:
		v, err := result.EvalData(r.Resource.Data, f)
		if text, ok := v.(string); ok {
			raw, err := base64.StdEncoding.DecodeString(text)
			return value.Bytes(raw), err
		}
		return v, err
	}
	return r.Resource.Body.Eval(f)
}

// CheckSubscribe returns why a caller may not subscribe to a URI, as an error of the protocol; nil
// if they may.
func (r *Resource) CheckSubscribe(
	ctx context.Context, caller *mcp.Caller, uri string, variables map[string]string,
) error {
	if err := r.checkVisibleRequest(ctx, caller, uri); err != nil {
		return err
	}
	if err := r.CheckScopes(caller); err != nil {
		return err
	}
	c := r.newCallOf(ctx, caller, adapters.NopClient{})
	defer c.result.Release()
	failed := c.failed(failure.Try(func() error { return c.admit(inputs{texts: variables}) }))
	if failed == nil {
		return nil
	}
	end := c.ending(ctx, failed, "")
	end.log(ctx)
	return withURI(uri, c.failureWriter().protocolError(failed))
}

// MaySubscribe reports whether CheckSubscribe allows a caller, and logs nothing.
func (r *Resource) MaySubscribe(ctx context.Context, caller *mcp.Caller, variables map[string]string) bool {
	switch {
	case r.CheckScopes(caller) != nil:
		return false
	case r.Rules == nil:
		return true
	}
	c := r.newCallOf(ctx, caller, adapters.NopClient{})
	defer c.result.Release()
	return failure.Try(func() error { return c.admit(inputs{texts: variables}) }) == nil
}

// IsVersioned reports whether a backend of the resource can tell of changes without being read.
func (r *Resource) IsVersioned() bool {
	for _, s := range r.Steps {
		if _, ok := s.Versioned(); ok {
			return true
		}
	}
	return false
}

// Version returns what the backends say of the document that they would read for a caller. A
// backend that depends on the output of another one says nothing.
func (r *Resource) Version(
	ctx context.Context, caller *mcp.Caller, variables map[string]string,
) (version string, err error) {
	c := r.newCallOf(ctx, caller, adapters.NopClient{})
	defer c.result.Release()
	defer failure.Recover(&err)
	if err := c.admit(inputs{texts: variables}); err != nil {
		return "", err
	}
	for _, s := range r.Steps {
		if action, ok := s.Versioned(); ok {
			v, err := action.Version(c.frame.Context, &c.action)
			if err == nil {
				version += v
			}
			version += "\n"
		}
	}
	return version, nil
}

// Sum reads the document for a caller and returns its digest.
func (r *Resource) Sum(
	ctx context.Context, caller *mcp.Caller, uri string, variables map[string]string,
) (sum [sha256.Size]byte, err error) {
	c := r.newCallOf(ctx, caller, adapters.NopClient{})
	defer c.result.Release()
	defer failure.Recover(&err)
	if err = c.run(inputs{texts: variables}); err == nil {
		err = c.write(r.contents(uri))
	}
	return sha256.Sum256(c.result.Blocks), err
}

// serveDocument serves a request for a prompt or a resource. Write puts the members of the result
// into the blocks of the reply. A failure is an error of the protocol, because no model reads it.
func (o *Operation) serveDocument(
	ctx context.Context, req *mcp.CallRequest, in inputs, write writeDocument,
) (mcp.Document, error) {
	c := o.newRequestCall(ctx, req)
	defer c.clock.unpin()
	if c.audit != nil && o.Kind != "prompt" && !o.hasSensitiveInput {
		c.audit.common.URI = o.Env.Scrubber.Text(req.Name)
	}
	err := failure.Try(func() error {
		if err := c.accept(req); err != nil {
			return err
		}
		if err := c.run(in); err != nil {
			return err
		}
		return c.write(write)
	})
	var paused *elicit.PausedError
	var questions *mcp.Questions
	interim := ""
	if errors.As(err, &paused) {
		interim = audit.Asked
		questions, err = c.sealQuestions(paused)
	}
	c.releaseOpenCall(ctx, err)
	failed := c.account(ctx, c.failed(err), interim)
	if questions != nil && failed == nil {
		c.result.Release()
		return mcp.Document{Questions: questions}, nil
	}
	if failed != nil {
		defer c.result.Release()
		return mcp.Document{}, c.failureWriter().protocolError(failed)
	}
	return mcp.Document{Members: c.result.DocumentMembers(), Meta: o.Writer.EncodeMeta(&c.result)}, nil
}

// write makes the members of the result of a call that has run.
func (c *engine) write(document writeDocument) error {
	dst, err := document(c.result.Blocks, c.frame)
	if err != nil {
		return c.clock.cause(err)
	}
	c.result.Blocks = dst
	return nil
}

// Prompt is one compiled prompt.
type Prompt struct {
	Operation
	Prompt *hcl.Prompt
}

// NewPrompt returns a prompt without its steps and rules.
func NewPrompt(env *Environment, decl *hcl.Prompt) *Prompt {
	p := &Prompt{Prompt: decl}
	p.Init(env, "prompt", &decl.Operation, decl.Error)
	return p
}

// Get serves one prompts/get.
func (p *Prompt) Get(ctx context.Context, req *mcp.CallRequest) (mcp.Document, error) {
	return p.serveDocument(ctx, req, p.textArguments(req.Arguments), p.writeMessages)
}

func (p *Prompt) writeMessages(dst []byte, f *hcl.Frame) (_ []byte, err error) {
	if p.Prompt.Description != "" {
		dst = append(value.AppendString(append(dst, `"description":`...), p.Prompt.Description), ',')
	}
	if dst, err = p.Writer.AppendMessages(append(dst, `"messages":`...), p.Prompt.Messages, f); err != nil {
		return nil, failure.AsFault(err)
	}
	return dst, nil
}
