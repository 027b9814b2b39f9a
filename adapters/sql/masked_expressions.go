package sql

import (
	"slices"
	"strings"
	"unicode"
)

var (
	// jsonWords are functions that make JSON of a row, in which the members have the names of its columns.
	jsonWords = wordSet("ROW_TO_JSON TO_JSON TO_JSONB JSON_AGG JSONB_AGG")
	// keepingWords are functions, and casts, that keep JSON a JSON document.
	keepingWords = wordSet("JSON_AGG JSONB_AGG TO_JSON TO_JSONB COALESCE JSON_BUILD_OBJECT JSONB_BUILD_OBJECT " +
		"JSON_BUILD_ARRAY JSONB_BUILD_ARRAY JSON_STRIP_NULLS JSONB_STRIP_NULLS JSONB_PRETTY JSON JSONB TEXT")
	// valueWords are functions that return the values of members without their names, or beside them.
	valueWords = wordSet("JSON_EACH JSON_EACH_TEXT JSONB_EACH JSONB_EACH_TEXT JSON_TREE JSONB_TREE EACH SVALS AVALS " +
		"HSTORE_TO_ARRAY HSTORE_TO_MATRIX")
)

// reads reports whether the expression in [i, end) tells of masked values.
func (s *maskScan) reads(i, end int) bool { return s.tells(i, end, false) }

// tells is reads for an expression that may be a column of a result, in which masked members of JSON are found.
func (s *maskScan) tells(i, end int, isColumn bool) bool {
	for start := i; i < end; i++ {
		token := s.tokens[i]
		switch {
		case token == "(" && countingWords[s.word(i-1)] && s.word(i-2) != "WITHIN":
			i = s.closes[i]
		case s.beginsQuery(i):
			for _, c := range s.query(i+1, s.closes[i]) {
				if c.masked || c.star || s.isMasked(c.name) {
					return true
				}
			}
			i = s.closes[i]
		case s.isParameter(i), isName(token) && s.word(i+1) != "(" && s.choosesPart(start, i):
			if s.choosesPart(start, i) {
				return true
			}
		case s.returnsValues(i), s.computesPart(i):
			return true
		case strings.HasPrefix(token, `"`):
			if s.namesPart(start, i) {
				return true
			}
			fallthrough
		default:
			if s.tellsName(start, i, end, isColumn) {
				return true
			}
		}
	}
	return false
}

// namesPart reports whether a token is a text in quotes that names a part of a masked member where a document is read.
// Double quotes are those of a name in PostgreSQL, and of a text or a name elsewhere.
func (s *maskScan) namesPart(start, i int) bool {
	text, isText := strings.CutPrefix(s.tokens[i], stringToken)
	if !isText && s.hasRows || !s.readsPart(start, i) {
		return false
	}
	path := strings.ReplaceAll(text, " ", "")
	if s.mask.NamesAnywhere() && strings.Contains(path, "$") && // parts without their names
		(strings.Contains(path, ".*") || strings.Contains(path, "**") || strings.Contains(path, ".keyvalue")) {
		return true
	}
	notOfName := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '_'
	}
	return slices.ContainsFunc(slices.Concat(strings.FieldsFunc(text, isPathMark), strings.FieldsFunc(text, notOfName)),
		s.mask.NamesPart)
}

// readsPart reports whether a token of the expression that begins at another one may choose a part of a document: it
// stands after an operator or a bracket, or is an argument of a function of documents.
func (s *maskScan) readsPart(start, i int) bool {
	if before := s.word(i - 1); before == ">" || before == "?" || before == "@" || before == "[" || before == "#" {
		return true
	}
	for at := start; at < i; at++ {
		if s.word(at) != "(" || s.closes[at] < i || at == 0 {
			continue
		}
		name := s.word(at - 1)
		if pathWords[name] || strings.HasPrefix(name, "JSON") || strings.HasPrefix(name, "XPATH") || name == ">" ||
			name == "EXTRACTVALUE" || name == "FETCHVAL" || name == "SLICE" {
			return true
		}
	}
	return false
}

// returnsValues reports whether a token is a function that returns the values of members of a column without their
// names, so that those which the mask names have another one.
func (s *maskScan) returnsValues(i int) bool {
	if !valueWords[s.word(i)] || s.word(i+1) != "(" || !s.mask.NamesAnywhere() {
		return false
	}
	for at := i + 2; at < s.closes[i+1]; at++ {
		if isName(s.tokens[at]) && s.word(at+1) != "(" && !operatorWords[s.word(at)] && s.word(at-1) != ":" {
			return true
		}
	}
	return false
}

