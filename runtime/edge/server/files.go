package server

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hatchel/runtime/durable/state"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/operator"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/edge/upload"
	"hatchel/runtime/stage/files"
)

// isSignedFile reports whether a request is for a file and carries a signature, which replaces
// authentication.
func isSignedFile(r *http.Request) bool {
	return isUnder(r, "/files") && r.URL.Query().Has("signature")
}

// serveFiles answers POST /files, POST /files/uploads, PUT /files/uploads/ID with a signature, and
// GET, HEAD and DELETE of /files/ID.
func (s *Server) serveFiles(w http.ResponseWriter, r *http.Request, signed bool) {
	handle := func() error { return s.handleFiles(w, r, signed) }
	s.serveAPI(w, r, handle, func(err error) *Error { return describeFileError(w, r, err) })
}

// handleFiles answers a request about files, or returns an error and has written nothing.
func (s *Server) handleFiles(w http.ResponseWriter, r *http.Request, signed bool) error {
	if reason := s.mcp.CheckSource(r); reason != "" && !signed {
		return &operator.ForbiddenError{Why: reason}
	}
	caller := s.callerOf(r)
	if signed {
		caller = &mcp.Caller{Remote: s.clientAddress(r)}
	}
	store, err := s.Host.Files(caller, signed)
	if err != nil {
		return err
	}
	defer store.Close()
	id, upload := strings.CutPrefix(r.URL.Path, "/files/uploads/")
	switch {
	case upload && signed:
		return uploadWithTicket(w, r, store, id)
	case r.URL.Path == "/files" && !signed:
		return uploadFile(w, r, store)
	case r.URL.Path == "/files/uploads" && !signed:
		return createTicket(w, r, store)
	}
	return s.handleFile(w, r, store, signed)
}

// handleFile sends or removes one file.
func (s *Server) handleFile(w http.ResponseWriter, r *http.Request, store *upload.Files, signed bool) error {
	allowed := []string{http.MethodGet, http.MethodHead, http.MethodDelete}
	var signature url.Values
	if signed {
		allowed, signature = allowed[:2], r.URL.Query()
	}
	if err := checkMethod(w, r, allowed...); err != nil {
		return err
	}
	file, err := store.Find(r.Context(), strings.TrimPrefix(r.URL.Path, "/files/"), signature)
	if err != nil {
		return err
	}
	switch r.Method {
	case http.MethodDelete:
		return removeFile(w, r, store, file)
	case http.MethodHead:
		setFileHeaders(w, file)
		return nil
	}
	return s.sendFile(w, r, store, file)
}

func removeFile(w http.ResponseWriter, r *http.Request, store *upload.Files, file *files.File) error {
	removed, err := store.Remove(r.Context(), file)
	if err == nil && !removed {
		err = files.ErrNotFound
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

func (s *Server) sendFile(w http.ResponseWriter, r *http.Request, store *upload.Files, file *files.File) error {
	started := false
	err := store.Send(r.Context(), file, func() io.Writer {
		started = true
		setFileHeaders(w, file)
		return w
	})
	if err == nil || !started {
		return err
	}
	if r.Context().Err() == nil {
		s.Log.WarnContext(r.Context(), "download failed", slog.String("file", file.ID),
			slog.String("error", err.Error()))
	}
	panic(http.ErrAbortHandler) // the response is shorter than its Content-Length
}

func setFileHeaders(w http.ResponseWriter, file *files.File) {
	h := w.Header()
	h.Set("Content-Type", file.Type)
	h.Set("Content-Length", strconv.FormatInt(file.Size, 10))
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": file.Name}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Referrer-Policy", "no-referrer")
}

// describeFileError returns the response to an error of the file store, and sets the headers that
// belong to it.
func describeFileError(w http.ResponseWriter, r *http.Request, err error) *Error {
	var tooLarge *files.TooLargeError
	var badType *files.TypeError
	switch {
	case errors.As(err, &tooLarge):
		return newError(http.StatusRequestEntityTooLarge, capitalize(tooLarge.Error()))
	case errors.As(err, &badType):
		return newError(http.StatusUnsupportedMediaType, capitalize(badType.Error()))
	case errors.Is(err, upload.ErrNoFiles):
		return newError(http.StatusNotFound, "Not found. No tool of this server takes files")
	case errors.Is(err, files.ErrNotFound):
		const text = "File not found. It belongs to another caller, was removed, or has expired"
		return newError(http.StatusNotFound, text)
	case errors.Is(err, files.ErrQuotaExceeded):
		return newError(http.StatusInsufficientStorage,
			"Your files exceed the quota in number or size. Remove some, or wait until they expire")
	case errors.Is(err, state.ErrFull):
		return newError(http.StatusInsufficientStorage, "The server has no space left for the file. Try again later")
	case errors.Is(err, files.ErrTooManyUploads):
		w.Header().Set("Retry-After", "1")
		return newError(http.StatusTooManyRequests, "Too many uploads at once. Wait until some of yours are complete")
	case errors.Is(err, files.ErrTruncated), r.Context().Err() != nil:
		return newError(http.StatusBadRequest, "The upload ended before it was complete. Nothing was stored")
	case errors.As(err, new(*served.UnrecordedError)):
		return newError(http.StatusServiceUnavailable, err.Error())
	case errors.Is(err, state.ErrUnavailable):
		w.Header().Set("Retry-After", "1")
		return newError(http.StatusServiceUnavailable, "The state store is unavailable. Try again in a moment")
	}
	return nil
}

const (
	uploadTimeout = 15 * time.Minute
	maxPreamble   = 16 << 10 // bytes of a form around its file, and of the body that asks for a ticket
)

// uploadedFile is the response to an upload.
type uploadedFile struct {
	ID      string    `json:"file_id"`
	Name    string    `json:"filename"`
	Type    string    `json:"content_type"`
	Size    int64     `json:"size"`
	SHA256  string    `json:"sha256"`
	Expires time.Time `json:"expires"`
	URL     string    `json:"url"`
}

// uploadFile stores the body of a request, or the file of a multipart form.
func uploadFile(w http.ResponseWriter, r *http.Request, store *upload.Files) error {
	if err := checkMethod(w, r, http.MethodPost); err != nil {
		return err
	}
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(uploadTimeout))
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media == "multipart/form-data" {
		return uploadForm(w, r, store)
	}
	file, err := store.Upload(r.Context(), bodyUpload(r), r.Body)
	return writeUploaded(w, r, store, file, err)
}

