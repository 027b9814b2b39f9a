package http

import (
	"fmt"
	"io"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/value"
)

// body is the body of a request. At most one of its fields is set.
type body struct {
	JSON      *hcl.Expr
	Form      *hcl.KeyValues
	Multipart *hcl.KeyValues
	Raw       *hcl.Expr
}

func (b *body) spec() hcl.Spec {
	return hcl.AtMostOneOf("the body",
		hcl.Attr(&b.JSON, "json", "A value, sent as JSON. A null that comes with the call, such as an optional "+
			"input, sends no body. In the objects written here, also in merge(…), a member that is one reference "+
			"to something optional is left out when that is absent.").
			AllowSecret().OmitAbsent(),
		hcl.Attr(&b.Form, "form", "The fields of a form. A list repeats its field.").AllowSecret(),
		hcl.Attr(&b.Multipart, "multipart", "The parts of a multipart/form-data body. A string or number is a field; "+
			"bytes and uploaded files are files. { content, filename, type } sets the name and type of a file.").
			AllowSecret().AllowFile(),
		hcl.Attr(&b.Raw, "body", "Text, bytes or an uploaded file, sent unchanged. Set its type in a Content-Type "+
			"header; an uploaded file has its own type.").AllowSecret().AllowFile(),
	)
}

func (b *body) isSet() bool {
	return b.JSON != nil || b.Form != nil || b.Multipart != nil || b.Raw != nil
}

// fill sets the body of a request. edit may replace the value of a JSON body; it may be nil.
func (b *body) fill(f *hcl.Frame, r *compiledRequest, edit func(any) (any, error)) (err error) {
	contentType := ""
	switch {
	case b.JSON != nil:
		contentType = "application/json"
		if r.body, err = b.encodeJSON(f, edit); r.body == nil && err == nil {
			return nil // an optional body that is absent
		}
	case b.Form != nil:
		contentType = "application/x-www-form-urlencoded"
		r.body, err = b.encodeForm(f, r)
	case b.Multipart != nil:
		contentType, err = b.encodeMultipart(f, r)
	case b.Raw != nil:
		contentType, err = b.encodeRaw(f, r)
	default:
		return nil
	}
	if err != nil {
		return &adapters.Fault{Message: err.Error()}
	}
	if r.header["Content-Type"] == nil || b.Multipart != nil {
		r.header["Content-Type"] = []string{contentType}
	}
	return nil
}

func (b *body) encodeJSON(f *hcl.Frame, edit func(any) (any, error)) ([]byte, error) {
	v, err := b.JSON.Eval(f)
	if err == nil && edit != nil {
		v, err = edit(v)
	}
	if err != nil || v == nil && !b.JSON.Constant() {
		return nil, err
	}
	out, err := value.AppendJSON(make([]byte, 0, 256), v)
	if err != nil {
		return nil, fmt.Errorf("the body cannot be sent as JSON: %w", err)
	}
	return out, nil
}

func (b *body) encodeForm(f *hcl.Frame, r *compiledRequest) ([]byte, error) {
	form := []byte{}
	add := func(name string, texts []string, secret bool) error {
		for _, p := range r.newParameters(name, texts, secret) {
			form = r.appendParameter(form, p)
		}
		return nil
	}
	err := adapters.EachEntry(f, b.Form, "form field ", adapters.Texts, add)
	return form, err
}

func (b *body) encodeRaw(f *hcl.Frame, r *compiledRequest) (contentType string, err error) {
	v, err := b.Raw.Eval(f)
	if err == nil {
		v, err = resolveUnlessFile(v)
	}
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case value.File:
		return r.setFile(v), nil
	case value.Bytes:
		r.body = v
		return "application/octet-stream", nil
	case []any, map[string]any, nil:
		return "", fmt.Errorf("the body must be text or bytes, not %s", value.Kind(v))
	}
	s, err := value.Text(v)
	r.body = []byte(s)
	return "text/plain; charset=utf-8", err
}

// setFile makes an uploaded file the whole body, and returns its type.
func (r *compiledRequest) setFile(f value.File) (contentType string) {
	info := f.Info()
	if r.dryRun {
		r.body = []byte(info.Summary())
	} else {
		r.stream = new(bodyStream)
		r.stream.addFile(f)
	}
	return info.Type
}

// resolveUnlessFile decodes a deferred value. An uploaded file stays a file, because it is read while it
// is sent.
func resolveUnlessFile(v any) (any, error) {
	if _, ok := v.(value.File); ok {
		return v, nil
	}
	return value.Resolve(v)
}

// bodyStream is a body with uploaded files, which are read while they are sent. It can be opened any
// number of times, for example for a retry.
type bodyStream struct {
	pieces []piece
	size   int64
}

// piece opens a text or a file.
type piece func() (io.ReadCloser, error)

func (s *bodyStream) addText(text string) {
	s.pieces = append(s.pieces, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil })
	s.size += int64(len(text))
}

func (s *bodyStream) addFile(f value.File) {
	s.pieces = append(s.pieces, f.Open)
	s.size += f.Info().Size
}

func (s *bodyStream) open() (io.ReadCloser, error) { return &bodyReader{rest: s.pieces}, nil }

// bodyReader reads a bodyStream with at most one open file. It is not safe for concurrent use.
type bodyReader struct {
	rest    []piece
	current io.ReadCloser
}

// Read implements io.Reader.
func (r *bodyReader) Read(p []byte) (int, error) {
	for {
		if r.current == nil {
			if len(r.rest) == 0 {
				return 0, io.EOF
			}
			current, err := r.rest[0]()
			if err != nil {
				return 0, err
			}
			r.current, r.rest = current, r.rest[1:]
		}
		n, err := r.current.Read(p)
		if err == io.EOF {
			r.current.Close()
			r.current, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// Close implements io.Closer.
func (r *bodyReader) Close() error {
	r.rest = nil
	if r.current == nil {
		return nil
	}
	return r.current.Close()
}

// streamKey is the key of the body stream in the context of a request.
type streamKey struct{}
