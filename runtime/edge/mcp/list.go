package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"hatchel/hcl/jsonscan"
)

// Entry is one entry of a list, encoded once for each era, because they differ in what an
// outputSchema may be.
type Entry struct {
	Name           string
	Legacy, Modern []byte
}

// ListOptions configures a list.
type ListOptions struct {
	PageSize int           // entries of a page; 0 means 1000
	TTL      time.Duration // how long a modern client may cache the list
	Private  bool          // the list depends on the caller
}

// List is an immutable, encoded list. The entries of each era are joined by commas in one slice, so
// that a page is a part of it.
type List struct {
	of             Listing
	names          []string
	legacy, modern joinedEntries
	pageSize       int
	picked         []int  // the entries of a part of another list, in order; nil for all
	cacheHints     []byte // the members ttlMs and cacheScope of a modern result
	revision       string
}

// joinedEntries are encoded entries joined by commas. Entry n begins at offsets[n]; the last offset
// is past the end.
type joinedEntries struct {
	bytes   []byte
	offsets []int
}

// NewList returns a list of the entries, sorted by name. The names must be unique.
func NewList(of Listing, entries []Entry, o ListOptions) *List {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	l := &List{of: of, pageSize: cmp.Or(o.PageSize, 1000), cacheHints: appendCacheHints(nil, o.TTL, o.Private)}
	l.names = make([]string, 0, len(entries))
	legacy, modern := 0, 0
	for _, e := range entries {
		legacy, modern = legacy+len(e.Legacy)+1, modern+len(e.Modern)+1
	}
	l.legacy.grow(len(entries), legacy)
	l.modern.grow(len(entries), modern)
	for _, e := range entries {
		l.names = append(l.names, e.Name)
		l.legacy.add(e.Legacy)
		l.modern.add(e.Modern)
	}
	l.legacy.close()
	l.modern.close()
	sum := sha256.New()
	sum.Write(l.legacy.bytes)
	sum.Write(l.modern.bytes)
	l.revision = hex.EncodeToString(sum.Sum(nil)[:16])
	return l
}

// grow makes room for a number of entries with these bytes and their commas.
func (j *joinedEntries) grow(n, bytes int) {
	j.bytes, j.offsets = make([]byte, 0, bytes), make([]int, 0, n+1)
}

func (j *joinedEntries) add(entry []byte) {
	if len(j.bytes) > 0 {
		j.bytes = append(j.bytes, ',')
	}
	start := len(j.bytes)
	j.offsets = append(j.offsets, start)
	j.bytes = append(j.bytes, bytes.TrimSpace(entry)...)
	removeLineBreaks(j.bytes[start:])
}

func (j *joinedEntries) close() { j.offsets = append(j.offsets, len(j.bytes)+1) }

// slice returns the entries from one index up to another.
func (j *joinedEntries) slice(from, to int) []byte {
	if from >= to {
		return nil
	}
	return j.bytes[j.offsets[from] : j.offsets[to]-1]
}

func (j *joinedEntries) appendPicked(dst []byte, picked []int) []byte {
	for i, n := range picked {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, j.slice(n, n+1)...)
	}
	return dst
}

// Only returns the list of the entries that keep accepts by their index. It shares the memory of l.
func (l *List) Only(keep func(i int) bool) *List {
	part := *l
	part.names, part.picked = nil, []int{}
	sum := sha256.New()
	sum.Write([]byte(l.revision))
	for i, name := range l.names {
		if keep(i) {
			part.names, part.picked = append(part.names, name), append(part.picked, l.entryIndex(i))
			sum.Write([]byte(name + "\n"))
		}
	}
	part.revision = hex.EncodeToString(sum.Sum(nil)[:16])
	return &part
}

// entryIndex returns the index of entry i among the joined entries.
func (l *List) entryIndex(i int) int {
	if l.picked == nil {
		return i
	}
	return l.picked[i]
}

// Names returns the names of the entries, sorted. The slice must not be changed.
func (l *List) Names() []string { return l.names }

// Revision identifies the bytes of the list: lists with the same revision are encoded the same.
func (l *List) Revision() string { return l.revision }

// Len returns the number of entries.
func (l *List) Len() int { return len(l.names) }

// AppendResult appends the result in revision r with all entries and without metadata.
func (l *List) AppendResult(dst []byte, r Revision) []byte { return (*Info)(nil).AppendList(dst, l, r) }

// AppendList appends the result in revision r with all entries, as a server with this Info returns
// it.
func (i *Info) AppendList(dst []byte, l *List, r Revision) []byte {
	return i.endResult(l.appendEntries(dst, 0, len(l.names), r), r)
}

// list appends a page of one of the lists.
func (s *Server) list(ctx context.Context, dst []byte, m *Message, rc RequestContext, of Listing) ([]byte, *Error) {
	after, ok := "", true
	if cursor := m.Param("cursor"); cursor != nil && string(cursor) != "null" {
		if after, ok = jsonscan.Text(cursor); ok {
			after, ok = parseCursor(after)
		}
	}
	if !ok {
		return dst, InvalidParams("cursor was not issued by this server")
	}
	l, r := s.handler.List(ctx, rc.Caller, of), rc.Caller.Revision
	return rc.Info.endResult(l.appendPage(dst, after, r), r), nil
}

var listMembers = [...]string{
	Tools: `"tools":[`, Prompts: `"prompts":[`, Resources: `"resources":[`, Templates: `"resourceTemplates":[`,
}

// appendPage appends a result up to its metadata, with the page after the entry named after.
func (l *List) appendPage(dst []byte, after string, r Revision) []byte {
	from := sort.Search(len(l.names), func(i int) bool { return l.names[i] > after })
	return l.appendEntries(dst, from, min(from+l.pageSize, len(l.names)), r)
}

// appendEntries appends a result up to its metadata: the member `"tools":[…]` (or another list) with
// the entries from one index up to another, and unless these are the last, the cursor of the next
// page.
func (l *List) appendEntries(dst []byte, from, to int, r Revision) []byte {
	entries := &l.legacy
	if r.Modern() {
		entries = &l.modern
	}
	dst = append(beginResult(dst, r), listMembers[l.of]...)
	if l.picked == nil {
		dst = append(dst, entries.slice(from, to)...)
	} else {
		dst = entries.appendPicked(dst, l.picked[from:to])
	}
	dst = append(dst, ']')
	if to < len(l.names) {
		dst = append(appendCursor(append(dst, `,"nextCursor":"`...), l.names[to-1]), '"')
	}
	if r.Modern() {
		dst = append(dst, l.cacheHints...)
	}
	return dst
}

// cursorPrefix begins a cursor. A cursor contains the name of the last entry of the previous page. It stays valid
// while the list changes, because the page begins at the next name, whether or not that entry still exists.
const cursorPrefix = "after:"

func appendCursor(dst []byte, name string) []byte {
	return base64.RawURLEncoding.AppendEncode(dst, []byte(cursorPrefix+name))
}

// parseCursor returns the name in a cursor. It reports false if appendCursor would not return the
// cursor.
func parseCursor(cursor string) (name string, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) <= len(cursorPrefix) || string(b[:len(cursorPrefix)]) != cursorPrefix || !utf8.Valid(b) {
		return "", false
	}
	name = string(b[len(cursorPrefix):])
	return name, string(appendCursor(nil, name)) == cursor // the decoder skips line breaks
}