// computesPart reports whether a token begins what chooses a part of a document and is no constant, as in
// data->>lower(key), data->>'e' || 'mail' and data[$1], or is a column in the form of a function, as in email(people).
func (s *maskScan) computesPart(i int) bool {
	isCall := isName(s.tokens[i]) && s.word(i+1) == "("
	isText := strings.HasPrefix(s.tokens[i], stringToken)
	switch {
	case isCall && s.hasRows && s.isMasked(lastName(s.tokens[i])):
		return true
	case s.follows(i):
		return isCall || isText && s.word(i+1) == "|" || s.word(i) == "(" && s.closes[i] > i+2
	}
	return s.word(i) == "[" && i > 0 && s.word(i-1) != "ARRAY" && s.isParameter(i+1) && s.mask.NamesAnywhere()
}

// readsByName reports whether a token is the value of json_each, of which a part is read by its name.
func (s *maskScan) readsByName(i int) bool {
	if !s.documents || !strings.EqualFold(lastName(s.tokens[i]), "value") {
		return false
	}
	isArgument := s.word(i-1) == "(" && pathWords[s.word(i-2)] && s.word(i+1) == ","
	return isArgument || s.word(i+1) == "-" && s.word(i+2) == ">"
}

// tellsName reports whether a token of the expression in [start, end) is a name whose value tells of masked values.
func (s *maskScan) tellsName(start, i, end int, isColumn bool) bool {
	token := s.tokens[i]
	switch {
	case !isName(token) || s.word(i+1) == "(":
		return false
	case s.hasRows && strings.HasSuffix(token, "*"): // the columns of a row as arguments
		return true
	case s.isWholeRow(token):
		return !isColumn || !s.staysJSON(start, i, end)
	case s.word(i+1) == "IS" && (s.word(i+2) == "NULL" || s.word(i+2) == "NOT" && s.word(i+3) == "NULL"):
		return false
	}
	return s.isMasked(lastName(token)) && !s.readsByName(i)
}

// staysJSON reports whether the column in [start, end) is JSON in which the masked members of a row have their names.
func (s *maskScan) staysJSON(start, i, end int) bool {
	if !jsonWords[s.word(i-2)] || s.word(i-1) != "(" || len(s.derived)+len(s.mask.ColumnsOf(s.tables)) > 0 {
		return false
	}
	for at := start; at < end; at++ {
		switch {
		case at > start && at < i && s.word(at) == "(" && s.closes[at] > i && isName(s.tokens[at-1]) &&
			!keepingWords[s.word(at-1)] && !jsonWords[s.word(at-1)]:
			return false // a function of the JSON
		case s.word(at) == "|" || s.word(at) == "CASE":
			return false
		case s.word(at) == ":" && s.word(at-1) == ":" && !keepingWords[s.word(at+1)]:
			return false
		}
	}
	return true
}

// isParameter reports whether a token begins a parameter.
func (s *maskScan) isParameter(i int) bool { return s.word(i) == "?" || s.word(i) == "$" }

// choosesPart reports whether a parameter or a name in the expression that begins at a token chooses a part of a JSON
// document, which has no name then: as in data->>$1, data->>key and json_extract(data, $1).
func (s *maskScan) choosesPart(start, i int) bool {
	if s.follows(i) {
		return true
	}
	for at := start; at < i; at++ {
		if s.word(at) != "(" || s.closes[at] < i || at == 0 {
			continue
		}
		if s.follows(at) || pathWords[s.word(at-1)] && s.isLaterArgument(at, i) {
			return true
		}
	}
	return false
}

// follows reports whether a token follows an operator that chooses a part of a JSON document.
func (s *maskScan) follows(i int) bool {
	return s.word(i-1) == ">" && (s.word(i-2) == "-" || s.word(i-2) == "#" ||
		s.word(i-2) == ">" && (s.word(i-3) == "-" || s.word(i-3) == "#"))
}

// isLaterArgument reports whether a token is in an argument after the first one of a function.
func (s *maskScan) isLaterArgument(open, i int) bool {
	for at := open + 1; at < i; at++ {
		if isOpening(s.word(at)) && s.closes[at] < i {
			at = s.closes[at]
		} else if s.word(at) == "," {
			return true
		}
	}
	return false
}

// isPathMark reports whether a character separates the names of a path into JSON, as in $.customer.email.
func isPathMark(r rune) bool { return strings.ContainsRune("$.[]{}()?!=<>&|*+/, \"'", r) }
