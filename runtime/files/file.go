package files

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hatchel/hcl/value"
	"hatchel/runtime/state"
)

// Kinds of records. Nobody watches them.
const (
	kindFile  = "file"
	kindChunk = "chunk"

	kindTicket = "upload" // of one that is to come
)

// File is a file that was uploaded.
type File struct {
	value.FileFacts
	Expires time.Time

	owner  string // the group of who has uploaded it
	chunks int
}

// content is what the record of a file holds.
type content struct {
	Name     string `json:"name,omitempty"`
	Type     string `json:"type,omitempty"`
	Sniffed  string `json:"sniffed,omitempty"`
	Size     int64  `json:"size"` // of one that is not complete, how much room it has been given
	SHA256   string `json:"sha256,omitempty"`
	Chunks   int    `json:"chunks,omitempty"`
	Complete bool   `json:"complete,omitempty"`
}

var errRecord = errors.New("the record of an uploaded file does not read as one")

func read(r *state.Record) (content, error) {
	var c content
	if err := json.Unmarshal(r.Body, &c); err != nil || c.Size < 0 || c.Chunks < 0 {
		return content{}, errRecord
	}
	return c, nil
}

func (c *content) encode() []byte {
	body, err := json.Marshal(c)
	if err != nil {
		panic("attachment: " + err.Error()) // texts and numbers
	}
	return body
}

// fileOf is the file of a record, or nil when it is not complete.
func fileOf(r *state.Record) (*File, error) {
	c, err := read(r)
	if err != nil || !c.Complete || !time.Now().Before(r.Expires) {
		return nil, err
	}
	facts := value.FileFacts{ID: r.Name, Name: c.Name, Type: c.Type, Sniffed: c.Sniffed, Size: c.Size, SHA256: c.SHA256}
	return &File{FileFacts: facts, Expires: r.Expires, owner: r.Group, chunks: c.Chunks}, nil
}

// Of reports whether the file is this owner's.
func (f *File) Of(owner string) bool { return f.owner == groupOf(owner) }

// groupOf is the group of an owner's files: the store learns no names.
func groupOf(owner string) string {
	sum := sha256.Sum256([]byte("files of " + owner))
	return hex.EncodeToString(sum[:16])
}

var letters = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

const idPrefix = "file_"

// newID is an id that nobody can guess.
func newID() string {
	var b [16]byte
	rand.Read(b[:])
	return idPrefix + letters.EncodeToString(b[:])
}

// isID reports whether a text can be the id of a file.
func isID(s string) bool {
	rest, ok := strings.CutPrefix(s, idPrefix)
	return ok && len(rest) == 26 && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

func chunkName(id string, n int) string { return fmt.Sprintf("%s.%06d", id, n) }
