package runtime

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/url"
	"time"

	"hatchel/hcl/value"
	"hatchel/runtime/audit"
	"hatchel/runtime/files"
	"hatchel/runtime/mcp"
)

// Files are what one caller has uploaded, as one configuration lets them. It belongs to one goroutine; who has it closes it.
type Files struct {
	g      *Generation
	caller *mcp.Caller
	signed bool // nobody is known to ask: only what a signature allows is done
	shelf  *files.Shelf
	rules  files.Rules
}

// ErrNoFiles is why there are no files: no tool takes any, and nothing is said of them.
var ErrNoFiles = errors.New("no tool of this server takes files")

// Files are the files of a caller. With signed, the caller is who holds a signed address and is not known otherwise.
func (h *Host) Files(ctx context.Context, c *mcp.Caller, signed bool) (*Files, error) {
	g := h.pin()
	switch {
	case g == nil:
		return nil, errClosed
	case !signed && !g.isAuthenticated(c):
		g.leave()
		return nil, mcp.Unauthorized()
	case !g.uploads:
		g.leave()
		return nil, ErrNoFiles
	}
	return &Files{g, c, signed, g.build.State.files, uploadRules(&g.Config.Files)}, nil
}

// Close lets the configuration go.
func (f *Files) Close() { f.g.leave() }

// UnrecordedFileError is why a file was not taken, sent or removed, or an address not given: it cannot be written down.
type UnrecordedFileError struct{ Cause error }

func (u *UnrecordedFileError) Error() string {
	return "Nothing was done. The server writes down what becomes of files, and cannot do that at the moment. The server's log has the reason"
}

func (u *UnrecordedFileError) Unwrap() error { return u.Cause }

// Upload takes a file of the caller, as files.Shelf.Upload does.
func (f *Files) Upload(ctx context.Context, u files.Upload, in io.Reader) (*files.File, error) {
	u.Owner, u.Rules = f.caller.Owner(), f.rules
	return f.take(ctx, u, in)
}

// take takes a file, which is not there unless that is written down.
func (f *Files) take(ctx context.Context, u files.Upload, in io.Reader) (*files.File, error) {
	file, err := f.shelf.Upload(ctx, u, in)
	if err != nil {
		return nil, err
	}
	if err := f.record(ctx, "upload", file, u.By); err != nil {
		_, undone := f.shelf.Remove(context.WithoutCancel(ctx), file)
		return nil, errors.Join(err, undone)
	}
	return file, nil
}

// Redeem takes a file at a signed address, once.
func (f *Files) Redeem(ctx context.Context, id string, query url.Values, u files.Upload, in io.Reader) (*files.File, error) {
	t, err := f.shelf.Redeem(ctx, id, query)
	if err != nil {
		return nil, err
	}
	t.Length, t.Rules = u.Length, f.rules
	if t.Name == "" {
		t.Name = u.Name
	}
	if t.Type == "" {
		t.Type = u.Type
	}
	return f.take(ctx, t, in)
}

// Ticket is a signed address for one upload of the caller.
func (f *Files) Ticket(ctx context.Context, u files.Upload) (id, address string, until time.Time, err error) {
	u.Owner, u.Rules, u.By = f.caller.Owner(), f.rules, f.caller.Subject
	if id, address, until, err = f.shelf.Ticket(ctx, u); err != nil {
		return "", "", time.Time{}, err
	}
	of := &files.File{FileFacts: value.FileFacts{ID: id}}
	if u.Name != "" {
		of.Name = files.CleanName(u.Name)
	}
	if err := f.record(ctx, "ticket", of, ""); err != nil { // an address that nobody is given is good for nothing
		return "", "", time.Time{}, err
	}
	return id, address, until, nil
}

// Find is a file of the caller, or that of a signed address.
func (f *Files) Find(ctx context.Context, id string, query url.Values) (*files.File, error) {
	if f.signed {
		return f.shelf.FindSigned(ctx, id, query)
	}
	return f.shelf.FindOf(ctx, f.caller.Owner(), id)
}

// Send writes the bytes of a file to what begin returns, which is called when that is written down. What was not sent to its end is written down once more.
func (f *Files) Send(ctx context.Context, file *files.File, begin func() io.Writer) error {
	r := f.recordOf("download", file, "")
	if err := f.append(ctx, r, false); err != nil {
		return err
	}
	stored := f.shelf.Open(ctx, file)
	defer stored.Close()
	in := &readFailure{Reader: stored}
	sent, err := io.Copy(begin(), in)
	if err == nil {
		return nil
	}
	if r == nil {
		return err
	}
	r.Bytes, r.Outcome, r.Message = int(sent), audit.Cancelled, "The caller has not taken all of it."
	if in.err != nil && ctx.Err() == nil {
		r.Outcome, r.Message = audit.Failed, "It could not be read to its end."
	}
	return errors.Join(err, f.append(ctx, r, false))
}

// readFailure remembers why a reader failed.
type readFailure struct {
	io.Reader
	err error
}

func (r *readFailure) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != io.EOF {
		r.err = err
	}
	return n, err
}

// Link is a signed address of a file.
func (f *Files) Link(ctx context.Context, file *files.File) (string, error) {
	return f.shelf.Link(ctx, f.rules.BaseURL, file)
}

// Remove forgets a file of the caller, and reports whether it was there.
func (f *Files) Remove(ctx context.Context, file *files.File) (bool, error) {
	if err := f.record(ctx, "removal", file, f.caller.Subject); err != nil {
		return false, err
	}
	return f.shelf.Remove(ctx, file)
}

// record writes down what happens to a file, on the disk.
func (f *Files) record(ctx context.Context, what string, file *files.File, by string) error {
	return f.append(ctx, f.recordOf(what, file, by), true)
}

// bySignature is what vouches for who is not known otherwise.
const bySignature = "signed address"

// recordOf is what is written down of a file; nil where nothing is. By names who has asked for a signed address.
func (f *Files) recordOf(what string, file *files.File, by string) *audit.Record {
	if f.g.audit == nil {
		return nil
	}
	r := f.g.auditRecord(f.caller, nil)
	if f.signed {
		r.Caller.Subject, r.Caller.Key = by, bySignature
	}
	r.ID, r.Event, r.Kind, r.Outcome = rand.Text(), audit.EventFile, what, audit.OK
	r.Name, r.URI, r.Bytes, r.SHA256 = f.g.scrubber.Text(file.Name), "/files/"+file.ID, int(file.Size), file.SHA256
	return &r
}

func (f *Files) append(ctx context.Context, r *audit.Record, durable bool) error {
	if r == nil {
		return nil
	}
	r.Time = time.Now()
	if err := f.g.audit.Append(r, durable); err != nil {
		f.g.logAuditFailure(ctx, err)
		return &UnrecordedFileError{err}
	}
	return nil
}

// UploadLocal takes a file for a call of this generation that has no caller but the program itself.
func (g *Generation) UploadLocal(ctx context.Context, u files.Upload, in io.Reader) (*files.File, error) {
	u.Rules = uploadRules(&g.Config.Files)
	return g.build.State.files.Upload(ctx, u, in)
}
