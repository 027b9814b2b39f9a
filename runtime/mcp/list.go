package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sort"
	"strings"
	"time"

	"hatchel/hcl/jsonscan"
)

// Entry is one entry of a list, encoded once for each era because what an outputSchema may be differs.
type Entry struct {
	Name           string
	Legacy, Modern []byte
}

// ListOptions are about a whole list.
type ListOptions struct {
	PageSize int           // entries a page; 0 means 1000
	TTL      time.Duration // how long a modern client may go without asking again
	Private  bool          // what is listed depends on who asks
}

// List is an immutable list, ready to be sent: the entries of each era stand joined by commas in one piece of memory, so that every
// page is a slice of it.
type List struct {
	of             Listing
	names          []string
	legacy, modern joined
	pageSize       int
	picked         []int  // of a part of another list: its entries, in order; nil when all are
	caching        []byte // the members ttlMs and cacheScope of a modern result
	revision       string
}

// joined are encoded entries with commas between them; entry n begins at at[n], and at[len] is past the end.
type joined struct {
	bytes []byte
	at    []int
}

// NewList makes a list of the entries, in the order of their names, which must be unique.
func NewList(of Listing, entries []Entry, o ListOptions) *List {
	entries = slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	l := &List{of: of, pageSize: o.PageSize}
	if l.pageSize <= 0 {
		l.pageSize = 1000
	}
	l.caching = appendCaching(nil, o.TTL, o.Private)
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

func (j *joined) add(entry []byte) {
	if len(j.bytes) > 0 {
		j.bytes = append(j.bytes, ',')
	}
	j.at = append(j.at, len(j.bytes))
	j.bytes = append(j.bytes, bytes.TrimSpace(entry)...)
	oneLine(j.bytes[j.at[len(j.at)-1]:])
}

// Only returns the list without the entries that keep refuses, each by its place in the order of names. It shares the memory of l.
func (l *List) Only(keep func(i int) bool) *List {
	part := *l
	part.names, part.picked = nil, []int{}
	sum := sha256.New()
	sum.Write([]byte(l.revision))
	for i, name := range l.names {
		if keep(i) {
			part.names, part.picked = append(part.names, name), append(part.picked, l.place(i))
			sum.Write([]byte(name + "\n"))
		}
	}
	part.revision = hex.EncodeToString(sum.Sum(nil)[:16])
	return &part
}

// place is where the entry i stands in the memory of the list.
func (l *List) place(i int) int {
	if l.picked == nil {
		return i
	}
	return l.picked[i]
}

// Names are the names of the entries, in order. They are not to be changed.
func (l *List) Names() []string { return l.names }

func (j *joined) close() { j.at = append(j.at, len(j.bytes)+1) }

// slice returns the entries from one up to another.
func (j *joined) slice(from, to int) []byte {
	if from >= to {
		return nil
	}
	return j.bytes[j.at[from] : j.at[to]-1]
}

// appendPicked appends some of the entries.
func (j *joined) appendPicked(dst []byte, picked []int) []byte {
	for i, n := range picked {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, j.slice(n, n+1)...)
	}
	return dst
}

// Revision names the bytes of the list: two lists with the same revision read the same.
func (l *List) Revision() string { return l.revision }

// Len returns the number of entries.
func (l *List) Len() int { return len(l.names) }

// AppendResult appends the result in revision r that has every entry, and no metadata.
func (l *List) AppendResult(dst []byte, r Revision) []byte {
	return append(l.appendWhole(dst, r), '}')
}

// AppendList appends the result that a server which introduces itself so answers in revision r when a page has room for every entry of l.
func (i *Info) AppendList(dst []byte, l *List, r Revision) []byte {
	q := query{caller: &Caller{Revision: r}, info: i}
	return q.end(l.appendWhole(dst, r))
}

func (l *List) appendWhole(dst []byte, r Revision) []byte {
	dst = l.appendEntries(begin(dst, r), 0, len(l.names), r)
	if r.Modern() {
		dst = append(dst, l.caching...)
	}
	return dst
}

// list appends a page of one of the lists.
func (s *Server) list(ctx context.Context, dst []byte, m *message, q query, of Listing) ([]byte, *Error) {
	after := ""
	if m.cursor != nil && string(m.cursor) != "null" {
		cursor, ok := jsonscan.Text(m.cursor)
		if ok {
			after, ok = cursorName(cursor)
		}
		if !ok {
			return dst, errorf(CodeInvalidParams, "cursor is not one that this server gave out")
		}
	}
	l, r := s.handler.List(ctx, q.caller, of), q.caller.Revision
	dst = l.appendPage(begin(dst, r), after, r)
	if r.Modern() {
		dst = append(dst, l.caching...)
	}
	return q.end(dst), nil
}

// members are how each list is called in a result.
var members = [...]string{Tools: `"tools":[`, Prompts: `"prompts":[`, Resources: `"resources":[`, Templates: `"resourceTemplates":[`}

// appendPage appends the members such as `"tools":[…]` and, unless it is the last page, `,"nextCursor":"…"` of the page that follows the
// entry named after.
func (l *List) appendPage(dst []byte, after string, r Revision) []byte {
	from := 0
	if after != "" {
		from = sort.Search(len(l.names), func(i int) bool { return l.names[i] > after })
	}
	to := min(from+l.pageSize, len(l.names))
	dst = l.appendEntries(dst, from, to, r)
	if to < len(l.names) {
		dst = append(appendCursor(append(dst, `,"nextCursor":"`...), l.names[to-1]), '"')
	}
	return dst
}

// appendEntries appends the member such as `"tools":[…]` with the entries in order, those from one up to another.
func (l *List) appendEntries(dst []byte, from, to int, r Revision) []byte {
	entries := &l.legacy
	if r.Modern() {
		entries = &l.modern
	}
	dst = append(dst, members[l.of]...)
	if l.picked == nil {
		dst = append(dst, entries.slice(from, to)...)
	} else {
		dst = entries.appendPicked(dst, l.picked[from:max(from, to)])
	}
	return append(dst, ']')
}
