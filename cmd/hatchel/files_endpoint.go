package main

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

	"hatchel/runtime"
	"hatchel/runtime/auth"
	"hatchel/runtime/files"
	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
)

const (
	uploadPatience  = 15 * time.Minute // for all of an upload
	largestPreamble = 16 << 10         // of what is said of a file that is to be uploaded
)

// uploaded is what is answered about a file.
type uploaded struct {
	ID      string    `json:"file_id"`
	Name    string    `json:"filename"`
	Type    string    `json:"content_type"`
	Size    int64     `json:"size"`
	SHA256  string    `json:"sha256"`
	Expires time.Time `json:"expires"`
	URL     string    `json:"url"`
}

// signedFile reports whether a request is for a file and says itself why it may be made, so that nobody is asked who makes it.
func signedFile(r *http.Request) bool {
	return isAbout(r, "/files") && r.URL.Query().Has("signature")
}

// files answers what is about uploaded files: POST /files, POST /files/uploads, PUT /files/uploads/ID with a signature, and GET, HEAD and DELETE of /files/ID.
func (e *endpoints) files(w http.ResponseWriter, r *http.Request, signed bool) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if err := e.filed(w, r, signed); err != nil {
		e.unfiled(w, r, err)
	}
}

// filed does what a request about files asks for, and answers it; or it has not answered, and says why.
func (e *endpoints) filed(w http.ResponseWriter, r *http.Request, signed bool) error {
	if why := e.mcp.Source(r); why != "" && !signed {
		return &runtime.ForbiddenError{Why: why}
	}
	caller := callerOf(r)
	if signed {
		caller = &mcp.Caller{Remote: r.RemoteAddr}
	}
	store, err := e.host.Files(r.Context(), caller, signed)
	if err != nil {
		return err
	}
	defer store.Close()
	id, upload := strings.CutPrefix(r.URL.Path, "/files/uploads/")
	switch {
	case upload && signed:
		return e.redeemFile(w, r, store, id)
	case r.URL.Path == "/files" && !signed:
		return e.uploadFile(w, r, store)
	case r.URL.Path == "/files/uploads" && !signed:
		return e.fileTicket(w, r, store)
	}
	return e.file(w, r, store, signed)
}

// method reports whether a request has one of some methods; when it has not, the answer names them.
func method(w http.ResponseWriter, r *http.Request, methods ...string) error {
	for _, m := range methods {
		if r.Method == m {
			return nil
		}
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	return complain(http.StatusMethodNotAllowed, "Use "+strings.Join(methods, ", "))
}

// uploadFile takes a file: the body, or the one file of a multipart form.
func (e *endpoints) uploadFile(w http.ResponseWriter, r *http.Request, store *runtime.Files) error {
	if err := method(w, r, http.MethodPost); err != nil {
		return err
	}
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(uploadPatience))
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" {
		return e.uploadForm(w, r, store)
	}
	file, err := store.Upload(r.Context(), rawUpload(r), r.Body)
	return e.took(w, r, store, file, err)
}

// rawUpload is what a request says of the file that is its body.
func rawUpload(r *http.Request) files.Upload {
	_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Disposition"))
	return files.Upload{Name: params["filename"], Type: r.Header.Get("Content-Type"), Length: r.ContentLength}
}

func (e *endpoints) uploadForm(w http.ResponseWriter, r *http.Request, store *runtime.Files) error {
	body := &formBody{r.Body, largestPreamble}
	r.Body = body
	form, err := r.MultipartReader()
	if err != nil {
		return complain(http.StatusBadRequest, "The form cannot be read")
	}
	part, err := form.NextPart()
	if err != nil || part.FileName() == "" && part.FormName() != "file" {
		return complain(http.StatusBadRequest, "The form has one part, the file, and nothing before it")
	}
	upload := files.Upload{Name: part.FileName(), Type: part.Header.Get("Content-Type"), Length: -1}
	body.left = math.MaxInt64
	file, err := store.Upload(r.Context(), upload, &onlyPart{part, form, body})
	if errors.Is(err, errMoreParts) {
		return complain(http.StatusBadRequest, "The form has one part, the file, and nothing after it. Nothing was kept")
	}
	return e.took(w, r, store, file, err)
}

// onlyPart reads the part of a form that is its only one: to its end it comes only where the form does.
type onlyPart struct {
	*multipart.Part
	form *multipart.Reader
	body *formBody
}

var errMoreParts = errors.New("there is something behind the file")

// Read implements io.Reader.
func (o *onlyPart) Read(p []byte) (int, error) {
	n, err := o.Part.Read(p)
	if err != io.EOF {
		return n, err
	}
	o.body.left = largestPreamble
	if _, err := o.form.NextPart(); err != io.EOF {
		return n, errMoreParts
	}
	return n, io.EOF
}

// formBody is the body of a form, of which so many bytes more are read: as many as a form has that holds one file, before that and behind it.
type formBody struct {
	io.ReadCloser
	left int64
}

var errLongForm = errors.New("there is too much in the form beside the file")

// Read implements io.Reader.
func (b *formBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLongForm
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// redeemFile takes a file at a signed address.
func (e *endpoints) redeemFile(w http.ResponseWriter, r *http.Request, store *runtime.Files, id string) error {
	if err := method(w, r, http.MethodPut); err != nil {
		return err
	}
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(uploadPatience))
	file, err := store.Redeem(r.Context(), id, r.URL.Query(), rawUpload(r), r.Body)
	return e.took(w, r, store, file, err)
}

