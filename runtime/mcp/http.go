package mcp

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

// ServeHTTP serves the one endpoint of the protocol. The http.Server around it should have a ReadHeaderTimeout, and neither a
// ReadTimeout nor a WriteTimeout: what may take how long is known here.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.For("").ServeHTTP(w, r) }

// refuse answers what never came to be a message.
func refuse(w http.ResponseWriter, status int, why string) {
	http.Error(w, why, status)
}

// turnAway refuses a request whose body nobody will read, and does not let the peer take its time over it.
func (s *Server) turnAway(w http.ResponseWriter, status int, why string) {
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.options.BodyTimeout))
	w.Header().Set("Connection", "close")
	refuse(w, status, why)
}

// post reads a packet and hands it to the era it belongs to.
func (s *Server) post(w http.ResponseWriter, r *http.Request, v view) {
	x := &exchange{w: w, r: r, server: s, view: v, identity: IdentityOf(r.Context()), accepts: acceptedBy(r.Header)}
	if !isJSON(r.Header) {
		s.turnAway(w, http.StatusUnsupportedMediaType, "The Content-Type must be application/json")
		return
	}
	if !x.accepts.document && !x.accepts.events {
		s.turnAway(w, http.StatusNotAcceptable, "The Accept header must allow application/json and text/event-stream")
		return
	}
	body := borrow()
	defer body.release()
	if status, why := s.read(w, r, body); status != 0 {
		refuse(w, status, why)
		return
	}
	x.size = len(body.b)
	p, err := parse(body.b, s.options.MaxDepth)
	if err != nil {
		x.fail(parseError(err), nil)
		return
	}
	defer p.release()

	version, bad := header(r.Header, headerVersion)
	if bad == nil && len(p.messages) == 0 {
		bad = errorf(CodeInvalidRequest, "The batch is empty")
	}
	if bad != nil {
		x.fail(bad, nil)
		return
	}
	m := &p.messages[0]
	_, inSession := r.Header[headerSession]
	modern := Revision(version).Modern() || version == "" && !inSession && !p.batch && m.speaksModern()
	if !p.batch && m.invalid != "" {
		x.fail(errorf(CodeInvalidRequest, "Invalid request: %s", m.invalid), m.id)
		return
	}
	switch {
	case modern && p.batch:
		x.fail(errorf(CodeInvalidRequest, "This revision has no batches"), nil)
	case modern:
		s.postModern(x, m, version)
	default:
		s.postLegacy(x, p, version)
	}
}

// fail answers with an error of the protocol and the status that goes with it.
func (x *exchange) fail(err *Error, id []byte) {
	x.challenge(err)
	x.finish(err.append(nil, id), statusOf(err))
}

// challenge has the answer say, if it has not begun, where the client gets what it lacks.
func (x *exchange) challenge(err *Error) {
	if said := err.challenge(x.identity); said != "" {
		x.mu.Lock()
		defer x.mu.Unlock()
		if !x.streaming {
			x.w.Header()["Www-Authenticate"] = []string{said}
		}
	}
}

// read reads the body. A status that is not 0 says why it could not; then the connection ends with the answer, and the deadline
// stays, because net/http goes on to read what is left.
func (s *Server) read(w http.ResponseWriter, r *http.Request, body *buffer) (status int, why string) {
	rc := http.NewResponseController(w)
	rc.SetReadDeadline(time.Now().Add(s.options.BodyTimeout))
	err := errTooLarge
	if r.ContentLength <= s.options.MaxBody {
		err = body.fill(r.Body, s.options.MaxBody)
	}
	if err == nil {
		rc.SetReadDeadline(time.Time{})
		return 0, ""
	}
	w.Header().Set("Connection", "close")
	if err == errTooLarge {
		return http.StatusRequestEntityTooLarge, "The request is larger than this server accepts"
	}
	return http.StatusBadRequest, "The request could not be read to its end"
}

var errTooLarge = errors.New("too large")

// fill reads all there is, up to most bytes.
func (b *buffer) fill(from io.Reader, most int64) error {
	from = io.LimitReader(from, most+1)
	for {
		if len(b.b) == cap(b.b) {
			b.b = append(b.b, 0)[:len(b.b)]
		}
		n, err := from.Read(b.b[len(b.b):cap(b.b)])
		b.b = b.b[:len(b.b)+n]
		switch {
		case int64(len(b.b)) > most:
			return errTooLarge
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

func isJSON(h http.Header) bool {
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

// accepted is what a client takes for an answer.
type accepted struct{ document, events bool }

func acceptedBy(h http.Header) (a accepted) {
	values := h["Accept"]
	if len(values) == 0 {
		return accepted{true, true}
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
				a.document = true
			case "text/event-stream", "text/*":
				a.events = true
			case "*/*":
				a = accepted{true, true}
			}
		}
	}
	return a
}