// bodyUpload describes the body of a request by its headers.
func bodyUpload(r *http.Request) files.Upload {
	_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Disposition"))
	return files.Upload{Name: params["filename"], Type: r.Header.Get("Content-Type"), Length: r.ContentLength}
}

func uploadForm(w http.ResponseWriter, r *http.Request, store *upload.Files) error {
	body := &limitedBody{r.Body, maxPreamble}
	r.Body = body
	form, err := r.MultipartReader()
	if err != nil {
		return newError(http.StatusBadRequest, "The multipart form cannot be read")
	}
	part, err := form.NextPart()
	if err != nil || part.FileName() == "" && part.FormName() != "file" {
		return newError(http.StatusBadRequest, "The form must have the file as its only part")
	}
	upload := files.Upload{Name: part.FileName(), Type: part.Header.Get("Content-Type"), Length: -1}
	body.left = math.MaxInt64
	file, err := store.Upload(r.Context(), upload, &singlePart{part, form, body})
	if errors.Is(err, errMoreParts) {
		return newError(http.StatusBadRequest, "The form must have the file as its only part. Nothing was stored")
	}
	return writeUploaded(w, r, store, file, err)
}

// singlePart reads a part of a form. Its end is io.EOF only when the form has no other part.
type singlePart struct {
	*multipart.Part
	form *multipart.Reader
	body *limitedBody
}

var errMoreParts = errors.New("the form has more than one part")

// Read implements io.Reader.
func (p *singlePart) Read(b []byte) (int, error) {
	n, err := p.Part.Read(b)
	if err != io.EOF {
		return n, err
	}
	p.body.left = maxPreamble
	if _, err := p.form.NextPart(); err != io.EOF {
		return n, errMoreParts
	}
	return n, io.EOF
}

// limitedBody is the body of a form of which only left more bytes may be read.
type limitedBody struct {
	io.ReadCloser
	left int64
}

var errLongForm = errors.New("the form has too many bytes outside of its file")

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLongForm
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// uploadWithTicket stores a file for the holder of a signed URL.
func uploadWithTicket(w http.ResponseWriter, r *http.Request, store *upload.Files, id string) error {
	if err := checkMethod(w, r, http.MethodPut); err != nil {
		return err
	}
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(uploadTimeout))
	file, err := store.Redeem(r.Context(), id, r.URL.Query(), bodyUpload(r), r.Body)
	return writeUploaded(w, r, store, file, err)
}

func writeUploaded(w http.ResponseWriter, r *http.Request, store *upload.Files, f *files.File, err error) error {
	if err != nil {
		return err
	}
	link, err := store.Link(r.Context(), f)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, uploadedFile{
		f.ID, f.Name, f.Type, f.Size, f.SHA256, f.Expires.UTC().Truncate(time.Second), link,
	})
	return nil
}

// createTicket answers with a signed URL for one upload.
func createTicket(w http.ResponseWriter, r *http.Request, store *upload.Files) error {
	if err := checkMethod(w, r, http.MethodPost); err != nil {
		return err
	}
	var request struct {
		Name string `json:"filename"`
		Type string `json:"content_type"`
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPreamble))
	if err == nil && len(strings.TrimSpace(string(text))) > 0 {
		err = json.Unmarshal(text, &request)
	}
	if err != nil {
		return newError(http.StatusBadRequest, `The body must be empty or {"filename": "…", "content_type": "…"}`)
	}
	id, address, until, err := store.Ticket(r.Context(), files.Upload{Name: request.Name, Type: request.Type})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, struct {
		ID      string    `json:"file_id"`
		URL     string    `json:"upload_url"`
		Expires time.Time `json:"expires"`
	}{id, address, until.UTC()})
	return nil
}