// took answers with a file that was taken.
func (e *endpoints) took(w http.ResponseWriter, r *http.Request, store *runtime.Files, file *files.File, err error) error {
	if err != nil {
		return err
	}
	link, err := store.Link(r.Context(), file)
	if err != nil {
		return err
	}
	answer(w, http.StatusCreated, uploaded{file.ID, file.Name, file.Type, file.Size, file.SHA256, file.Expires.UTC().Truncate(time.Second), link})
	return nil
}

// fileTicket answers with a signed address for one upload.
func (e *endpoints) fileTicket(w http.ResponseWriter, r *http.Request, store *runtime.Files) error {
	if err := method(w, r, http.MethodPost); err != nil {
		return err
	}
	var said struct {
		Name string `json:"filename"`
		Type string `json:"content_type"`
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largestPreamble))
	if err == nil && len(strings.TrimSpace(string(text))) > 0 {
		err = json.Unmarshal(text, &said)
	}
	if err != nil {
		return complain(http.StatusBadRequest, `The body is empty, or {"filename": "…", "content_type": "…"}`)
	}
	id, address, until, err := store.Ticket(r.Context(), files.Upload{Name: said.Name, Type: said.Type})
	if err != nil {
		return err
	}
	answer(w, http.StatusCreated, struct {
		ID      string    `json:"file_id"`
		URL     string    `json:"upload_url"`
		Expires time.Time `json:"expires"`
	}{id, address, until.UTC()})
	return nil
}

// file reads or removes one file.
func (e *endpoints) file(w http.ResponseWriter, r *http.Request, store *runtime.Files, signed bool) error {
	allowed := []string{http.MethodGet, http.MethodHead, http.MethodDelete}
	if signed {
		allowed = allowed[:2]
	}
	if err := method(w, r, allowed...); err != nil {
		return err
	}
	var query url.Values
	if signed {
		query = r.URL.Query()
	}
	file, err := store.Find(r.Context(), strings.TrimPrefix(r.URL.Path, "/files/"), query)
	if err != nil {
		return err
	}
	if r.Method == http.MethodDelete {
		removed, err := store.Remove(r.Context(), file)
		if err == nil && !removed {
			err = files.ErrUnknown
		}
		if err == nil {
			w.WriteHeader(http.StatusNoContent)
		}
		return err
	}
	if r.Method == http.MethodHead {
		described(w, file)
		return nil
	}
	begun := false
	err = store.Send(r.Context(), file, func() io.Writer {
		begun = true
		described(w, file)
		return w
	})
	if err == nil || !begun {
		return err
	}
	if r.Context().Err() == nil {
		e.reloader.log.LogAttrs(r.Context(), slog.LevelWarn, "a file was not sent to its end", slog.String("file", file.ID), slog.String("error", err.Error()))
	}
	panic(http.ErrAbortHandler) // what was promised has not come
}

// described says of a file what there is to know before its bytes.
func described(w http.ResponseWriter, file *files.File) {
	h := w.Header()
	h.Set("Content-Type", file.Type)
	h.Set("Content-Length", strconv.FormatInt(file.Size, 10))
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": file.Name}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Referrer-Policy", "no-referrer")
}

// unfiled answers a request that is not done.
func (e *endpoints) unfiled(w http.ResponseWriter, r *http.Request, err error) {
	var refused *runtime.ForbiddenError
	var said *complaint
	var large *files.TooLargeError
	var kind *files.TypeError
	switch {
	case errors.As(err, &refused):
		e.refuse(w, r, &auth.Refusal{Status: http.StatusForbidden, Why: refused.Why})
		return
	case errors.Is(err, files.ErrSignature):
		e.refuse(w, r, &auth.Refusal{Status: http.StatusForbidden, Why: "The address is not signed, or has expired"})
		return
	case errors.As(err, &said):
	case errors.As(err, &large):
		said = &complaint{status: http.StatusRequestEntityTooLarge, Text: sentenceOf(large.Error())}
	case errors.As(err, &kind):
		said = &complaint{status: http.StatusUnsupportedMediaType, Text: sentenceOf(kind.Error())}
	case errors.Is(err, runtime.ErrNoFiles):
		said = &complaint{status: http.StatusNotFound, Text: "There is nothing here: no tool of this server takes files"}
	case errors.Is(err, files.ErrUnknown):
		said = &complaint{status: http.StatusNotFound, Text: "There is no such file of yours, or it has expired"}
	case errors.Is(err, files.ErrCrowded):
		said = &complaint{status: http.StatusInsufficientStorage, Text: "You have too many files, or too large ones. Remove some, or wait until they expire"}
	case errors.Is(err, state.ErrFull):
		said = &complaint{status: http.StatusInsufficientStorage, Text: "The server has no room for it. Try again later"}
	case errors.Is(err, files.ErrAtOnce):
		w.Header().Set("Retry-After", "1")
		said = &complaint{status: http.StatusTooManyRequests, Text: "You have too many uploads under way at once. Wait until some have ended"}
	case errors.Is(err, files.ErrCut), r.Context().Err() != nil:
		said = &complaint{status: http.StatusBadRequest, Text: "The upload has ended before all of it had come. Nothing was kept"}
	case errors.As(err, new(*runtime.UnrecordedFileError)):
		said = &complaint{status: http.StatusServiceUnavailable, Text: err.Error()}
	case errors.Is(err, state.ErrAway):
		w.Header().Set("Retry-After", "1")
		said = &complaint{status: http.StatusServiceUnavailable, Text: "The server does not get at what it remembers. Try again in a moment"}
	default:
		said = e.failed(r, err)
	}
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(unread))
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
	e.host.RecordRefusal(r.Context(), runtime.Refusal{Status: said.status, Reason: said.Text, Path: r.URL.Path, Caller: callerOf(r)})
	answer(w, said.status, said)
}
