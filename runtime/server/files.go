package server

import (
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"hatchel/runtime"
	"hatchel/runtime/files"
	"hatchel/runtime/mcp"
	"hatchel/runtime/state"
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
		return &runtime.ForbiddenError{Why: reason}
	}
	caller := callerOf(r)
	if signed {
		caller = &mcp.Caller{Remote: r.RemoteAddr}
	}
	store, err := s.Host.Files(r.Context(), caller, signed)
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
func (s *Server) handleFile(w http.ResponseWriter, r *http.Request, store *runtime.Files, signed bool) error {
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

func removeFile(w http.ResponseWriter, r *http.Request, store *runtime.Files, file *files.File) error {
	removed, err := store.Remove(r.Context(), file)
	if err == nil && !removed {
		err = files.ErrNotFound
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

func (s *Server) sendFile(w http.ResponseWriter, r *http.Request, store *runtime.Files, file *files.File) error {
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
	case errors.Is(err, runtime.ErrNoFiles):
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
	case errors.As(err, new(*runtime.UnrecordedError)):
		return newError(http.StatusServiceUnavailable, err.Error())
	case errors.Is(err, state.ErrUnavailable):
		w.Header().Set("Retry-After", "1")
		return newError(http.StatusServiceUnavailable, "The state store is unavailable. Try again in a moment")
	}
	return nil
}
