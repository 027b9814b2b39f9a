package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
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
	Server   *Info         // that the results name; nil for none
}

// List is an immutable, encoded list. The replies with its pages are sent from the memory that it has of each era.
type List struct {
	of             Listing
	names          []string
	legacy, modern encodedPages
	pageSize       int
	picked         []int  // the entries of a part of another list, in order; nil for all
	cacheHints     []byte // the members ttlMs and cacheScope of a modern result
	revision       string
	server         *Info // that the encoded pages name
}

// encodedPages are the pages of a list, one after the other: the entries joined by commas, then the end of a reply
// with the page.
type encodedPages struct {
	bytes   []byte
	entries []span
	ends    []int // of the pages
}

// span is a part of bytes.
type span struct{ from, to int }

// NewList returns a list of the entries, sorted by name. The names must be unique.
func NewList(of Listing, entries []Entry, o ListOptions) *List {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	l := &List{of: of, pageSize: cmp.Or(o.PageSize, 1000), server: o.Server}
	l.cacheHints = appendCacheHints(nil, o.TTL, o.Private)
	l.names = make([]string, 0, len(entries))
	legacy, modern := make([][]byte, 0, len(entries)), make([][]byte, 0, len(entries))
	for _, e := range entries {
		l.names = append(l.names, e.Name)
		legacy, modern = append(legacy, e.Legacy), append(modern, e.Modern)
	}
	sum := sha256.New()
	l.legacy = l.encodePages(legacy, Revision20251125, sum)
	l.modern = l.encodePages(modern, Revision20260728, sum)
	l.revision = hex.EncodeToString(sum.Sum(nil)[:16])
	return l
}

// encodePages encodes the pages of the era of a revision, and adds the entries to a sum.
func (l *List) encodePages(entries [][]byte, r Revision, sum hash.Hash) (p encodedPages) {
	size, ends := 0, [][]byte(nil)
	for i, entry := range entries {
		size += len(entry) + len(",")
		if to := i + 1; to%l.pageSize == 0 || to == len(entries) {
			ends = append(ends, append(l.server.endResult(l.appendEnd(nil, to, r), r), '}'))
			size += len(ends[len(ends)-1])
		}
	}
	p.bytes, p.entries = make([]byte, 0, size), make([]span, 0, len(entries))
	for i, entry := range entries {
		if i > 0 {
			sum.Write([]byte{','})
		}
		if i%l.pageSize > 0 {
			p.bytes = append(p.bytes, ',')
		}
		start := len(p.bytes)
		p.bytes = append(p.bytes, bytes.TrimSpace(entry)...)
		removeLineBreaks(p.bytes[start:])
		sum.Write(p.bytes[start:])
		p.entries = append(p.entries, span{start, len(p.bytes)})
		if to := i + 1; to%l.pageSize == 0 || to == len(entries) {
			p.bytes = append(p.bytes, ends[len(p.ends)]...)
			p.ends = append(p.ends, len(p.bytes))
		}
	}
	return p
}

// entry returns an entry.
func (p *encodedPages) entry(i int) []byte { return p.bytes[p.entries[i].from:p.entries[i].to] }

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

// Has reports whether the list has an entry of that name.
func (l *List) Has(name string) bool {
	_, ok := slices.BinarySearch(l.names, name)
	return ok
}

// Revision identifies the bytes of the list: lists with the same revision are encoded the same.
func (l *List) Revision() string { return l.revision }

// Len returns the number of entries.
func (l *List) Len() int { return len(l.names) }

// AppendResult appends the result in revision r with all entries and without metadata.
func (l *List) AppendResult(dst []byte, r Revision) []byte { return (*Info)(nil).AppendList(dst, l, r) }

// AppendList appends the result in revision r with all entries, as a server with this Info returns
// it.
func (i *Info) AppendList(dst []byte, l *List, r Revision) []byte {
	return i.endResult(l.appendPage(dst, 0, len(l.names), r), r)
}

// list appends a page of one of the lists.
func (s *Server) list(ctx context.Context, dst []byte, m *Message, rc RequestContext, of Listing) ([]byte, *Error) {
	after, invalid := m.cursor()
	if invalid != nil {
		return dst, invalid
	}
	l, r := s.handler.List(ctx, rc.Caller, of), rc.Caller.Revision
	if rest := l.restOfReply(l.indexAfter(after), r, rc); rest != nil {
		*rc.Rest = rest
		return l.appendBegin(dst, r), nil
	}
	return rc.Info.endResult(l.appendPageAfter(dst, after, r), r), nil
}

// cursor returns the name after which the requested page begins; empty for the first page.
func (m *Message) cursor() (after string, _ *Error) {
	ok := true
	if cursor := m.Param("cursor"); cursor != nil && string(cursor) != "null" {
		if after, ok = jsonscan.Text(cursor); ok && after != "" { // clients send an empty one for the first page
			after, ok = parseCursor(after)
		}
	}
	if !ok {
		return "", InvalidParams("cursor was not issued by this server")
	}
	return after, nil
}

// indexAfter returns the index of the first entry after a name.
func (l *List) indexAfter(name string) int {
	return sort.Search(len(l.names), func(i int) bool { return l.names[i] > name })
}

// appendPageAfter appends a result up to its metadata, with the page after a name.
func (l *List) appendPageAfter(dst []byte, name string, r Revision) []byte {
	from := l.indexAfter(name)
	return l.appendPage(dst, from, min(from+l.pageSize, len(l.names)), r)
}

// restOfReply returns what follows appendBegin in a reply with the page that begins at an entry, if it is encoded and
// the request takes it.
func (l *List) restOfReply(from int, r Revision, rc RequestContext) []byte {
	if rc.Rest == nil || l.picked != nil || l.server != rc.Info || from%l.pageSize > 0 || from >= len(l.names) {
		return nil
	}
	pages := l.pagesOf(r)
	return pages.bytes[pages.entries[from].from:pages.ends[from/l.pageSize]]
}

func (l *List) pagesOf(r Revision) *encodedPages {
	if r.Modern() {
		return &l.modern
	}
	return &l.legacy
}

var listMembers = [...]string{
	Tools: `"tools":[`, Prompts: `"prompts":[`, Resources: `"resources":[`, Templates: `"resourceTemplates":[`,
	Skills: `"skills":[`,
}

// appendBegin appends a result up to its entries: the member `"tools":[`, or that of another list.
func (l *List) appendBegin(dst []byte, r Revision) []byte {
	return append(beginResult(dst, r), listMembers[l.of]...)
}

// appendPage appends a result up to its metadata, with the entries from one index up to another.
func (l *List) appendPage(dst []byte, from, to int, r Revision) []byte {
	pages, size := l.pagesOf(r), 0
	for i := from; i < to; i++ {
		size += len(pages.entry(l.entryIndex(i))) + len(",")
	}
	dst = slices.Grow(l.appendBegin(dst, r), size)
	for i := from; i < to; i++ {
		if i > from {
			dst = append(dst, ',')
		}
		dst = append(dst, pages.entry(l.entryIndex(i))...)
	}
	return l.appendEnd(dst, to, r)
}

// appendEnd appends the rest of a result from its last entry up to its metadata. If there are entries after it, which
// begin at index to, that is the cursor of the next page.
func (l *List) appendEnd(dst []byte, to int, r Revision) []byte {
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
