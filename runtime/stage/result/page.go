package result

import (
	"bytes"
	"fmt"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/internal/digest"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/tokens"
	"hatchel/runtime/stage/rows"
)

// Page is the part of its rows that a call answers with.
type Page struct {
	Decl      *hcl.Page
	Number    int            // from 1
	Delivered int            // rows of the pages before
	After     map[string]any // the keys of the last of these; nil on the first page, and without keys
	Last      []byte         // its position: the keys as JSON, or the digest of the row; nil on the first page
	Rows      int            // of this page, once it is encoded

	// Seal returns the cursor of the page after the row with a position, when as many rows were delivered.
	Seal func(delivered int, position []byte) (string, error)

	all    rows.List // that the backend has returned, before secrets are removed
	from   int       // the index of the first row of the page
	cursor string    // of the page after this one; empty when there is none
}

const (
	// maxPosition is how many bytes the keys of a row may have.
	maxPosition = 512
	// pageReserve is how many bytes of max_text the cursor and the names around the rows take.
	pageReserve = 1 << 10
	// rowDigestSize is how many bytes of the digest of a row are its position.
	rowDigestSize = 8

	definitionMistake = " This is a mistake in the tool's definition, not in the arguments."
)

// pageError returns the failure of a call whose page cannot be made.
func pageError(format string, args ...any) error {
	return &adapters.Fault{Message: fmt.Sprintf(format, args...)}
}

// position returns what identifies a row of a list for the page after it.
func (p *Page) position(list *rows.List, i int) ([]byte, error) {
	if p.Decl.Keys == nil {
		sum := digest.Of("row", string(list.Element(i)))
		return sum[:rowDigestSize], nil
	}
	names := p.Decl.Keys.MemberNames()
	keys := rows.Project(list.Element(i), names, p.Decl.Keys)
	v, err := value.Decode(keys)
	if err != nil {
		return nil, err
	}
	if _, violations, err := p.Decl.KeysValidator.Check(v, schema.Unlimited); err != nil || len(violations) > 0 {
		return nil, pageError("A row does not have the keys of this page (%s): %s."+definitionMistake,
			strings.Join(names, ", "), joinViolations(violations))
	}
	if len(keys) > maxPosition {
		return nil, pageError("The keys of a row have %d bytes, and at most %d can be in a cursor.", len(keys),
			maxPosition)
	}
	return keys, nil
}

// window returns which rows of a list may be on the page: from and to their indexes.
func (p *Page) window(list *rows.List) (from, to int, err error) {
	n := list.Len()
	switch {
	case p.Decl.Keys == nil && p.Delivered > 0:
		from = p.Delivered
		if n < from {
			return 0, 0, errRowsChanged()
		}
		if at, err := p.position(list, from-1); err != nil || !bytes.Equal(at, p.Last) {
			return 0, 0, errRowsChanged()
		}
	case p.After != nil && p.hasLast(list):
		return 0, 0, pageError("This page has the row that the page before ended with, so the statement does not " +
			"read the rows after page.after." + definitionMistake)
	}
	return from, min(n, from+p.Decl.Size, from+p.Decl.Total-p.Delivered), nil
}

// hasLast reports whether a list has the last row delivered. Without this check, a backend that ignores page.after, or
// compares it in another way than it sorts, answers with the same rows until the total.
func (p *Page) hasLast(list *rows.List) bool {
	names := p.Decl.Keys.MemberNames()
	for i := range list.Len() {
		if bytes.Equal(rows.Project(list.Element(i), names, p.Decl.Keys), p.Last) {
			return true
		}
	}
	return false
}

// checkNoNullKey fails for a list with a row that lacks a key: the statement of another page compares keys, and a
// comparison with null finds no row.
func (p *Page) checkNoNullKey(list *rows.List) error {
	if p.Decl.Keys == nil {
		return nil
	}
	names := p.Decl.Keys.MemberNames()
	for i := range list.Len() {
		for _, name := range names {
			if v, ok := jsonscan.Lookup(list.Element(i), name); !ok || string(v) == "null" {
				return pageError("A key of this page is null in a row (%s), so rows could be lost."+definitionMistake,
					name)
			}
		}
	}
	return nil
}

