package console

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"time"

	"hatchel/runtime/edge/upload"
	"hatchel/runtime/stage/files"
)

const (
	maxForm       = 1 << 20 // bytes of a form without its files
	maxFormParts  = 10_000
	formTimeout   = 30 * time.Second
	uploadTimeout = 15 * time.Minute
)

var (
	errForm  = &Error{http.StatusBadRequest, "The form cannot be read. It may have at most 1 MiB besides its files"}
	errToken = &Error{http.StatusForbidden, "The form is not one of this session. Load the page again"}
)

// readFields reads a form without files.
func (q *request) readFields() error {
	http.NewResponseController(q.writer).SetReadDeadline(time.Now().Add(formTimeout))
	q.Body = http.MaxBytesReader(q.writer, q.Body, maxForm)
	if q.ParseForm() != nil {
		return errForm
	}
	return nil
}

// readForm reads a form of this session. Its files are uploaded as those of the person who is signed in.
func (c *Console) readForm(q *request) error {
	if media, _, _ := mime.ParseMediaType(q.Header.Get("Content-Type")); media == "multipart/form-data" {
		return c.readParts(q)
	}
	if err := q.readFields(); err != nil {
		return err
	}
	if !c.checkToken(q.session, q.URL.Path, q.PostForm[tokenField]) {
		return errToken
	}
	return nil
}

// readParts reads a form with files. The tokens are its first fields, so nothing of another form is kept.
func (c *Console) readParts(q *request) error {
	http.NewResponseController(q.writer).SetReadDeadline(time.Now().Add(uploadTimeout))
	form, err := q.MultipartReader()
	if err != nil {
		return errForm
	}
	q.PostForm = url.Values{}
	left, trusted := int64(maxForm), false // the names of controls count, too
	for range maxFormParts {
		part, err := form.NextPart()
		switch {
		case errors.Is(err, io.EOF) && !trusted:
			return errToken
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return errForm
		case !trusted && (part.FormName() != tokenField || part.FileName() != ""):
			if trusted = c.checkToken(q.session, q.URL.Path, q.PostForm[tokenField]); !trusted {
				return errToken
			}
		}
		if left -= int64(len(part.FormName())); left < 0 {
			return errForm
		}
		if part.FileName() != "" {
			if err := c.upload(q, part); err != nil {
				return err
			}
			continue
		}
		text, err := io.ReadAll(io.LimitReader(part, left+1))
		if left -= int64(len(text)); err != nil || left < 0 {
			return errForm
		}
		q.PostForm.Add(part.FormName(), string(text))
	}
	return errForm
}

// upload keeps a file of a form, in place of one that was chosen before.
func (c *Console) upload(q *request, part *multipart.Part) error {
	store, err := c.Host.Files(q.caller, false)
	if err != nil {
		return err
	}
	defer store.Close()
	file, err := store.Upload(q.Context(), files.Upload{
		Name: part.FileName(), Type: part.Header.Get("Content-Type"), Length: -1,
	}, part)
	var tooLarge *files.TooLargeError
	var badType *files.TypeError
	switch {
	case errors.As(err, &tooLarge), errors.As(err, &badType), errors.Is(err, files.ErrQuotaExceeded),
		errors.Is(err, upload.ErrNoFiles):
		return &Error{http.StatusUnprocessableEntity, "The file " + part.FileName() + " was not taken: " + err.Error()}
	case err != nil:
		return err
	}
	value, err := json.Marshal(map[string]string{"file_id": file.ID, "filename": file.Name})
	q.PostForm.Set(part.FormName(), string(value))
	return err
}
