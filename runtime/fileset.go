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
	shown  bool // nothing is sent, so nothing is copied or signed
}

// attached is a file as a call reads it.
type attached struct {
	of    *fileSet
	file  *files.File
	facts value.FileFacts
}

// Facts implements value.File.
func (a *attached) Facts() value.FileFacts { return a.facts }

// AppendJSON implements value.Deferred.
func (a *attached) AppendJSON(dst []byte) []byte {
	dst, _ = value.AppendJSON(dst, a.facts.Object()) // texts and numbers
	return dst
}

// Value implements value.Deferred.
func (a *attached) Value() (any, error) { return a.facts.Object(), nil }

// Member implements value.File.
func (a *attached) Member(name string) (any, error) {
	switch {
	case name != "path" && name != "url":
		return a.facts.Object()[name], nil
	case a.of.shown:
		return "(" + name + " of " + a.facts.Name + ")", nil
	case name == "path":
		path, err := a.of.copies.Path(a.of.ctx, a.file)
		return path, a.of.unreadable(a.facts.Name, err)
	}
	link, err := a.of.shelf.Link(a.of.ctx, a.of.rules.BaseURL, a.file)
	return link, a.of.unreadable(a.facts.Name, err)
}

// Open implements value.File.
func (a *attached) Open() (io.ReadCloser, error) {
	return &attachedReader{a.of.shelf.Open(a.of.ctx, a.file), a}, nil
}

// attachedReader reads a file; what goes wrong is a sentence for the model, and its cause goes to the log.
type attachedReader struct {
	io.ReadCloser
	of *attached
}

func (r *attachedReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = r.of.of.unreadable(r.of.facts.Name, err)
	}
	return n, err
}

func (fs *fileSet) unreadable(name string, err error) error {
	switch {
	case err == nil, fs.ctx.Err() != nil:
		return err
	case errors.Is(err, files.ErrUnknown):
		return &adapters.Fault{Message: "the file " + strconv.Quote(name) + " is not there any more: it has expired, or was removed. Upload it again", Cause: err}
	}
	return &adapters.Fault{Message: "the file " + strconv.Quote(name) + " cannot be read now; try again", Cause: err}
}

// attachments are the files of the call, made with the first.
func (c *call) attachments() *fileSet {
	if c.files == nil {
		g := c.routine.generation
		shelf := g.build.State.files
		c.files = &fileSet{ctx: c.frame.Context, shelf: shelf, rules: rulesOf(&g.Config.Files), owner: c.action.Owner, copies: shelf.NewCopies(), shown: c.shown}
		c.ownFiles = true
		c.frame.Copies = c.files.copies.Folder
	}
	return c.files
}

// join makes the files of another call those of this one, which it has called.
func (c *call) join(fs *fileSet) {
	if c.files == nil {
		c.files, c.frame.Copies = fs, fs.copies.Folder
	}
}

// detach removes the copies of the call's files.
func (c *call) detach() {
	if c.ownFiles {
		c.files.copies.Close() // what cannot be removed now is removed at the next start
	}
}
