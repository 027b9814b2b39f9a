package client

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"hatchel/hcl/jsonscan"
	"hatchel/internal/cut"
)

// message is one message of JSON-RPC, as slices of its text.
type message struct {
	id      []byte // raw; nil if there is none
	method  string // "" for an answer
	params  []byte
	result  []byte
	members jsonscan.Object // of the result, if it is an object
	rpc     *RPCError
	size    int // in bytes
}

// isQuestion reports whether it asks the user of a call.
func (m *message) isQuestion() bool {
	return m.id != nil && (m.method == "elicitation/create" || m.method == "sampling/createMessage")
}

// text returns a member of the result that is a string; "" for any other.
func (m *message) text(name string) string {
	text, _ := m.members.Text(name)
	return text
}

// isAnswerTo reports whether m is the answer to the request with an id of newID.
func (m *message) isAnswerTo(id string) bool {
	return m.method == "" && len(m.id) == len(id)+2 && m.id[0] == '"' && string(m.id[1:len(m.id)-1]) == id
}

var (
	errNoMessage   = errors.New("the server sent a JSON text that is no message of JSON-RPC")
	errManyBatched = fmt.Errorf("the server sent more than %d messages in one batch", maxCallMessages)
)

var scanners = sync.Pool{New: func() any { return new(jsonscan.Scanner) }}

// parse reads the messages of a JSON text: one, or those of a batch, which servers of 2025-03-26 may send. It keeps
// data. The error tells what of the text is wrong, and repeats no more than a key of it.
func parse(data []byte) ([]*message, error) {
	s := scanners.Get().(*jsonscan.Scanner)
	defer func() {
		s.Reset(nil, 0) // keeps no data alive
		scanners.Put(s)
	}()
	s.ResetLossy(data, MaxDepth)
	var list []*message
	if s.Peek() != '[' {
		m, err := parseOne(s, len(data))
		if err == nil && !s.AtEnd() {
			err = s.Fail("more text after the value")
		}
		return []*message{m}, wrapSyntax(err)
	}
	if err := s.EnterArray(); err != nil {
		return nil, wrapSyntax(err)
	}
	for {
		more, err := s.NextElement()
		switch {
		case err != nil:
			return nil, wrapSyntax(err)
		case !more && !s.AtEnd():
			return nil, wrapSyntax(s.Fail("more text after the value"))
		case !more:
			return list, nil
		case len(list) == maxCallMessages:
			return nil, errManyBatched
		}
		start := s.Pos()
		m, err := parseOne(s, 0)
		if err != nil {
			return nil, wrapSyntax(err)
		}
		m.size = s.Pos() - start
		list = append(list, m)
	}
}

// wrapSyntax says whose text a syntax error is about.
func wrapSyntax(err error) error {
	if _, ok := errors.AsType[*jsonscan.SyntaxError](err); ok {
		return fmt.Errorf("the server sent %w", err)
	}
	return err
}

func parseOne(s *jsonscan.Scanner, size int) (*message, error) {
	if s.Peek() != '{' {
		if _, err := s.Value(); err != nil {
			return nil, err
		}
		return nil, errNoMessage
	}
	m := &message{size: size}
	var isMethod bool
	err := eachMember(s, func(name []byte) error {
		var err error
		if string(name) == "result" {
			m.result, err = m.readResult(s)
			return err
		}
		value, err := s.Value()
		if err != nil {
			return err
		}
		switch string(name) {
		case "id":
			if string(value) != "null" {
				m.id = value
			}
		case "method":
			m.method, isMethod = jsonscan.Text(value)
			if !isMethod || m.method == "" {
				return errNoMessage
			}
		case "params":
			m.params = value
		case "error":
			if m.rpc = readError(value); m.rpc == nil {
				return errNoMessage
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if id := m.id; id != nil && id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return nil, errNoMessage
	}
	answers := 0
	for _, has := range []bool{m.method != "", m.result != nil, m.rpc != nil} {
		if has {
			answers++
		}
	}
	if answers != 1 {
		return nil, errNoMessage
	}
	return m, nil
}

// readResult reads a result and notes its members. The definitions of a list may be nested deeper than all else, so
// that one of them does not take the others with it: whoever uses a definition checks how deep it is.
func (m *message) readResult(s *jsonscan.Scanner) (result []byte, err error) {
	if s.Peek() != '{' {
		return s.Value()
	}
	start := s.Pos()
	mark, err := s.EnterObject()
	for err == nil {
		var member jsonscan.Member
		if member.Name, err = s.Key(mark); member.Name == nil {
			break
		}
		if string(member.Name) == "tools" {
			s.SetMaxDepth(maxListDepth)
		}
		member.Value, err = s.Value()
		s.SetMaxDepth(MaxDepth)
		m.members = append(m.members, member)
	}
	return s.Since(start), err
}

// eachMember reads an object. The function reads the value of each member.
func eachMember(s *jsonscan.Scanner, do func(name []byte) error) error {
	mark, err := s.EnterObject()
	for err == nil {
		var name []byte
		if name, err = s.Key(mark); name == nil {
			break
		}
		err = do(name)
	}
	return err
}

const maxErrorText = 4 << 10 // bytes of the message of an error

// readError reads an error of JSON-RPC; nil if the value is none.
func readError(value []byte) *RPCError {
	if value[0] != '{' {
		return nil
	}
	e := &RPCError{}
	code, _ := jsonscan.Lookup(value, "code")
	e.Code, _ = strconv.Atoi(string(code))
	e.Message, _ = jsonscan.LookupText(value, "message")
	if len(e.Message) > maxErrorText {
		e.Message = e.Message[:cut.Before(e.Message, maxErrorText)]
	}
	e.Data, _ = jsonscan.Lookup(value, "data")
	return e
}

// newID returns an id that no request has had and that nobody can guess.
func newID(n uint64) string {
	var random [8]byte
	rand.Read(random[:])
	id := append(strconv.AppendUint(make([]byte, 0, 32), n, 10), '-')
	return string(hex.AppendEncode(id, random[:]))
}

// beginRequest appends a request up to its params; without an id a notification.
func beginRequest(dst []byte, id, method string) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	if id != "" {
		dst = append(append(append(dst, `"id":"`...), id...), `",`...)
	}
	dst = append(append(dst, `"method":"`...), method...)
	return append(dst, '"')
}

// appendAnswer appends the answer to a request of the server.
func appendAnswer(dst, id []byte, a Answer) []byte {
	dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), id...)
	switch {
	case a.Error != nil:
		dst = strconv.AppendInt(append(dst, `,"error":{"code":`...), int64(a.Error.Code), 10)
		dst = jsonscan.AppendString(append(dst, `,"message":`...), a.Error.Message)
		if a.Error.Data != nil {
			dst = append(append(dst, `,"data":`...), a.Error.Data...)
		}
		dst = append(dst, '}')
	default:
		dst = append(append(dst, `,"result":`...), a.Result...)
	}
	return append(dst, '}')
}

// inner returns the members of an object without its braces.
func inner(object []byte) []byte {
	object = bytes.TrimSpace(object)
	if len(object) < 2 {
		return nil
	}
	return bytes.TrimSpace(object[1 : len(object)-1])
}

// isObject reports whether a raw value is an object.
func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }
