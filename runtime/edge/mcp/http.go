package mcp

import (
	"cmp"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"hatchel/hcl/jsonscan"
)

// reject refuses a request before its body is read. The client has bodyTimeout to finish sending
// it.
func (s *Server) reject(w http.ResponseWriter, status int, problem string) {
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	w.Header().Set("Connection", "close")
	http.Error(w, problem, status)
}

// servePost reads a packet and serves it in its era.
func (s *Server) servePost(w http.ResponseWriter, r *http.Request, toolset string, info *Info) {
	resp := &Response{
		Writer: w, Request: r, server: s, Toolset: toolset, Info: info,
		Identity: IdentityOf(r.Context()), accepts: parseAccept(r.Header),
	}
	if !hasJSONBody(r.Header) {
		s.reject(w, http.StatusUnsupportedMediaType, "The Content-Type must be application/json")
		return
	}
	if !resp.accepts.json && !resp.accepts.events {
		s.reject(w, http.StatusNotAcceptable, "The Accept header must allow application/json and text/event-stream")
		return
	}
	encoding := strings.ToLower(strings.Join(r.Header["Content-Encoding"], ", "))
	if !slices.Contains(bodyEncodings, encoding) {
		w.Header()["Accept-Encoding"] = []string{"gzip"}
		s.reject(w, http.StatusUnsupportedMediaType, fmt.Sprintf("The Content-Encoding %s is not supported. "+
			"Compress the body with gzip, or send it without a Content-Encoding", jsonscan.Excerpt(encoding)))
		return
	}
	body := BorrowBuffer()
	defer body.Release()
	body.memory = Reservation{server: s, from: r}
	if status, problem := s.readBody(w, r, body); status != 0 {
		http.Error(w, problem, status)
		return
	}
	resp.requestSize, resp.Memory = len(body.B), &body.memory
	p, err := Parse(body.B, s.options.MaxDepth)
	if err != nil {
		invalid := parseError(err)
		resp.Finish(invalid.appendReplies(nil, requestIDsIn(body.B)), invalid.Status())
		return
	}
	defer p.Release()

	version, invalid := SingleHeader(r.Header, HeaderVersion)
	if invalid == nil && len(p.Messages) == 0 {
		invalid = errEmptyBatch
	}
	if invalid != nil {
		resp.Fail(invalid, nil)
		return
	}
	m := &p.Messages[0]
	_, inSession := r.Header["Mcp-Session-Id"]
	modern := Revision(version).Modern() || version == "" && !inSession && !p.Batch && m.isModern()
	switch {
	case !p.Batch && m.Invalid != "":
		resp.Fail(InvalidRequest(m.Invalid), m.ID)
	case modern && p.Batch:
		resp.Fail(Errorf(CodeInvalidRequest, "This revision does not support batches"), nil)
	case modern:
		s.postModern(resp, m, version)
	case s.legacy != nil:
		s.legacy.ServePost(resp, p, version)
	default:
		resp.Fail(s.unsupportedVersion(cmp.Or(version, m.requestedVersion())), m.ID)
	}
}

var errEmptyBatch = &Error{Code: CodeInvalidRequest, Message: "The batch is empty"}

// bodyEncodings are the values of Content-Encoding that are accepted.
var bodyEncodings = []string{"", "identity", "gzip", "x-gzip"}

// readBody reads the body. If that fails, it returns a status other than 0, and the connection is
// closed after the reply; the read deadline remains, because net/http reads the rest of the body.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, body *Buffer) (status int, problem string) {
	rc := http.NewResponseController(w)
	rc.SetReadDeadline(time.Now().Add(bodyTimeout))
	limit := s.options.MaxBody
	var err error
	compressed := strings.HasSuffix(strings.ToLower(r.Header.Get("Content-Encoding")), "gzip")
	switch {
	case r.ContentLength > limit:
	case compressed:
		err = body.readGzip(http.MaxBytesReader(w, r.Body, limit), limit)
	default:
		err = body.readFrom(r.Body, r.ContentLength, limit)
	}
	switch {
	case err == ErrNoMemory:
		s.refuseMemory(r)
		w.Header()["Retry-After"] = retryAfter
		status, problem = http.StatusServiceUnavailable, ErrNoMemory.Message
	case max(r.ContentLength, int64(len(body.B))) > limit || errors.As(err, new(*http.MaxBytesError)):
		status = http.StatusRequestEntityTooLarge
		problem = fmt.Sprintf("The body of a request may have at most %d bytes", limit)
		if compressed {
			problem += ", compressed and decompressed"
		}
	case errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) ||
		errors.As(err, new(flate.CorruptInputError)):
		status, problem = http.StatusBadRequest, "The request body is not valid gzip, which its Content-Encoding names"
	case err != nil:
		status, problem = http.StatusBadRequest, "The request body could not be read completely"
	default:
		rc.SetReadDeadline(time.Time{})
		return 0, ""
	}
	w.Header().Set("Connection", "close")
	return status, problem
}

// memoryOwner returns whose memory a request takes: that of the authenticated caller, or that of its network.
func (s *Server) memoryOwner(r *http.Request) string {
	if identity := IdentityOf(r.Context()); identity != nil {
		return identity.Owner()
	}
	return s.options.Network(s.options.Remote(r))
}

// refuseMemory reports a request for which there is no memory.
func (s *Server) refuseMemory(r *http.Request) {
	s.options.Logger.InfoContext(r.Context(), "request refused", "reason", "memory", "bytes", r.ContentLength,
		"remote", s.options.Remote(r))
	if o := s.options.Observer; o != nil {
		o.MemoryRefused()
	}
}

func hasJSONBody(h http.Header) bool {
	values := h["Content-Type"]
	if len(values) != 1 {
		return false
	}
	if values[0] == "application/json" {
		return true
	}
	media, params, err := mime.ParseMediaType(values[0])
	charset, given := params["charset"]
	return err == nil && media == "application/json" && (!given || strings.EqualFold(charset, "utf-8"))
}

// acceptedTypes are the kinds of responses that a client accepts.
type acceptedTypes struct{ json, events bool }

// AcceptsEvents reports whether the client accepts an event stream.
func AcceptsEvents(h http.Header) bool { return parseAccept(h).events }

func parseAccept(h http.Header) (a acceptedTypes) {
	values := h["Accept"]
	if len(values) == 0 {
		return acceptedTypes{true, true}
	}
	for _, value := range values {
		for value != "" {
			var media string
			media, value, _ = strings.Cut(value, ",")
			media, params, _ := strings.Cut(media, ";")
			if strings.Contains(params, "q=0") && strings.Trim(params, " q=0.") == "" {
				continue
			}
			switch strings.ToLower(strings.TrimSpace(media)) {
			case "application/json", "application/*":
				a.json = true
			case "text/event-stream", "text/*":
				a.events = true
			case "*/*":
				a = acceptedTypes{true, true}
			}
		}
	}
	return a
}
