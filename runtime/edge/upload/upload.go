// Package upload has the uploaded files of a caller, under the rules of the configuration that is served, and records
// what is done with them.
package upload

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/url"
	"time"

	"hatchel/hcl/value"
	"hatchel/runtime/durable/audit"
	"hatchel/runtime/edge/mcp"
	"hatchel/runtime/edge/served"
	"hatchel/runtime/stage/files"
)

// Files are the uploaded files of one caller, under the rules of one configuration. It belongs to
// one goroutine, which must close it.
type Files struct {
	g       *served.Served
	release func()
	caller  *mcp.Caller
	signed  bool // the caller is not authenticated, and may do what a signed URL allows
	store   *files.Store
	rules   files.Rules
}

// ErrNoFiles is why there are no files: the configuration has no use for any.
var ErrNoFiles = errors.New("no tool of this server accepts files")

// New returns the files of a caller. Signed says that the request has a signed URL in place of
// credentials. Close calls release.
func New(g *served.Served, release func(), c *mcp.Caller, signed bool) (*Files, error) {
	switch {
	case !signed && !g.IsAuthenticated(c):
		return nil, mcp.Unauthorized()
	case g.Env.Uploads == nil:
		return nil, ErrNoFiles
	}
	return &Files{g, release, c, signed, g.Env.Files, *g.Env.Uploads}, nil
}

// Close releases the configuration.
func (f *Files) Close() { f.release() }

const unrecordedFile = "Nothing was done. This server does nothing with files that it cannot write to its audit log, " +
	"and the audit log is unavailable at the moment. The server's log has the reason"

// Upload stores a file of the caller.
func (f *Files) Upload(ctx context.Context, u files.Upload, in io.Reader) (*files.File, error) {
	u.Owner, u.Rules = f.caller.Owner(), f.rules
	return f.take(ctx, u, in)
}

// take stores a file, and removes it when that cannot be recorded.
func (f *Files) take(ctx context.Context, u files.Upload, in io.Reader) (*files.File, error) {
	file, err := f.store.Upload(ctx, u, in)
	if err != nil {
		return nil, err
	}
	if err := f.record(ctx, "upload", file, u.By); err != nil {
		_, undone := f.store.Remove(context.WithoutCancel(ctx), file)
		return nil, errors.Join(err, undone)
	}
	return file, nil
}

// Redeem stores a file at a signed URL, once.
func (f *Files) Redeem(
	ctx context.Context, id string, query url.Values, u files.Upload, in io.Reader,
) (*files.File, error) {
	t, err := f.store.ConsumeTicket(ctx, id, query)
	if err != nil {
		return nil, err
	}
	t.Length, t.Rules = u.Length, f.rules
	t.Name, t.Type = cmp.Or(t.Name, u.Name), cmp.Or(t.Type, u.Type)
	return f.take(ctx, t, in)
}

// Ticket returns a signed URL for one upload of the caller.
func (f *Files) Ticket(ctx context.Context, u files.Upload) (id, address string, until time.Time, err error) {
	u.Owner, u.Rules, u.By = f.caller.Owner(), f.rules, f.caller.Subject
	if id, address, until, err = f.store.Ticket(ctx, u); err != nil {
		return "", "", time.Time{}, err
	}
	of := &files.File{FileInfo: value.FileInfo{ID: id}}
	if u.Name != "" {
		of.Name = files.CleanName(u.Name)
	}
	if err := f.record(ctx, "ticket", of, ""); err != nil { // a URL that nobody gets is useless
		return "", "", time.Time{}, err
	}
	return id, address, until, nil
}

// Find returns a file of the caller, or that of a signed URL.
func (f *Files) Find(ctx context.Context, id string, query url.Values) (*files.File, error) {
	if f.signed {
		return f.store.FindSigned(ctx, id, query)
	}
	return f.store.FindOwned(ctx, f.caller.Owner(), id)
}

// Send writes a file to what begin returns, which is called after the download was recorded. A
// download that ends early is recorded again.
func (f *Files) Send(ctx context.Context, file *files.File, begin func() io.Writer) error {
	r := f.recordOf("download", file, "")
	if err := f.append(ctx, r, false); err != nil {
		return err
	}
	stored := f.store.Open(ctx, file)
	defer stored.Close()
	in := &readFailure{Reader: stored}
	sent, err := io.Copy(begin(), in)
	if err == nil {
		return nil
	}
	if r == nil {
		return err
	}
	r.Bytes, r.Outcome, r.Message = int(sent), audit.Cancelled, "The caller has not received all of it."
	if in.err != nil && ctx.Err() == nil {
		r.Outcome, r.Message = audit.Failed, "It could not be read to its end."
	}
	return errors.Join(err, f.append(ctx, r, false))
}

// readFailure keeps the error of a reader.
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

// Link returns a signed URL of a file.
func (f *Files) Link(ctx context.Context, file *files.File) (string, error) {
	return f.store.SignedURL(ctx, f.rules.BaseURL, file)
}

// Remove removes a file of the caller, and reports whether it existed.
func (f *Files) Remove(ctx context.Context, file *files.File) (bool, error) {
	if err := f.record(ctx, "removal", file, f.caller.Subject); err != nil {
		return false, err
	}
	return f.store.Remove(ctx, file)
}

// record records, durably, what happens to a file.
func (f *Files) record(ctx context.Context, what string, file *files.File, by string) error {
	return f.append(ctx, f.recordOf(what, file, by), true)
}

// bySignature is recorded as the key of a caller with a signed URL.
const bySignature = "signed address"

// recordOf returns the record about a file; nil where requests are not recorded. By is who has
// asked for a signed URL.
func (f *Files) recordOf(what string, file *files.File, by string) *audit.Record {
	if f.g.Audit == nil {
		return nil
	}
	r := f.g.Env.AuditRecord(audit.EventFile, f.caller, nil)
	if f.signed {
		r.Caller.Subject, r.Caller.Key = by, bySignature
	}
	r.ID, r.Kind, r.Outcome = rand.Text(), what, audit.OK
	r.Name, r.URI, r.Bytes, r.SHA256 = f.g.Env.Scrubber.Text(file.Name), "/files/"+file.ID, int(file.Size), file.SHA256
	return r
}

func (f *Files) append(ctx context.Context, r *audit.Record, durable bool) error {
	if r == nil {
		return nil
	}
	r.Time = time.Now()
	if err := f.g.Audit.Append(r, durable); err != nil {
		f.g.Env.LogAuditFailure(ctx, err)
		return &served.UnrecordedError{Message: unrecordedFile, Cause: err}
	}
	return nil
}
