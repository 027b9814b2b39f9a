package editor

import (
	"slices"
	"strings"

	"hatchel/internal/lazyregexp"
)

// Signature is the function whose arguments are at a cursor.
type Signature struct {
	Usage  string // how a call is written
	Doc    string
	Params []string // parts of Usage
	Active int      // which of the Params is at the cursor
}

var callBefore = lazyregexp.New(`([A-Za-z_][A-Za-z0-9_]*)$`)

// SignatureAt returns the function whose arguments are at an offset of a text, which need not be complete; nil for
// none.
func (l *Language) SignatureAt(src []byte, offset int) *Signature {
	c := &completion{Language: l, cursor: readCursor(src, offset, l.topLevel)}
	if c.inComment || c.region.To == 0 {
		return nil
	}
	from, program := c.region.From, false
	if c.inText() {
		from, program = min(c.top().from+1, c.offset), true
	}
	open, commas := openCall(string(src[from:c.offset]))
	if open < 0 {
		return nil
	}
	before := strings.TrimRight(string(src[from:from+open]), " ")
	m := callBefore.FindString(before)
	before = strings.TrimRight(strings.TrimSuffix(before, m), " ")
	if strings.HasSuffix(before, "|") && !strings.HasSuffix(before, "||") {
		commas++
	}
	all := c.callable(program)
	i := slices.IndexFunc(all, func(f callable) bool { return f.name == m })
	if i < 0 {
		return nil
	}
	s := &Signature{Usage: all[i].usage, Doc: all[i].doc, Active: commas}
	inside := strings.TrimSuffix(strings.TrimPrefix(s.Usage, m+"("), ")")
	if inside != "" {
		s.Params = strings.Split(inside, ", ")
	}
	if n := len(s.Params); n > 0 && strings.HasSuffix(s.Params[n-1], "...") {
		s.Active = min(s.Active, n-1)
	}
	return s
}

// openCall returns where the innermost parenthesis that is open at the end of a text opens, or -1, and the number of
// commas between its arguments so far.
func openCall(text string) (open, commas int) {
	depth, quote := 0, byte(0)
	for i := len(text) - 1; i >= 0; i-- {
		switch b := text[i]; {
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '\'' || b == '"':
			quote = b
		case strings.IndexByte(")]}", b) >= 0:
			depth++
		case b == '(' && depth == 0:
			return i, commas
		case strings.IndexByte("([{", b) >= 0:
			if depth--; depth < 0 {
				return -1, 0
			}
		case b == ',' && depth == 0:
			commas++
		case b == '\n' && depth == 0 && i < len(text)-2000:
			return -1, 0
		}
	}
	return -1, 0
}
