package files

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"hatchel/hcl/value"
	"hatchel/runtime/durable/state"
)

// Kinds of records. Changes of them are not announced to other processes.
const (
	kindFile   = "file"
	kindChunk  = "chunk"
	kindTicket = "upload"
)

// File is the metadata of a complete file.
type File struct {
	value.FileInfo
	Expires time.Time

	owner string // its group
}

// metadata is the body of the record of a file.
type metadata struct {
	Name     string `json:"name,omitempty"`
	Type     string `json:"type,omitempty"`
	Sniffed  string `json:"sniffed,omitempty"`
	Size     int64  `json:"size"` // of an upload in progress, the size that is reserved for it
	SHA256   string `json:"sha256,omitempty"`
	Complete bool   `json:"complete,omitempty"`
}

var errMalformed = errors.New("the record of an uploaded file is malformed")

func decodeMetadata(r *state.Record) (metadata, error) {
	var m metadata
	if err := json.Unmarshal(r.Body, &m); err != nil || m.Size < 0 {
		return metadata{}, errMalformed
	}
	return m, nil
}

func (m *metadata) encode() []byte {
	body, err := json.Marshal(m)
	if err != nil {
		panic("files: " + err.Error()) // strings and numbers always can be encoded
	}
	return body
}

// decodeFile returns the file of a record, or [ErrNotFound] when its upload is not complete.
func decodeFile(r *state.Record) (*File, error) {
	m, err := decodeMetadata(r)
	if err != nil {
		return nil, err
	}
	if !m.Complete || !time.Now().Before(r.Expires) {
		return nil, ErrNotFound
	}
	info := value.FileInfo{ID: r.Name, Name: m.Name, Type: m.Type, Sniffed: m.Sniffed, Size: m.Size, SHA256: m.SHA256}
	return &File{FileInfo: info, Expires: r.Expires, owner: r.Group}, nil
}

// OwnedBy reports whether this owner has uploaded the file.
func (f *File) OwnedBy(owner string) bool { return f.owner == ownerGroup(owner) }

// ownerGroup returns the record group of an owner's files. It is a digest, so that the store holds
// no names of callers.
func ownerGroup(owner string) string {
	sum := sha256.Sum256([]byte("files of " + owner))
	return hex.EncodeToString(sum[:16])
}

const (
	idPrefix = "file_"
	idDigits = "abcdefghijklmnopqrstuvwxyz234567"
	idLength = 26 // without the prefix: 130 bits
)

// newID returns an unguessable ID.
func newID() string { return idPrefix + strings.ToLower(rand.Text()[:idLength]) }

// isID reports whether s has the form of a file ID.
func isID(s string) bool {
	rest, ok := strings.CutPrefix(s, idPrefix)
	return ok && len(rest) == idLength && strings.Trim(rest, idDigits) == ""
}

func chunkName(id string, n int) string { return fmt.Sprintf("%s.%06d", id, n) }
