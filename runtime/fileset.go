package runtime

import (
	"context"
	"errors"
	"io"
	"strconv"

	"hatchel/adapters"
	"hatchel/hcl/value"
	"hatchel/runtime/files"
)

// fileSet are the files of one call: of the caller's own call, for the tools that its steps call, too.
type fileSet struct {
	ctx    context.Context // of the call
	shelf  *files.Shelf
	rules  files.Rules
	owner  string
	copies *files.Copies
	dryRun bool // nothing is sent, so nothing is copied or signed
}

// attachedFile is a file as a call reads it.
type attachedFile struct {
	of    *fileSet
	file  *files.File
	facts value.FileFacts
}

// Facts implements value.File.
func (a *attachedFile) Facts() value.FileFacts { return a.facts }

// AppendJSON implements value.Deferred.
func (a *attachedFile) AppendJSON(dst []byte) []byte {
	dst, _ = value.AppendJSON(dst, a.facts.Object()) // texts and numbers
	return dst
}

// Value implements value.Deferred.
func (a *attachedFile) Value() (any, error) { return a.facts.Object(), nil }

// Member implements value.File.
func (a *attachedFile) Member(name string) (any, error) {
	switch {
	case name != "path" && name != "url":
		return a.facts.Object()[name], nil
	case a.of.dryRun:
		return "(" + name + " of " + a.facts.Name + ")", nil
	case name == "path":
		path, err := a.of.copies.Path(a.of.ctx, a.file)
		return path, a.of.readError(a.facts.Name, err)
	}
	link, err := a.of.shelf.Link(a.of.ctx, a.of.rules.BaseURL, a.file)
	return link, a.of.readError(a.facts.Name, err)
}

// Open implements value.File.
func (a *attachedFile) Open() (io.ReadCloser, error) {
	return &fileReader{a.of.shelf.Open(a.of.ctx, a.file), a}, nil
}

// fileReader reads a file; what goes wrong is a sentence for the model, and its cause goes to the log.
type fileReader struct {
	io.ReadCloser
	of *attachedFile
}

func (r *fileReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = r.of.of.readError(r.of.facts.Name, err)
	}
	return n, err
}

func (fs *fileSet) readError(name string, err error) error {
	switch {
	case err == nil, fs.ctx.Err() != nil:
		return err
	case errors.Is(err, files.ErrUnknown):
		return &adapters.Fault{Message: "the file " + strconv.Quote(name) + " is not there any more: it has expired, or was removed. Upload it again", Cause: err}
	}
	return &adapters.Fault{Message: "the file " + strconv.Quote(name) + " cannot be read now; try again", Cause: err}
}

// fileSet are the files of the call, made with the first.
func (c *call) fileSet() *fileSet {
	if c.files == nil {
		g := c.operation.generation
		shelf := g.build.State.files
		c.files = &fileSet{ctx: c.frame.Context, shelf: shelf, rules: uploadRules(&g.Config.Files), owner: c.action.Owner, copies: shelf.NewCopies(), dryRun: c.dryRun}
		c.ownsFiles = true
		c.frame.StagedDir = c.files.copies.Folder
	}
	return c.files
}

// shareFiles makes the files of another call those of this one, which it has called.
func (c *call) shareFiles(fs *fileSet) {
	if c.files == nil {
		c.files, c.frame.StagedDir = fs, fs.copies.Folder
	}
}

// removeCopies removes the copies of the call's files.
func (c *call) removeCopies() {
	if c.ownsFiles {
		c.files.copies.Close() // what cannot be removed now is removed at the next start
	}
}