func errRowsChanged() error {
	return pageError("The rows before this page have changed. Repeat the call without cursor to begin again.")
}

// selectPage makes the encoded result the rows that may be on the page, of which encodeRows delivers as many as fit.
func (s *Shaper) selectPage(r *Result, input map[string]any) error {
	p, found := r.Page, false
	p.all, found = rows.Find(r.Structured, s.resultType())
	if !found || p.all.Member != "" {
		return pageError("Pages are of a list, and the result is another value." + definitionMistake)
	}
	from, to, err := p.window(&p.all)
	if err != nil {
		return err
	}
	p.from = from
	r.Structured = p.all.Slice(from, to)
	if names := s.tool.Fields(input); names != nil {
		r.Structured = rows.Project(r.Structured, names, nil)
	}
	return nil
}

// finishPage makes the result the page with the first rows of those that may be on it, and finds the cursor for the
// rows after these.
func (s *Shaper) finishPage(r *Result, first []byte, n int) (err error) {
	p := r.Page
	p.Rows = n
	if p.cursor, err = s.nextCursor(r, &p.all, p.from+n); err != nil {
		return err
	}
	r.Structured = append(append([]byte(`{"rows":`), first...), `,"next_cursor":`...)
	if p.cursor == "" {
		r.Structured = append(r.Structured, "null}"...)
	} else {
		r.Structured = append(value.AppendString(r.Structured, p.cursor), '}')
	}
	return nil
}

// nextCursor returns the cursor of the rows from an index on; empty when there are none, or when all pages together
// have as many rows as they may have.
func (s *Shaper) nextCursor(r *Result, list *rows.List, next int) (string, error) {
	p := r.Page
	more := next < list.Len() || r.Cut != nil && p.Decl.Keys != nil
	full := p.Delivered+p.Rows >= p.Decl.Total
	if p.Delivered > 0 || more && !full {
		if err := p.checkNoNullKey(list); err != nil {
			return "", err
		}
	}
	switch {
	case !more || next == 0:
		return "", nil
	case full:
		r.Cut = &adapters.Cut{Limit: fmt.Sprintf("total = %d", p.Decl.Total)}
		return "", nil
	}
	r.Cut = nil
	last, err := p.position(list, next-1)
	if err != nil {
		return "", err
	}
	if p.Decl.Keys != nil && next < list.Len() {
		if following, err := p.position(list, next); err != nil {
			return "", err
		} else if bytes.Equal(following, last) {
			return "", pageError("The keys of this page are not unique (%s), so rows could be lost."+definitionMistake,
				strings.Join(p.Decl.Keys.MemberNames(), ", "))
		}
	}
	return p.Seal(p.Delivered+p.Rows, last)
}

// cursorNotice matches the last line of a page that is a table, which addNotes writes.
var cursorNotice = lazyregexp.New(`cursor = "([^"]+)"\]\s*$`)

// NoticedCursor returns the cursor that the last line of a table names; empty for none.
func NoticedCursor(table string) string {
	if found := cursorNotice.FindStringSubmatch(table); found != nil {
		return found[1]
	}
	return ""
}

// AnswerTokens estimates how many tokens an answer takes: its texts or its structured result, whichever is larger,
// because clients give one of them to their model.
func AnswerTokens(texts []string, structured []byte) int {
	return max(tokens.Estimate(strings.Join(texts, "\n")), tokens.Estimate(string(structured)))
}

// pageType returns the type of a page of a list; of any list for nil.
func pageType(list *schema.Type) *schema.Type {
	if list == nil {
		list = schema.ListOf(&schema.Type{Kind: schema.Any})
	}
	return schema.ObjectOf(&schema.Member{Name: "rows", Type: list},
		&schema.Member{Name: "next_cursor", Type: &schema.Type{
			Kind: schema.String, Nullable: true, Description: "The cursor for the rows after these; null at the end.",
		}})
}
