package sqltext

import "hatchel/hcl/template"

// mode is the lexical element that the lexer is inside of.
type mode byte

const (
	plain              mode = iota // between tokens
	afterInterpolation             // directly after an interpolation, which the next byte must not continue
	inWord                         // a bare word
	inNumber                       // a number
	inOperator                     // operator characters
	afterColon                     // one ':'
	twoDashes                      // MySQL: "--", a comment if a space follows
	inQuote                        // inside quotes that end with state.quote
	inEscape                       // after a backslash inside quotes
	quoteEnd                       // after a closing quote, which may be the first of a doubled quote
	inLine                         // a comment up to the end of the line
	blockOpen                      // MySQL: after "/*", which "!" makes executable
	inBlock                        // a block comment
	blockStar                      // after a '*' in a block comment
	blockSlash                     // PostgreSQL: after a '/' in a block comment
	inTag                          // PostgreSQL: after '$', reading the tag of a dollar quote
	inDollar                       // inside a dollar quote
)

// kind is the kind of the last complete token.
type kind byte

const (
	start         kind = iota
	word               // a bare word, in state.word
	name               // a name that cannot be a keyword: quoted or after a dot
	literal            // a string, a number, a variable
	escaped            // PostgreSQL: an E'' string, which a string on the next line would continue
	interpolation      // a bound value
	ident              // ident(...)
	operator           // in state.word
	open               // (
	closed             // ) or ]
	bracket            // [
	comma
	dot
	colon
	cast // ::
	semicolon
)

// A span is a part of one text node.
type span struct {
	text     *template.Text
	from, to int
}

// A state determines the meaning of the next byte or interpolation. States are compared, so all
// fields are comparable values.
type state struct {
	mode      mode
	text      string // of the current token: a word in upper case, an operator, a dollar quote's delimiter
	from      span   // the start of the current token, quote or comment
	quote     byte   // the closing quote
	backslash bool   // a backslash escapes inside these quotes
	depth     int    // of nested block comments; or the matched length of a dollar quote's delimiter

	prev           kind
	word           string                  // of prev; some pairs of keywords are one word, such as "NOT IN"
	list           span                    // of a [NOT] IN that is prev; empty if not in one piece
	interpolation  *template.Interpolation // if it is prev
	sortKey        *template.Interpolation // in ORDER BY: a constant unless something is computed with it
	nullable       *template.Interpolation // may be null, which matters if a comparison follows
	tested         *template.Interpolation // may be null, which IS NULL may test
	inInsertTarget bool                    // reading the table of INSERT INTO
	cols           int                     // number of columns in INSERT INTO t (...); 0 for none, -1 if unknown
	frames         string                  // two bytes, frame and clause, for the statement and each open parenthesis
	scopes         string                  // scopeSize bytes for the statement and each open parenthesis
	open           span                    // the innermost open parenthesis, if known
	verb           string                  // the verb of the statement
	returning      bool                    // RETURNING was read
	ended          bool                    // a ';' was read
}

// Frames: the construct that an open parenthesis belongs to.
const (
	group    = '('
	index    = '['
	columns  = 'C' // INSERT INTO t (
	names    = 'N' // another list of names
	elements = 'I' // IN (
	special  = 'F' // a function with keywords inside, such as EXTRACT(year FROM x)
	operand  = 'P' // a value follows the closing parenthesis, as in DISTINCT ON (x)
)

// Clauses: the list that a comma continues in a frame.
const (
	values  = 'v'
	tables  = 'f'
	sets    = 's'
	sorting = 'o'
)

// scopeSize is the size of a scope in a state: the numbers of the places where its parenthesis opens, and where the
// operand of OR, the branch of CASE or the argument of IF begins that is read.
const scopeSize = 4

// place is an offset in a text node.
type place struct {
	text *template.Text
	at   int
}

func initial() state {
	return state{frames: string([]byte{group, values}), scopes: string(make([]byte, scopeSize))}
}

func (s *state) frame() byte  { return s.frames[len(s.frames)-2] }
func (s *state) clause() byte { return s.frames[len(s.frames)-1] }
func (s *state) nested() bool { return len(s.frames) > 2 }

func (s *state) setClause(c byte) { s.frames = s.frames[:len(s.frames)-1] + string(c) }
func (s *state) setFrame(k byte) {
	s.frames = s.frames[:len(s.frames)-2] + string([]byte{k, s.clause()})
}

// push enters a parenthesis, whose place has a number.
func (s *state) push(k byte, at span, number uint16) {
	s.frames += string([]byte{k, values})
	s.scopes += string([]byte{byte(number >> 8), byte(number), 0, 0})
	s.open = at
}

// separate begins another operand, branch or argument in the innermost scope.
func (s *state) separate(number uint16) {
	s.scopes = s.scopes[:len(s.scopes)-scopeSize/2] + string([]byte{byte(number >> 8), byte(number)})
}

// separated reports whether separate was called in the innermost scope.
func (s *state) separated() bool { return s.scopes[len(s.scopes)-scopeSize/2:] != "\x00\x00" }

func (s *state) pop() byte {
	k := s.frame()
	s.frames, s.scopes = s.frames[:len(s.frames)-2], s.scopes[:len(s.scopes)-scopeSize]
	s.open = span{}
	return k
}

// set makes k the last complete token, and clears the fields that depend on the last token alone.
func (s *state) set(k kind, w string) {
	s.mode, s.text, s.from = plain, "", span{}
	s.prev, s.word, s.list, s.interpolation = k, w, span{}, nil
}

// widen clears the fields that a loop could increment forever.
func (s *state) widen() {
	if s.cols > 0 {
		s.cols = -1
	}
}
