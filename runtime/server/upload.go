package server

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"hatchel/runtime"
	"hatchel/runtime/files"
)

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
func uploadFile(w http.ResponseWriter, r *http.Request, store *runtime.Files) error {
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

func uploadForm(w http.ResponseWriter, r *http.Request, store *runtime.Files) error {
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
func uploadWithTicket(w http.ResponseWriter, r *http.Request, store *runtime.Files, id string) error {
	if err := checkMethod(w, r, http.MethodPut); err != nil {
		return err
	}
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(uploadTimeout))
	file, err := store.Redeem(r.Context(), id, r.URL.Query(), bodyUpload(r), r.Body)
	return writeUploaded(w, r, store, file, err)
}

func writeUploaded(w http.ResponseWriter, r *http.Request, store *runtime.Files, f *files.File, err error) error {
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
func createTicket(w http.ResponseWriter, r *http.Request, store *runtime.Files) error {
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
